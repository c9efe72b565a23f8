"""Kernels on this machine one by one: each is a network of one layer, whose fastest call counts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.codegen import folder
from tilewright.codegen.network import Writer
from tilewright.ir.graph import Builder
from tilewright.ir.types import Array, type_of
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.schedule import Schedule
from tilewright.run.host import HostNetwork, HostPrograms
from tilewright.run.kernel_bench import Case
from tilewright.target.mapping import Choice, Mapped
from tilewright.target.target import Target

REPEATS = 40
"""Calls, of which others on the machine may disturb all but one."""


def nanoseconds(cases: Sequence[Case], target: Target) -> list[float]:
    """Of a call of each, with operands in the caches."""
    networks = [_network(f"case_{number}", _schedule(case, target)) for number, case in enumerate(cases)]
    programs = HostPrograms(networks)
    return [
        programs.run(_feeds(case), REPEATS, number).fastest * 1e9 for number, case in enumerate(cases)
    ]  # fmt: skip


def _schedule(case: Case, target: Target) -> Schedule:
    """The kernel is the one of the case, whatever would be chosen; all operands are inputs."""
    builder = Builder("case")
    names = [
        builder.input(f"x{number}", type_of(array)) if array is not None else ""
        for number, array in enumerate(case.arrays)
    ]
    for tensor in builder.add(case.op, names):
        builder.output(tensor)
    graph = builder.build()
    node = graph.nodes[0]
    engine = next(engine for engine in target.engines if case.kernel in engine.kernels)
    return lower_arena(allocate(Mapped(graph, target, {node.key: Choice(engine, case.kernel, node)})))


def _network(name: str, schedule: Schedule) -> HostNetwork:
    return HostNetwork(schedule, folder.files(schedule, name), Writer(schedule, name))


def _feeds(case: Case) -> dict[str, Array]:
    return {f"x{number}": array for number, array in enumerate(case.arrays) if array is not None}
