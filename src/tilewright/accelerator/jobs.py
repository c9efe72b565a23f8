"""A layer, or a tile of one, as jobs of a device: cut where the device's limits or its scratchpad ask for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from tilewright.accelerator.chains import steps_of
from tilewright.accelerator.declaration import Accelerator, Pattern
from tilewright.accelerator.expressions import Expression, Number
from tilewright.accelerator.numbers import FrozenTypes, Types, numbers
from tilewright.errors import CompileError, Refusal
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, TensorType
from tilewright.ops._loops import row_major
from tilewright.records import dataclass
from tilewright.tiling.tiles import Cut, TileGrid

MOST_JOBS = 1024
"""Of one call of a driver."""


@dataclass(frozen=True)
class DeviceJob:
    starts: Mapping[str, int]
    """Bytes from the first element of each operand and result to the job's own."""
    numbers: Mapping[str, Number]


@dataclass(frozen=True, eq=False)
class Declared:
    """A pattern of an accelerator, as jobs are made from it."""

    accelerator: Accelerator
    pattern: Pattern
    gives_totals: bool
    """Whether the device gives the totals of a layer whose requantisation the cores compute."""
    source: str = "accelerator.py"
    """The file that it is declared in."""

    @property
    def is_chain(self) -> bool:
        """Whether it has several operators."""
        return len(steps_of(self.pattern)) > 1

    def value(self, what: str, text: str, numbers: Mapping[str, Number]) -> Number:
        """Of an expression of the declaration; `what` it says."""
        try:
            return Expression(text)(numbers)
        except Refusal as refusal:
            raise self.fault(what, text, refusal, numbers) from None

    def fault(self, what: str, text: str, refusal: Refusal, numbers: Mapping[str, Number]) -> CompileError:
        said = f"pattern '{self.pattern.name}', {what}: {refusal.what}{_given(text, numbers)}"
        return CompileError(self.source, said, "check the expression and the parameters that were set")

    def job_types(self, types: Types) -> dict[str, TensorType]:
        """Operands and results as the device sees them."""
        if not self.gives_totals:
            return dict(types)
        return {**types, "Y": TensorType("int32", types["Y"].shape)}

    def jobs(self, op: Op, types: Types) -> tuple[DeviceJob, ...]:
        return _jobs(self, op, tuple(types.items()))

    def cycles(self, op: Op, types: Types) -> float:
        """Of all jobs together."""
        grid = _grid(self, op, tuple(types.items()))
        return _cycles(self, grid)

    def picojoules(self, op: Op, types: Types) -> float:
        """Likewise; 0 where nothing is declared."""
        text = self.accelerator.picojoules_of(self.pattern)
        grid = _grid(self, op, tuple(types.items()))
        return _over_jobs(self, grid, "picojoules", text) if text else 0.0

    def job_count(self, op: Op, types: Types) -> int:
        return _grid(self, op, tuple(types.items())).tiles


@lru_cache(maxsize=2**12)
def _jobs(declared: Declared, op: Op, types: FrozenTypes) -> tuple[DeviceJob, ...]:
    grid = _grid(declared, op, types)
    return tuple(_job(declared, grid, grid.indices(tile)) for tile in range(grid.tiles))


def _job(declared: Declared, grid: TileGrid, indices: Mapping[str, int]) -> DeviceJob:
    local = tuple(grid.local_types(indices).items())
    found = numbers(grid.local_op(indices), local, tuple(grid.types.items()))
    return DeviceJob(dict(_starts(grid, indices)), {**found, **declared.accelerator.parameters})


def _starts(grid: TileGrid, indices: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for name, axes in grid.known_axes.items():
        kind = grid.types[name]
        first = [axis.span(indices.get(axis.loop, 0))[0] for axis in axes]
        yield name, BYTES[kind.dtype] * sum(map(int.__mul__, first, row_major(kind.shape)))


# ---- cutting --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2**12)
def _grid(declared: Declared, op: Op, types: FrozenTypes) -> TileGrid:
    """The whole in as few cuts as the limits allow, each halving what costs least."""
    pattern = declared.pattern
    cut_nowhere = TileGrid.of(op, declared.job_types(dict(types)), op.results)
    whole = replace(cut_nowhere, whole_axes=True)  # sizes that a device is told are also how far apart rows lie
    fixed = op.unsplittable(whole.shapes) | op.reductions(whole.shapes)
    sizes = {loop: min(extent, pattern.limits.get(loop, extent)) for loop, extent in whole.extents.items()}
    for loop in fixed:
        if sizes[loop] < whole.extents[loop]:
            raise Refusal(f"it has {whole.extents[loop]} of loop {loop}, a job at most {sizes[loop]}")
    grid = _cut(whole, sizes)
    while (needed := scratchpad_bytes(declared, grid)) > (room := _room(declared)):
        tried = [
            {**sizes, loop: size}
            for loop in pattern.cuts
            if loop not in fixed and (size := _halved(pattern, loop, sizes[loop]))
        ]
        if not tried or grid.tiles > MOST_JOBS:
            raise Refusal(f"a job needs {needed} bytes of the scratchpad, which has {room}")
        sizes = min(
            tried, key=lambda one: (_cycles(declared, _cut(whole, one)), scratchpad_bytes(declared, _cut(whole, one)))
        )
        grid = _cut(whole, sizes)
    if grid.tiles > MOST_JOBS:
        raise Refusal(f"it would be {grid.tiles} jobs, {MOST_JOBS} are the most of one call")
    return grid


def _cut(whole: TileGrid, sizes: Mapping[str, int]) -> TileGrid:
    cuts = (Cut(loop, extent, sizes[loop]) for loop, extent in whole.extents.items() if sizes[loop] < extent)
    grid = whole.in_tiles(tuple(cuts))
    if grid.axes is None:
        raise Refusal(f"it cannot be cut into jobs along {', '.join(cut.loop for cut in grid.cuts)}")
    return grid


def _halved(pattern: Pattern, loop: str, size: int) -> int:
    """About half of a size, or 0 where nothing is left to cut."""
    multiple = pattern.multiples.get(loop, 1)
    half = max(-(-size // 2) // multiple * multiple, min(multiple, size))
    return half if half < size else 0


def _room(declared: Declared) -> float:
    pad = declared.accelerator.scratchpad
    return math.inf if pad is None else pad.bytes


def scratchpad_bytes(declared: Declared, grid: TileGrid) -> int:
    pad = declared.accelerator.scratchpad
    if pad is None:
        return 0
    held = [name for name in grid.types if not pad.holds or name in pad.holds]
    return sum(grid.largest(name) for name in held)


def _cycles(declared: Declared, grid: TileGrid) -> float:
    return _over_jobs(declared, grid, "cycles", declared.accelerator.cycles_of(declared.pattern))


def _over_jobs(declared: Declared, grid: TileGrid, what: str, text: str) -> float:
    """The sum of an expression over all jobs. Those inside the grid are alike: each kind is computed once."""
    total = 0.0
    for combination in itertools.product(*(_kinds(cut) for cut in grid.cuts)):
        indices = {cut.loop: index for cut, (index, _) in zip(grid.cuts, combination, strict=True)}
        job = _job(declared, grid, indices)
        total += _of_job(declared, job, what, text) * math.prod(n for _, n in combination)
    return total


def _of_job(declared: Declared, job: DeviceJob, what: str, text: str) -> float:
    found = float(declared.value(what, text, job.numbers))
    if not 0 <= found < math.inf:
        said = f"pattern '{declared.pattern.name}': a job would take {found:g} {what}, by '{text}'"
        raise CompileError(declared.source, f"{said}{_given(text, job.numbers)}", "a number of at least 0 is expected")
    return found


def _given(text: str, numbers: Mapping[str, Number]) -> str:
    """The numbers that an expression speaks of."""
    known = [f"{name} is {numbers[name]:g}" for name in Expression(text).names if name in numbers]
    return f" ({', '.join(known)})" if known else ""


def _kinds(cut: Cut) -> list[tuple[int, int]]:
    """(index, how many are like it): the first, those inside, the last."""
    if cut.count < 3:
        return [(index, 1) for index in range(cut.count)]
    return [(0, 1), (1, cut.count - 2), (cut.count - 1, 1)]
