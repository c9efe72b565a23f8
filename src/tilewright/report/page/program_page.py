"""The page of a network on a target: one watched run of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tilewright.profiling.measuring import Profiled
from tilewright.profiling.memory_map import MemoryMap
from tilewright.profiling.profile import Profile
from tilewright.profiling.profilers import maps
from tilewright.program import Program
from tilewright.report.numbers import count, milliseconds, size
from tilewright.report.page.colours import by_name
from tilewright.report.page.content import Page, Total
from tilewright.report.page.graph_picture import graph_picture
from tilewright.report.page.key_words import words_of
from tilewright.report.page.layer_bars import layer_bars
from tilewright.report.page.layer_table import layer_table
from tilewright.report.page.memory_maps import memory_charts
from tilewright.report.page.profile_page import estimate_notes, speed_totals, work_totals
from tilewright.report.page.timeline import timeline
from tilewright.run.result import Check
from tilewright.target.settings import Settings
from tilewright.version import VERSION


def program_page(program: Program, found: Profiled, inputs: str = "random", check: Check | None = None) -> Page:
    """`inputs`: what they are called; `check`: the outputs of a run against the reference."""
    schedule, profile = program.compiled.schedule, found.profile
    engines = by_name(engine.name for engine in schedule.target.engines)
    pictures = (layer_bars(profile, engines), layer_table(profile), timeline(found, engines))
    graph = graph_picture(schedule, profile, engines)
    return Page(
        f"{profile.network} on {profile.target}", _facts(program, profile, inputs),
        (*_totals(program, profile), *_agreement(check)),
        (*pictures, *memory_charts(_maps(program)), graph), (*estimate_notes(profile), *program.analysis.notes),
    )  # fmt: skip


def _maps(program: Program) -> tuple[MemoryMap, ...]:
    return maps(program.compiled.schedule, program.compiled.allocation, whole=True)


def _facts(program: Program, profile: Profile, inputs: str) -> dict[str, str]:
    target = program.compiled.schedule.target
    found = {"model": profile.network, "target": f"{profile.target}: {target.summary}"}
    found |= {"cores": str(profile.cores)} if target.agents.cores > 1 else {}
    scales = program.analysis.scales
    found |= {f"{name}, real numbers": str(scale) for name, scale in {**scales.inputs, **scales.outputs}.items()}
    return found | settings_said(program.settings) | {"inputs": inputs, "tilewright": VERSION}


def _agreement(check: Check | None) -> Iterator[Total]:
    """Of all outputs together."""
    if check is not None:
        differing, elements = sum(one.mismatches for one in check.outputs), sum(one.elements for one in check.outputs)
        said = f"{differing:,} of {elements:,} elements are further from the reference than allowed"
        yield Total("outputs", "agree" if check.agrees else "disagree", said)


def settings_said(settings: Settings) -> dict[str, str]:
    """Those that are not as they are where nothing is said."""
    usual = asdict(Settings())
    return {words_of(name): _value(value) for name, value in asdict(settings).items()
            if value != usual[name] and name != "pinned"}  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join("=".join(map(str, one)) if isinstance(one, tuple | list) else str(one) for one in value)
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _totals(program: Program, profile: Profile) -> Iterator[Total]:
    analysis = program.analysis
    yield from speed_totals(profile)
    mhz = analysis.clock_mhz or (profile.energy.hertz / 1e6 if profile.energy else 0)
    if mhz:
        yield Total("time", milliseconds(profile.cycles / mhz / 1000), f"at {mhz:g} MHz")
    yield from work_totals(profile)
    yield Total("RAM, planned", size(analysis.planned_ram_bytes), f"and {size(analysis.constant_bytes)} of constants")
    for name, (reserved, there) in analysis.memories.items():
        yield Total(f"{name}, reserved", size(reserved), f"of {size(there)}, with stack and code")
    for name, taken in analysis.offloaded.items():
        yield Total(f"on {name}", f"{taken['nodes']} layers", f"{count(taken['macs'])} MACs")
