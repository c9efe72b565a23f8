"""Kernels measured on samples, and what that says about their costs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tilewright.calibration import (
    classifiers,
    computer,
    elementwise,
    gradients,
    linear,
    movement,
    recurrent,
    rows,
    tflite,
)
from tilewright.calibration.cache_prices import cache_prices
from tilewright.calibration.forms import in_forms
from tilewright.calibration.overheads import Overheads, overheads
from tilewright.calibration.values import Sample
from tilewright.ir.graph import Builder
from tilewright.ir.types import Array, type_of
from tilewright.records import dataclass
from tilewright.run.bench_memory import check_simulated
from tilewright.run.kernel_bench import Case, has_room, measure
from tilewright.run.kernel_timing import nanoseconds
from tilewright.target.caches import caches_of
from tilewright.target.cost_model import features, kernel_key, predict, work
from tilewright.target.costs import Coefficients
from tilewright.target.fitting import fit
from tilewright.target.mapping import map_nodes
from tilewright.target.processors import NATIVE
from tilewright.target.runner import NANOSECONDS
from tilewright.target.settings import has_option
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid

ALONE, HALF, ALL = 0.4, 0.6, 1.0
"""Cooperative kernels are measured on one core, on half of them and on all: the weight of each."""
TOGETHER = 120
"""Cases in one program."""


@dataclass(frozen=True, eq=False)
class Timing:
    """How long a kernel took on a sample."""

    case: Case
    cores: int
    cycles: int
    """With the code in the caches."""
    cold: int

    @property
    def features(self) -> tuple[float, ...]:
        return case_features(self.case, self.cores)


def case_features(case: Case, cores: int) -> tuple[float, ...]:
    op, types = case.op, case.types
    operands = op.bind(case.arrays)
    grid = TileGrid.of(op, types, tuple(name for name in types if name not in operands))
    return features(case.kernel, op, types, work(grid, {}), cores)


@dataclass(frozen=True)
class KernelFit:
    """Coefficients of a kernel, and how well they tell what was measured."""

    key: str
    coefficients: Coefficients
    cold: float
    """What the first call took longer."""
    samples: int
    median_error: float
    worst_error: float


def samples(target: Target) -> Iterator[Sample]:
    """Of all operators that the target has kernels for."""
    kinds = dict.fromkeys(kernel.op for engine in target.engines for kernel in engine.kernels)
    for kind in kinds:
        yield from elementwise.elementwise(kind)
        yield from rows.reductions(kind)
    for kernel in (kernel for engine in target.engines for kernel in engine.kernels):
        yield from kernel.samples() if kernel.samples else ()
    for family in (elementwise, linear, gradients, rows, movement, recurrent, tflite, classifiers):
        for maker in family.OTHERS:
            yield from maker()
    yield from in_forms(target, (sample for maker in linear.WITH_CONSTANTS for sample in maker()))


def cases(target: Target, found: Iterable[Sample]) -> list[Case]:
    """The samples with all kernels that take them, but for those whose cycles are known without, and for those that
    are too large for the memory that kernels work in."""
    builder, arrays = Builder("samples"), dict[str, Array]()
    for number, (op, operands) in enumerate(found):
        given = {f"x{number}_{i}": array for i, array in enumerate(operands) if array is not None}
        names = [f"x{number}_{i}" if array is not None else "" for i, array in enumerate(operands)]
        for name, array in given.items():
            builder.input(name, type_of(array))
        for tensor in builder.add(op, names, name=f"sample {number}"):
            builder.output(tensor)
        arrays |= given
    mapped = map_nodes(builder.build(), target)
    arrays |= mapped.graph.constants
    taken = (
        Case(choice.kernel, choice.node.op, [arrays.get(name) for name in choice.node.inputs])
        for node in mapped.graph.nodes
        for choice in mapped.all_choices(node)
        if choice.kernel.cycles is None
    )
    return [case for case in taken if has_room(case, target)]


def timings(target: Target, found: Sequence[Case]) -> Iterator[Timing]:
    most = target.agents.cores
    for cores in sorted({1, max(most // 2, 1), most}):
        wanted = [case for case in found if case.kernel.cooperative or cores == 1]
        for start in range(0, len(wanted), TOGETHER):
            group = wanted[start : start + TOGETHER]
            for case, measured in zip(group, measure(group, target, cores), strict=True):
                yield Timing(case, cores, measured.cycles, measured.cold)


def fits(found: Iterable[Timing]) -> list[KernelFit]:
    """One for each kernel, and for each width of its elements where there are several."""
    groups: dict[str, list[Timing]] = defaultdict(list)
    for timing in found:
        kernel, narrow = timing.case.kernel, kernel_key(timing.case.kernel, timing.case.types)
        groups[kernel.stem].append(timing)
        groups[narrow].append(timing)
    alone = {key for key in groups if "." in key and len(groups[key]) == len(groups[key.split(".")[0]])}
    return [_fit(key, groups[key]) for key in sorted(groups) if key not in alone]


def _fit(key: str, group: Sequence[Timing]) -> KernelFit:
    rows = [timing.features for timing in group]
    measured = [timing.cycles for timing in group]
    last = max(timing.cores for timing in group)
    weights = [ALONE if timing.cores == 1 else ALL if timing.cores == last else HALF for timing in group]
    coefficients = tuple(round(value, 4) for value in fit(rows, measured, weights))
    errors = [abs(predict(coefficients, row) / cycles - 1) for row, cycles in zip(rows, measured, strict=True)]
    # A network calls it with one kind of operands; some samples go through more of its code.
    cold = float(np.quantile([timing.cold - timing.cycles for timing in group if timing.cores == last], 0.35))
    return KernelFit(key, coefficients, cold, len(group), float(np.median(errors)), max(errors))


@dataclass(frozen=True)
class Calibration:
    kernels: tuple[KernelFit, ...]
    overheads: Overheads
    l1_code_overheads: Overheads
    """The same with code in L1, where the target may have it there."""
    caches: Mapping[int, float] = field(default_factory=dict)
    """Of a computer: nanoseconds for a byte from behind each level."""

    @property
    def median_error(self) -> float:
        return float(np.median([fit.median_error for fit in self.kernels]))

    def as_dict(self) -> dict[str, Any]:
        """As a target reads it."""
        return {
            "kernels": {fit.key: list(fit.coefficients) for fit in self.kernels},
            "cold": {fit.key: fit.cold for fit in self.kernels if "." not in fit.key},
            **self.overheads.as_dict(),
            "l1_code_overheads": self.l1_code_overheads.as_dict(),
            **({"caches": {str(level): price for level, price in self.caches.items()}} if self.caches else {}),
        }


def as_text(found: Mapping[str, Any]) -> str:
    """JSON with a line for each kernel, so that versions can be compared."""
    parts = []
    for name, value in found.items():
        if isinstance(value, Mapping):
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


OF_A_BOARD = Overheads(0.0, 0.0, 0.0)
"""A layer is one call, and what a call takes is part of what is measured."""


def calibration(target: Target, progress: Callable[[str], None]) -> Calibration:
    if target.runner.unit == NANOSECONDS:
        return _calibration_here(target, progress)
    check_simulated(target)
    progress("choosing kernels for the samples")
    found = cases(target, samples(target))
    progress(f"measuring {len(found)} samples")
    kernels = tuple(fits(timings(target, found)))
    if not target.agents.has_runtime:
        return Calibration(kernels, OF_A_BOARD, OF_A_BOARD)
    progress("measuring layers and tiles")
    usual = overheads(target)
    moved = overheads(target, code_in_l1=True) if has_option(target, "code_in_l1") else usual
    return Calibration(kernels, usual, moved)


def _calibration_here(target: Target, progress: Callable[[str], None]) -> Calibration:
    """Of a computer, which is this one: its costs are nanoseconds."""
    progress("choosing kernels for the samples")
    more = [*computer.large(), *in_forms(target, computer.large())]
    found = computer.some_of(cases(target, [*samples(target), *more]))
    kernels = tuple(fits(timings_here(target, found, progress)))
    progress("measuring caches")
    prices = cache_prices(caches_of(NATIVE), lambda sample: nanoseconds([best_case(target, sample)], target)[0])
    return Calibration(kernels, OF_A_BOARD, OF_A_BOARD, prices)


def best_case(target: Target, sample: Sample) -> Case:
    """With the kernel that networks use: constants in the order that it wants, where it wants one."""
    return cases(target, [*in_forms(target, [sample]), sample])[0]


def timings_here(target: Target, found: Sequence[Case], progress: Callable[[str], None]) -> Iterator[Timing]:
    """On this machine, whose caches have all of it."""
    for start in range(0, len(found), TOGETHER):
        progress(f"measuring {start}/{len(found)} samples")
        group = found[start : start + TOGETHER]
        for case, time in zip(group, nanoseconds(group, target), strict=True):
            yield Timing(case, 1, max(1, round(time)), max(1, round(time)))
