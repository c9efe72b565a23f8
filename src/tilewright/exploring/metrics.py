"""The figures of a point: of a program that was compiled, run and checked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping

from tilewright.accelerator.figures import area_of
from tilewright.analysis.costs import Analysis
from tilewright.instruction.area import area_of_instruction
from tilewright.program import Program
from tilewright.run.result import Check
from tilewright.run.simulated import SocRun
from tilewright.sim.energy import Energy
from tilewright.sim.platform import Kind
from tilewright.target.target import Target

ACCELERATORS = (Kind.NEUREKA, Kind.USER)
"""Devices that compute; they are at work only while the network is."""

VIEW = "view"
STALL, SLEEP = "stall.", "sleep"
"""Of the names of an activity."""


def metrics_of(program: Program, check: Check) -> dict[str, float]:
    """By column (`columns.py`)."""
    analysis, result, schedule = program.analysis, check.result, program.compiled.schedule
    found: dict[str, float] = {"macs": analysis.macs, **_macs_by_engine(analysis)}
    found |= {"planned_ram_bytes": analysis.planned_ram_bytes, "constant_bytes": analysis.constant_bytes}
    if sizes := schedule.placed.memory_bytes:
        found |= {"predicted_cycles": analysis.predicted_cycles}
        found |= {f"bytes.{name}": size for name, size in sizes.items()}
    areas = [area_of(words) for words in program.settings.accelerators]
    areas += [area_of_instruction(place) for place in program.settings.instructions]
    if known := [area for area in areas if area is not None]:
        found["area"] = sum(known)
    if result.soc is not None:
        found |= _of_run(result.soc, analysis.macs, schedule.target)
    if result.energy is not None:
        found |= _of_energy(result.energy, result.cycles or 0, {model.name for model in schedule.target.models})
    if result.milliseconds is not None:
        found["milliseconds"] = result.milliseconds
    return found | _agreement(check) | {
        "compile_seconds": check.compile_seconds, "build_seconds": check.build_seconds, "run_seconds": result.seconds,
    }  # fmt: skip


def _of_energy(energy: Energy, cycles: int, accelerators: Collection[str]) -> dict[str, float]:
    """Of the whole SoC where its platform has a model, and of what is declared."""
    parts = energy.picojoules
    found: dict[str, float] = {}
    if energy.hertz:
        found |= {"energy_uj": energy.microjoules, "milliseconds": 1e3 * cycles / energy.hertz}
        found |= {"energy_not_counted": len(energy.uncounted)} if energy.uncounted else {}
    if own := [parts[name] for name in accelerators if name in parts]:
        found["energy_accelerators_uj"] = sum(own) / 1e6
    return found


def _macs_by_engine(analysis: Analysis) -> dict[str, float]:
    found: dict[str, float] = defaultdict(int)
    for layer in analysis.layers:
        if layer.kernel != VIEW:
            found[f"macs.{layer.kernel.partition('.')[0]}"] += layer.macs
    return dict(found)


def _of_run(run: SocRun, macs: int, target: Target) -> dict[str, float]:
    counts, cycles = run.activity.counts, max(run.cycles, 1)
    return {
        "cycles": run.cycles, "instructions": counts["instructions"], "macs_per_cycle": macs / cycles,
        "code_bytes": run.code_bytes, **(_waiting(counts) if "stalled" in counts else {}),
        **_links(run, target, cycles), **_accelerators(run, target, cycles),
    }  # fmt: skip


def _waiting(counts: Mapping[str, int]) -> dict[str, float]:
    """Of machines that tell what cores wait for: all of it, and by cause."""
    awake = counts["instructions"] + counts["stalled"] + counts["asleep"]
    causes = {name.removeprefix(STALL): cycles for name, cycles in counts.items() if name.startswith(STALL)}
    return {
        "stalls.stalled": counts["stalled"], "stalls.asleep": counts["asleep"],
        "stalls.refills": counts["private_refills"] + counts["shared_refills"],
        **{f"stalls.{cause}": cycles for cause, cycles in causes.items() if cause != SLEEP},
        "utilisation.cores": counts["instructions"] / max(awake, 1),
    }  # fmt: skip


def _links(run: SocRun, target: Target, cycles: int) -> dict[str, float]:
    """What each link moved, and how much of the time that takes at the least."""
    symbols = {memory.name: memory.symbol for memory in target.memories}
    moved = {link: run.activity.counts.get(f"{symbols[link.outer]}.dma_bytes", 0) for link in target.links}
    found: dict[str, float] = {}
    for link, total in moved.items():
        # What a memory gives to the next one and what it gets from the one behind it count alike there.
        size = total - sum(other for behind, other in moved.items() if behind.inner == link.outer)
        name = f"{link.outer}-{link.inner}"
        found |= {f"traffic.{name}": size, f"utilisation.{name}": size * min(link.read, link.write) / cycles}
    return found


def _accelerators(run: SocRun, target: Target, cycles: int) -> dict[str, float]:
    devices = target.platform.devices
    return {
        f"utilisation.{device.name}": run.report.busy[device.name] / cycles
        for device in devices
        if device.kind in ACCELERATORS
    }


def _agreement(check: Check) -> dict[str, float]:
    worst = max((found.max_abs_error for found in check.outputs), default=0.0)
    mismatches = sum(found.mismatches for found in check.outputs)
    return {"mismatches": mismatches, **({"max_abs_error": worst} if math.isfinite(worst) else {})}
