"""Predicted cycles of kernels on a cluster. The coefficients are fitted by measurement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from tilewright.ir.op import Op
from tilewright.ir.types import BYTES
from tilewright.records import dataclass
from tilewright.target.costs import Coefficients, Costs
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.tiling.tiles import Cut, TileGrid

UNKNOWN: Coefficients = (200.0, 0.0, 10.0, 8.0, 12.0)
"""For a kernel that was never measured."""
UNKNOWN_COLD = 300.0


@dataclass(frozen=True)
class Work:
    """What a tile asks of a kernel."""

    extents: Mapping[str, int]
    """Of the operator's loops; empty where it has none."""
    points: int
    """Of the loop nest."""
    elements: int
    """Of the results."""
    rows: int
    """Of the results: all but the innermost axis."""


def call_cycles(costs: Costs, kernel: Kernel, op: Op, types: Types, work: Work, cores: int) -> CycleEstimate:
    """One call."""
    if kernel.cycles is not None:
        return kernel.cycles(op, types, work.extents, cores)
    return CycleEstimate(kernel_cycles(costs, kernel, op, types, work, cores))


def grid_cycles(costs: Costs, kernel: Kernel, grid: TileGrid, cores: int) -> CycleEstimate:
    """All calls of a layer: whole tiles, and those at the ends of each cut."""
    total = CycleEstimate()
    for combination in itertools.product(*(_parts(cut) for cut in grid.cuts)):
        spans = {cut.loop: size for cut, (size, _) in zip(grid.cuts, combination, strict=True)}
        found = call_cycles(costs, kernel, grid.op, grid.types, work(grid, spans), cores)
        total = total.plus(found, math.prod(times for _, times in combination))
    return total


def busiest_core_cycles(costs: Costs, kernel: Kernel, grid: TileGrid, workers: int) -> float:
    """Calls of the core that has most of a layer whose tiles cores take in turn, each its own."""
    rounds = -(-grid.tiles // workers)
    if len(grid.cuts) != 1:
        # Shorter tiles lie all over such a grid, and with them what a core has.
        return grid_cycles(costs, kernel, grid, 1).cores * rounds / grid.tiles
    (cut,) = grid.cuts
    whole, *shorter = (
        call_cycles(costs, kernel, grid.op, grid.types, work(grid, {cut.loop: size}), 1).cores
        for size, _ in _parts(cut)
    )
    is_last_alone = (grid.tiles - 1) % workers == 0
    return (rounds - 1) * whole + (shorter[0] if shorter and is_last_alone else whole)


def _parts(cut: Cut) -> list[tuple[int, int]]:
    """(size, times): whole parts, and the shorter one at the end."""
    whole, rest = divmod(cut.extent, cut.size)
    return [(cut.size, whole)] + ([(rest, 1)] if rest else [])


def overlapped(estimate: CycleEstimate, tiles: int, double: bool, fetch: float) -> float:
    """An accelerator and the cores, which submit the next tile and finish the one before, work at the same time if
    there are buffers for it. While it has the last tile, constants of the next layer are fetched."""
    cores, engine = estimate.submitting + estimate.cores, estimate.engine
    if not double or tiles == 1:
        return cores + max(engine, fetch)
    return max(engine + cores / tiles, cores + engine / tiles)


def kernel_cycles(costs: Costs, kernel: Kernel, op: Op, types: Types, work: Work, cores: int) -> float:
    """One call on a tile of a layer with these types; a cooperative kernel has all the cores."""
    known = costs.kernels.get(kernel_key(kernel, types)) or costs.kernels.get(kernel.stem)
    if known is None:
        return predict(UNKNOWN, plain_features(kernel, op, types, work, cores))
    return predict(known, features(kernel, op, types, work, cores))


def predict(coefficients: Sequence[float], found: Sequence[float]) -> float:
    return sum(map(float.__mul__, coefficients, found))


def features(kernel: Kernel, op: Op, types: Types, work: Work, cores: int) -> tuple[float, ...]:
    """What the cycles of a call are a weighted sum of."""
    if kernel.work is not None and work.extents:
        return kernel.work.units(kernel.params, op, types, work.extents, cores)
    if kernel.features is not None and work.extents:
        return kernel.features(op, types, work.extents, cores)
    return plain_features(kernel, op, types, work, cores)


def plain_features(kernel: Kernel, op: Op, types: Types, work: Work, cores: int) -> tuple[float, ...]:
    """The call, what cores prepare together, rows, points and elements of the core that has most."""
    share = cores if kernel.cooperative else 1
    rows = _joined_rows(types, work) if op.elementwise else work.rows
    return 1.0, 1.0 / share, float(-(-rows // share)), work.points / share, work.elements / share


def _joined_rows(types: Types, work: Work) -> int:
    """Rows of an operator element by element: as long as the operand that is broadcast, if one is."""
    shapes = [kind.shape for kind in types.values() if kind.elements > 1]
    if len({shape[-1] for shape in shapes}) > 1:
        return work.rows
    return max(1, work.elements // min((math.prod(shape) for shape in shapes), default=1))


def cold_cycles(costs: Costs, kernel: Kernel) -> float:
    """What the first call in a layer takes longer, until its code is in the caches."""
    return costs.cold.get(kernel.stem, UNKNOWN_COLD) * costs.cold_part


def kernel_key(kernel: Kernel, types: Types) -> str:
    """A kernel with the width of its first operand's elements: what costs are known by."""
    dtype = next(iter(types.values())).dtype
    return f"{kernel.stem}.{'float' if dtype == 'float32' else 8 * BYTES[dtype]}"


def work(grid: TileGrid, sizes: Mapping[str, int]) -> Work:
    """Of a tile with these sizes along the cut loops."""
    elements = sum(grid.types[name].elements for name in grid.results)
    length = float(max(grid.row, 1))
    if not grid.op.has_loops:
        return Work({}, elements, elements, round(elements / length))
    extents = {**grid.extents, **sizes}
    shrunk = {loop: size / grid.extents[loop] for loop, size in sizes.items()}
    count = elements * math.prod(shrunk.values())
    length *= math.prod(part for loop, part in shrunk.items() if loop in grid.row_loops)
    return Work(extents, math.prod(extents.values()), round(count), round(count / length))
