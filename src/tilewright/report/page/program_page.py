"""The page of a network on a target: one watched run of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.profile import Profile
from tilewright.program import Program
from tilewright.report.console import count, size
from tilewright.report.energy import energy_parts, energy_text
from tilewright.report.page.colours import by_name
from tilewright.report.page.content import Page
from tilewright.report.page.graph_picture import graph_picture
from tilewright.report.page.layer_bars import layer_bars
from tilewright.report.page.layer_table import layer_table
from tilewright.report.page.memory_maps import memory_charts
from tilewright.report.page.timeline import timeline
from tilewright.target.settings import Settings
from tilewright.version import VERSION


def program_page(program: Program, found: Profiled, inputs: str = "random") -> Page:
    """`inputs`: what they are called."""
    schedule, profile = program.compiled.schedule, found.profile
    engines = by_name(engine.name for engine in schedule.target.engines)
    pictures = (layer_bars(profile, engines), layer_table(profile), timeline(found, engines))
    graph = graph_picture(schedule, profile, engines)
    return Page(
        f"{profile.network} on {profile.target}", _facts(program, profile, inputs), _totals(program, profile),
        (*pictures, *memory_charts(program.memory_maps), graph), program.analysis.notes,
    )  # fmt: skip


def _facts(program: Program, profile: Profile, inputs: str) -> dict[str, str]:
    target = program.compiled.schedule.target
    found = {"model": profile.network, "target": f"{profile.target}: {target.summary}"}
    found |= {"cores": str(profile.cores)} if program.compiled.schedule.plan is not None else {}
    return found | settings_said(program.settings) | {"inputs": inputs, "tilewright": VERSION}


def settings_said(settings: Settings) -> dict[str, str]:
    """Those that are not as they are where nothing is said."""
    usual = asdict(Settings())
    return {name.replace("_", " "): _value(value) for name, value in asdict(settings).items()
            if value != usual[name] and name != "pinned"}  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join("=".join(map(str, one)) if isinstance(one, tuple | list) else str(one) for one in value)
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _totals(program: Program, profile: Profile) -> dict[str, str]:
    analysis = program.analysis
    found = {"cycles": f"{profile.cycles:,}"}
    if analysis.clock_mhz is not None:
        found["time"] = f"{profile.cycles / analysis.clock_mhz / 1000:.4g} ms at {analysis.clock_mhz:g} MHz"
    if profile.instructions is not None:
        found["instructions"] = f"{profile.instructions:,}"
    if profile.macs:
        found |= {"MACs": count(profile.macs), "MACs per cycle": f"{profile.macs_per_cycle:.2f}"}
    off = profile.predicted / max(profile.cycles, 1) - 1
    found["predicted"] = f"{profile.predicted:,} ({off:+.1%}); median error of the layers {profile.median_error:.1%}"
    if profile.energy:
        found["energy"] = f"{energy_text(profile.energy)}: {energy_parts(profile.energy)}"
    moved = sum(layer.bytes_in + layer.bytes_out for layer in profile.layers)
    if moved:
        found["transfers"] = f"{size(moved)}; cores wait for them {profile.waiting_share:.1%} of the time"
    found |= {"RAM": size(analysis.peak_ram_bytes), "constants": size(analysis.flash_bytes)}
    for name, taken in analysis.offloaded.items():
        found[f"on {name}"] = f"{taken['nodes']} layers, {count(taken['macs'])} MACs"
    return found
