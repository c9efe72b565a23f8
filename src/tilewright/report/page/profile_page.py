"""The page of a profile: totals, layers and memories. One that was saved has no more than that."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.profiling.profile import NANOSECONDS, Profile
from tilewright.profiling.saved import SavedProfile
from tilewright.report.energy import energy_parts, energy_text
from tilewright.report.numbers import count, size
from tilewright.report.page.colours import by_name
from tilewright.report.page.content import Page, Total
from tilewright.report.page.layer_bars import layer_bars
from tilewright.report.page.layer_table import layer_table
from tilewright.report.page.memory_maps import memory_charts
from tilewright.report.page.time_words import OF_CHIPS, time_words
from tilewright.report.profile import is_predicted
from tilewright.version import VERSION

SHORTER = "A saved profile has no timeline and no graph: `tilewright report MODEL --target TARGET` draws them."


def saved_page(saved: SavedProfile, name: str) -> Page:
    """`name`: of the file that it was saved in."""
    profile = saved.profile
    engines = by_name(dict.fromkeys(layer.engine for layer in profile.layers))
    facts = {"model": profile.network, "target": profile.target, "cores": str(profile.cores), "profile": name}
    return Page(
        f"{profile.network} on {profile.target}", facts | {"tilewright": VERSION},
        (*speed_totals(profile), *work_totals(profile)),
        (layer_bars(profile, engines, False), layer_table(profile), *memory_charts(saved.maps)),
        (*estimate_notes(profile), *saved.notes, SHORTER),
    )  # fmt: skip


def estimate_notes(profile: Profile) -> tuple[str, ...]:
    told = "Times are" if profile.unit == NANOSECONDS else "Cycles are an estimate:"
    return (f"{told} {profile.estimate}.",) if profile.estimate else ()


def speed_totals(profile: Profile) -> Iterator[Total]:
    words, off = time_words(profile), f"{profile.predicted / max(profile.cycles, 1) - 1:+.1%}"
    expected = (
        f"{words.said(profile.predicted)} predicted ({off}), median error of the layers {profile.median_error:.1%}"
    )
    least = f"at least {profile.least:,} on this machine" if profile.least else ""
    said = "; ".join(filter(None, (expected if is_predicted(profile) else "", least)))
    yield Total(words.name, words.figure(profile.cycles) if words is OF_CHIPS else words.said(profile.cycles), said)


def work_totals(profile: Profile) -> Iterator[Total]:
    if profile.instructions is not None:
        each = f"{profile.instructions / profile.macs:.2f} per MAC" if profile.macs else ""
        yield Total("instructions", f"{profile.instructions:,}", each)
    if profile.macs:
        yield Total(time_words(profile).speed, f"{profile.macs_per_cycle:.2f}", f"{count(profile.macs)} MACs")
    if profile.energy:
        value, _, power = energy_text(profile.energy).partition(", ")
        yield Total("energy", value, f"{power}: {energy_parts(profile.energy)}")
    moved = sum(layer.bytes_in + layer.bytes_out for layer in profile.layers)
    if moved:
        yield Total("transfers", size(moved), f"cores wait for them {profile.waiting_share:.1%} of the time")
