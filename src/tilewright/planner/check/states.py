"""A check of states, written from the definitions and without the planner's code. It always runs."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph, Node, State
from tilewright.memory.allocator import Problem
from tilewright.planner.arena.allocation import Allocation


def check_allocation(allocation: Allocation) -> Allocation:
    """The arena, if the states are where they are kept."""
    owners = {name: home.owner for name, home in allocation.homes.items()}
    check_states(allocation.mapped.graph, owners, allocation.problem)
    return allocation


def check_states(graph: Graph, owners: Mapping[str, str], problem: Problem) -> None:
    """Raises `InternalError` unless every state has bytes of its own from the first step to behind the last, and is
    written there once, when nobody reads the old value any more."""
    buffers = {buffer.name: buffer for buffer in problem.buffers}
    for state in graph.states:
        buffer = buffers.get((state.before,))
        if buffer is None or (buffer.first, buffer.last) != (0, len(graph.nodes)):
            raise _broken(state, f"its bytes are kept for {buffer}, not for all {len(graph.nodes)} steps")
        check_state(graph, owners, state)


def check_state(graph: Graph, owners: Mapping[str, str], state: State) -> None:
    """The order of what reads and writes its bytes."""
    if owners[state.after] != state.before:
        raise _broken(state, f"its value at the end of a call is in the bytes of '{owners[state.after]}'")
    old, written = {state.before}, ""
    for node in graph.nodes:
        if node.op.view:
            old |= {node.outputs[0]} if node.inputs[0] in old else set()
            continue
        made = [name for name in node.outputs if name and owners[name] == state.before]
        if made and written:
            raise _broken(state, f"{node.where} writes over '{written}'")
        if written and old & set(node.inputs):
            raise _broken(state, f"{node.where} reads the old value, which '{written}' is written over")
        if made and old & set(node.inputs) and not _element_by_element(graph, node, made[0], old):
            raise _broken(state, f"{node.where} writes over what it still reads")
        written = made[0] if made else written
    if state.after in old and written:
        raise _broken(state, f"'{written}' is written over a value that is kept")


def _element_by_element(graph: Graph, node: Node, made: str, old: set[str]) -> bool:
    kinds = {graph.types[name] for name in node.inputs if name in old}
    read = {operand for operand, name in node.operands().items() if name in old}
    replaced = {node.op.overwrites.get(result) for result, name in node.results().items() if name == made}
    return kinds == {graph.types[made]} and (node.op.elementwise or read == replaced)


def _broken(state: State, what: str) -> InternalError:
    return InternalError(f"state '{state.name}'", what)
