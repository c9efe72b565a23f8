"""Every kernel of every target in every rounding that it takes, where roundings differ, equal to numpy to the bit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.support.checks import Case
from tests.support.quickly import quickly
from tests.support.rounding_cases import MAKERS
from tilewright import targets
from tilewright.codegen import folder
from tilewright.codegen.arena import ArenaWriter
from tilewright.errors import Refusal
from tilewright.ir.graph import Builder
from tilewright.ir.op import Op
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, type_of
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.schedule.schedule import make_schedule
from tilewright.run import kernel_bench
from tilewright.run.host import HostProgram
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Choice, Mapped, map_nodes
from tilewright.target.target import Target

HOSTS = ("generic", "cpu")
SIMULATED = ("rv32", "cortex-m4", "siracusa", "snitch", "minpool")
"""Others have kernels of these."""
TOGETHER = 120
MOST = 8


@cache
def known() -> dict[Rounding, list[Case]]:
    """Those that operators have a meaning for."""
    return {rounding: [case for make in MAKERS for case in make(rounding) if has_meaning(case)] for rounding in Rounding}


def has_meaning(case: Case) -> bool:
    op, arrays = case
    try:
        op.infer(op.bind([None if array is None else type_of(array) for array in arrays]))
    except Refusal:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Taken(kernel_bench.Case):
    """By a kernel, in the form in which it takes it."""

    wanted: tuple[Array, ...] = ()
    meant: Op = field(default_factory=Op)


def taken(target: Target, cases: Sequence[Case], constants: bool) -> Iterator[Taken]:
    """The cases with all kernels that take them; operands but for the first are inputs, or constants."""
    builder, arrays = Builder("cases"), dict[str, Array]()
    for number, (op, operands) in enumerate(cases):
        given = {f"x{number}_{i}": array for i, array in enumerate(operands) if array is not None}
        names = [f"x{number}_{i}" if array is not None else "" for i, array in enumerate(operands)]
        for i, (name, array) in enumerate(given.items()):
            if i and constants:
                builder.constant(array, name)
            else:
                builder.input(name, type_of(array))
        for tensor in builder.add(op, names, name=f"case {number}"):
            builder.output(tensor)
        arrays |= given
    mapped = map_nodes(builder.build(), target)
    arrays |= mapped.graph.constants
    for node, (op, operands) in zip(mapped.graph.nodes, cases, strict=True):
        wanted = op.numpy(*operands)
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        for choice in mapped.all_choices(node):
            inputs = [arrays.get(name) for name in choice.node.inputs]
            yield Taken(choice.kernel, choice.node.op, inputs, wanted=results, meant=op)


@cache
def earlier(name: str) -> frozenset[Path]:
    """Kernels that other targets are tested with."""
    before = (*HOSTS, *SIMULATED)[: (*HOSTS, *SIMULATED).index(name)]
    return frozenset(path for other in before for path in sources(targets.find(other)))


def sources(target: Target) -> Iterator[Path]:
    return (target.kernel_file(kernel.source) for engine in target.engines for kernel in engine.kernels)


def own_cases(name: str, rounding: Rounding, most: int = MOST) -> list[Taken]:
    """Some of each kernel."""
    target, groups = targets.find(name), defaultdict[Path, list[Taken]](list)
    for constants in (False, True):
        for case in taken(target, known()[rounding], constants):
            groups[target.kernel_file(case.kernel.source)].append(case)
    return [case for path, group in groups.items() if path not in earlier(name) for case in spread(group, most)]


def spread(cases: Sequence[Taken], most: int) -> list[Taken]:
    return [cases[number * len(cases) // most] for number in range(most)] if len(cases) > most else list(cases)


def made_here(cases: Sequence[Taken], target: Target) -> list[tuple[Array, ...]]:
    """The results of all in one program, each by its kernel."""
    builder, feeds, kernels = Builder("cases"), dict[str, Array](), list[Kernel]()
    for number, case in enumerate(cases):
        names = [f"x{number}_{i}" if array is not None else "" for i, array in enumerate(case.arrays)]
        feeds |= {name: array for name, array in zip(names, case.arrays, strict=True) if array is not None}
        for name in filter(None, names):
            builder.input(name, type_of(feeds[name]))
        for tensor in builder.add(case.op, names, name=f"case {number}"):
            builder.output(tensor)
        kernels.append(case.kernel)
    graph = builder.build()
    chosen = zip(graph.nodes, kernels, strict=True)
    choices = {node.key: Choice(target.engines[0], kernel, node) for node, kernel in chosen}
    schedule = quickly(make_schedule(allocate(Mapped(graph, target, choices))))
    program = HostProgram(schedule, folder.files(schedule, "cases"), ArenaWriter(schedule, "cases"), None)
    ran = program.run(feeds).outputs
    return [tuple(ran[output] for output in node.outputs) for node in graph.nodes]


def made(cases: Sequence[Taken], target: Target) -> list[tuple[Array, ...]]:
    if not target.simulated:
        return made_here(cases, target)
    groups = [cases[start : start + TOGETHER] for start in range(0, len(cases), TOGETHER)]
    return [one.results for group in groups for one in kernel_bench.measure(group, target, 4, any_cores=True)]


def differing(cases: Sequence[Taken], target: Target) -> list[str]:
    """Kernels whose results are not those of numpy, with the operator."""
    found = []
    for case, results in zip(cases, made(cases, target), strict=True):
        if not all(np.array_equal(left, right) for left, right in zip(results, case.wanted, strict=True)):
            found.append(f"{case.kernel.source}: {case.meant}")
    return found


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("name", (*HOSTS, *SIMULATED))
def test_kernels_round_as_numpy_does(name: str, rounding: Rounding) -> None:
    cases = own_cases(name, rounding)
    assert differing(cases, targets.find(name)) == []
