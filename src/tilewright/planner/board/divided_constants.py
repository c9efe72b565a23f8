"""Constants of accelerators' jobs in several memories: which can be divided, and the network in which they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.errors import instance, present
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, type_of
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.board.accelerator_reads import (
    constants_of,
    copied_op,
    is_read_by_accelerator,
    saved_by_copy,
)
from tilewright.planner.board.copy_choice import Candidate, Chosen
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.home import CONSTANT, Home
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import COPY_UNIT, Schedule
from tilewright.target.kernel import ConstantPiece, DividedOp

LEAST = 1.0
"""Cycles that a piece has to save."""


def accelerator_candidates(schedule: Schedule) -> Iterator[Candidate]:
    """Parts of constants that all jobs read by one stream; others whole."""
    for constant, calls in _jobs(schedule).items():
        found = _pieces(schedule, calls)
        for piece in found:
            cycles = piece.cycles * len(calls)
            if cycles >= LEAST:
                yield Candidate(constant, piece.bytes, cycles / piece.bytes, piece)
        if not found:
            size = schedule.graph.constants[constant].nbytes
            saved = sum(saved_by_copy(schedule, call) for call in calls)
            if saved > 0:
                yield Candidate(constant, rounded(size, COPY_UNIT), math.ceil(saved / size))


def _jobs(schedule: Schedule) -> dict[str, list[LayerSchedule]]:
    found: dict[str, list[LayerSchedule]] = {}
    for call in schedule.layers:
        if is_read_by_accelerator(call) and constants_of(schedule, call) in schedule.graph.constants:
            found.setdefault(constants_of(schedule, call), []).append(call)
    return found


def _pieces(schedule: Schedule, calls: Sequence[LayerSchedule]) -> Sequence[ConstantPiece]:
    """Of several jobs, if they have all constants in common."""
    first, own = calls[0], _given(schedule.graph, calls[0].node)
    if first.kernel.constant_pieces is None or any(_given(schedule.graph, one.node) != own for one in calls):
        return ()
    found = first.kernel.constant_pieces(first.node.op, _values(schedule.graph, own))
    return found if len(found) > 1 else ()


def _given(graph: Graph, node: Node) -> dict[str, str]:
    """Operands that are constants."""
    return {name: tensor for name, tensor in node.operands().items() if tensor in graph.constants}


def _values(graph: Graph, given: Mapping[str, str]) -> dict[str, Array]:
    return {name: graph.constants[tensor] for name, tensor in given.items()}


def gathered(schedule: Schedule, chosen: Chosen) -> Chosen:
    """Constants all of whose pieces go to one memory are copied whole."""
    jobs, whole, parts = _jobs(schedule), dict(chosen.whole), dict(chosen.parts)
    for constant, found in chosen.parts.items():
        memories = {memory for _, memory in found}
        if len(memories) == 1 and len(found) == len(_pieces(schedule, jobs[constant])):
            whole[constant] = memories.pop()
            del parts[constant]
    return Chosen(whole, parts)


def with_banks(schedule: Schedule, chosen: Chosen) -> tuple[Allocation, dict[str, str]]:
    """The network whose jobs find constants where they are copied to, and all constants that are copied, with their
    memories."""
    placed, jobs = instance(schedule.placed, Allocation), _jobs(schedule)
    graph, copied = placed.mapped.graph, dict(chosen.whole)
    changed, added = dict[str, Node](), dict[str, Array]()
    for constant, calls in jobs.items():
        if constant in chosen.whole:
            changed |= {call.node.key: replace(call.node, op=copied_op(schedule, call)) for call in calls}
        elif constant in chosen.parts:
            made, names = _divided(schedule, calls, chosen.parts[constant])
            banks = _named(constant, made, graph.types[calls[0].node.inputs[-1]].dtype)
            added |= banks | {names[name]: values for name, values in made.constants.items()}
            copied |= dict(zip(banks, _memories(chosen.parts[constant]), strict=True))
            changed |= {call.node.key: _reading(call.node, made, names, banks) for call in calls}
    return _with_nodes(placed, changed, added), copied


def _memories(parts: Sequence[tuple[ConstantPiece, str]]) -> list[str]:
    return list(dict.fromkeys(memory for _, memory in parts))


def _divided(
    schedule: Schedule, calls: Sequence[LayerSchedule], parts: Sequence[tuple[ConstantPiece, str]]
) -> tuple[DividedOp, dict[str, str]]:
    """And what its constants are called."""
    call, memories = calls[0], dict(parts)
    banks = [
        [one for one in _pieces(schedule, calls) if memories.get(one) == name] for name in (None, *_memories(parts))
    ]
    divide = present(call.kernel.divided, call.node.where, "cannot be divided")
    given = _given(schedule.graph, call.node)
    made = divide(call.node.op, _values(schedule.graph, given), banks)
    return made, {name: f"{given[name]}_rest" for name in made.constants}


def _named(constant: str, made: DividedOp, element: str) -> dict[str, Array]:
    """Banks as the elements that the last operand has."""
    return {f"{constant}_{number}": bank.view(element) for number, bank in enumerate(made.further, 1)}


def _reading(node: Node, made: DividedOp, names: Mapping[str, str], banks: Mapping[str, Array]) -> Node:
    inputs = (names.get(name, tensor) for name, tensor in node.operands().items())
    return replace(node, op=made.op, inputs=(*inputs, *banks))


def _with_nodes(placed: Allocation, changed: Mapping[str, Node], added: Mapping[str, Array]) -> Allocation:
    """Offsets stay what they are: constants have none."""
    graph = placed.mapped.graph
    nodes = tuple(changed.get(node.key, node) for node in graph.nodes)
    read = {name for node in nodes for name in node.inputs}
    unread = graph.constants.keys() - read - set(graph.outputs) if changed else set[str]()
    constants = {name: values for name, values in graph.constants.items() if name not in unread} | dict(added)
    types = {name: kind for name, kind in graph.types.items() if name not in unread}
    types |= {name: type_of(values) for name, values in added.items()}
    homes = {name: home for name, home in placed.homes.items() if name not in unread}
    homes |= {name: Home(CONSTANT, name) for name in added}
    made = replace(graph, nodes=nodes, constants=constants, types=types)
    return replace(placed, homes=homes, mapped=replace(placed.mapped, graph=made))
