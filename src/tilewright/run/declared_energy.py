"""Energy of accelerators that a user declares: no simulator counts it, the declaration says what a job spends."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tilewright.ir.op import Op
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import calling_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.sim.energy import PER_PICOJOULE, Energy
from tilewright.target.params import Types
from tilewright.tiling.tiles import TileGrid

REST = "cores and memories"
"""Of a platform without a model of its energy."""


def with_accelerators(
    energy: Energy | None, schedule: Schedule, cycles: int, layers: Iterable[LayerSchedule] | None = None
) -> Energy | None:
    """The energy of a run, or of some layers of it, with what their accelerators spend. None where nothing is known."""
    names = {model.name for model in schedule.target.models}
    spent, uncounted = defaultdict[str, int](int), list[str]()
    for layer in schedule.layers if layers is None else layers:
        if layer.engine in names and layer.kernel.picojoules is not None:
            spent[layer.engine] += round(PER_PICOJOULE * _picojoules(layer.kernel.picojoules, layer.option.grid))
        elif layer.engine in names:
            uncounted.append(layer.engine)
    if layers is None:
        uncounted += [one.engine for one in _inside(schedule) if one.engine in names]
    return _joined(energy, spent, tuple(dict.fromkeys(uncounted)), cycles)


def _joined(energy: Energy | None, spent: dict[str, int], uncounted: tuple[str, ...], cycles: int) -> Energy | None:
    if energy is not None:
        return replace(energy, spent={**energy.spent, **spent}, uncounted=uncounted)
    return Energy(dict(spent), {}, cycles, 0, (REST, *uncounted)) if spent else None


def _inside(schedule: Schedule) -> list[LayerSchedule]:
    """Layers of bodies, which run as often as data decide."""
    return [layer for owner, layer in calling_layers(schedule) if owner is not schedule]


def _picojoules(of_call: Callable[[Op, Types, Mapping[str, int]], float], grid: TileGrid) -> float:
    """Of all calls: whole tiles, and those at the ends of each cut."""
    total = 0.0
    kinds = ([(cut.size, cut.extent // cut.size), (cut.extent % cut.size, 1)] for cut in grid.cuts)
    for parts in itertools.product(*([part for part in kind if all(part)] for kind in kinds)):
        sizes = {cut.loop: size for cut, (size, _) in zip(grid.cuts, parts, strict=True)}
        extents = {**grid.extents, **sizes}
        total += of_call(grid.op, grid.types, extents) * math.prod(times for _, times in parts)
    return total
