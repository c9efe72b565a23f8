"""Every kernel of every target in every rounding that it takes, where roundings differ, equal to numpy to the bit."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from tests.emulator.test_qemu import needs_qemu
from tests.support.checks import Case
from tests.support.quickly import quickly
from tests.support.rounding_cases import MAKERS, argmax_matmul, elements, integer_softmaxes, means, softmaxes
from tilewright import targets
from tilewright.codegen import folder
from tilewright.codegen.network import Writer
from tilewright.errors import Refusal
from tilewright.ir.graph import Builder
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import PLAIN, SCALED, Rounding
from tilewright.ir.types import Array, type_of
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.run import kernel_bench
from tilewright.run.board import BoardProgram
from tilewright.run.host import HostProgram
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Choice, Mapped, map_nodes
from tilewright.target.target import Target

Anything = TypeVar("Anything")
HOSTS = ("generic", "cpu")
VECTORS = "cortex-m55"
"""In QEMU."""
SIMULATED = ("rv32", "cortex-m4", "siracusa", "snitch", "minpool")
"""Others have kernels of these."""
TOGETHER = 120
MADE, MOST = 40, 4
"""Cases of each kind that are looked at, and those of each kernel that are computed."""


@cache
def known(rounding: Rounding, most: int) -> list[Case]:
    """Some of each maker, of those that operators have a meaning for."""
    return [case for make in MAKERS for case in some([case for case in make(rounding) if has_meaning(case)], most)]


def some(cases: Sequence[Anything], most: int) -> list[Anything]:
    """At random, always the same."""
    chosen = np.random.default_rng(len(cases)).permutation(len(cases))[:most]
    return [cases[number] for number in sorted(chosen)]


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
    before = (*HOSTS, *SIMULATED)[: (*HOSTS, *SIMULATED, VECTORS).index(name)]
    return frozenset(path for other in before for path in sources(targets.find(other)))


def sources(target: Target) -> Iterator[Path]:
    return (target.kernel_file(kernel.source) for engine in target.engines for kernel in engine.kernels)


def own_cases(name: str, rounding: Rounding, made: int, most: int) -> list[Taken]:
    """Some of each kernel that no target before it has."""
    target, groups = targets.find(name), defaultdict[Path, list[Taken]](list)
    for constants in (False, True):
        for case in taken(target, known(rounding, made), constants):
            groups[target.kernel_file(case.kernel.source)].append(case)
    return [case for path, group in groups.items() if path not in earlier(name) for case in some(group, most)]


def made_by_one_program(cases: Sequence[Taken], target: Target) -> list[tuple[Array, ...]]:
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
    schedule = quickly(lower_arena(allocate(Mapped(graph, target, choices))))
    files, writer = folder.files(schedule, "cases"), Writer(schedule, "cases")
    on_board = target.name == VECTORS
    program = BoardProgram(writer, files, None) if on_board else HostProgram(schedule, files, writer, None)
    ran = program.run(feeds).outputs
    return [tuple(ran[output] for output in node.outputs) for node in graph.nodes]


def made(cases: Sequence[Taken], target: Target) -> list[tuple[Array, ...]]:
    if target.name in HOSTS:
        return made_by_one_program(cases, target)
    groups = [cases[start : start + TOGETHER] for start in range(0, len(cases), TOGETHER)]
    if target.name == VECTORS:  # all pointers to operands and results are on the stack of a board
        return [results for group in groups for results in made_by_one_program(group, target)]
    return [one.results for group in groups for one in kernel_bench.measure(group, target, 4, any_cores=True)]


def differing(cases: Sequence[Taken], target: Target) -> list[str]:
    """Kernels whose results are not those of numpy, with the operator."""
    found = []
    for case, results in zip(cases, made(cases, target), strict=True):
        if not all(np.array_equal(left, right) for left, right in zip(results, case.wanted, strict=True)):
            found.append(f"{case.kernel.source}: {case.meant}")
    return found


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("roundings", [PLAIN, SCALED], ids=["plain", "scaled"])
@pytest.mark.parametrize("name", [*HOSTS, *SIMULATED, pytest.param(VECTORS, marks=needs_qemu)])
def test_kernels_round_as_numpy_does(name: str, roundings: frozenset[Rounding]) -> None:
    check_rounding(name, roundings, (MADE, MOST))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("roundings", [PLAIN, SCALED], ids=["plain", "scaled"])
@pytest.mark.parametrize("name", [*HOSTS, *SIMULATED, pytest.param(VECTORS, marks=needs_qemu)])
def test_many_cases_round_as_numpy_does(name: str, roundings: frozenset[Rounding]) -> None:
    check_rounding(name, roundings, (10 * MADE, 8 * MOST))


def check_rounding(name: str, roundings: frozenset[Rounding], counts: tuple[int, int]) -> None:
    cases = [case for rounding in Rounding if rounding in roundings for case in own_cases(name, rounding, *counts)]
    assert differing(cases, targets.find(name)) == []


ABOVE_ZERO = (argmax_matmul, softmaxes, integer_softmaxes)
"""Results are never below zero: up is away from it."""
EVERY = (Rounding.HALF_UP, Rounding.HALF_EVEN, Rounding.HALF_AWAY)


@pytest.mark.fast
@pytest.mark.parametrize("make", MAKERS)
def test_cases_tell_roundings_apart(make: Callable[[Rounding], Iterator[Case]]) -> None:
    found = {rounding: [op.numpy(*arrays) for op, arrays in plain_cases(make, rounding)] for rounding in EVERY}
    for left, right in itertools.combinations([rounding for rounding in EVERY if found[rounding]], 2):
        is_same = all(np.array_equal(a, b) for a, b in zip(found[left], found[right], strict=True))
        assert is_same == (make in ABOVE_ZERO and Rounding.HALF_EVEN not in (left, right)), (left, right)


def plain_cases(make: Callable[[Rounding], Iterator[Case]], rounding: Rounding) -> list[Case]:
    return [case for case in make(rounding) if has_meaning(case)]


@pytest.mark.fast
def test_roundings_that_c_does_not_have_are_refused() -> None:
    (op, arrays), target = next(elements(Rounding.HALF_AWAY)), targets.find("siracusa")
    kernels = [kernel for engine in target.engines for kernel in engine.kernels]
    kernel = next(one for one in kernels if one.source == "requantshift_columns.c")
    types = {name: type_of(array) for name, array in op.bind(arrays).items()}
    reason = "it is rounded half_away, the kernel has half_up, half_even, native, double, double_up, single, float"
    assert kernel.unsupported_rounding(op) == reason
    assert not kernel.takes(op, types)
    assert kernel.takes(next(elements(Rounding.HALF_EVEN))[0], types)


@pytest.mark.fast
def test_operators_refuse_roundings_without_a_meaning() -> None:
    op, arrays = next(means(Rounding.HALF_UP))
    with pytest.raises(Refusal, match="it is rounded half_up; it has half_even, half_away"):
        op.infer(op.bind([type_of(array) for array in arrays if array is not None]))
    with pytest.raises(ValueError, match="half_odd"):
        Requant(3, "int8", -128, 127, 0, "half_odd")  # type: ignore[arg-type]
