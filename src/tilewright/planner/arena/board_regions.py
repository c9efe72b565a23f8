"""What of a board's memories a network is put into: what lies beside its arena, and the memory that holds both."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tilewright.errors import present
from tilewright.ir.graph import Graph
from tilewright.target.memory import ARENA, STACK, Memory, holding
from tilewright.target.target import Target

RAM_SECTION = ".ram"
"""Of the linker script: arrays in the memory that has the stack."""

MOST_ARENAS = 8
"""Memories that parts of the arena may lie in."""


def beside_arena(target: Target, graph: Graph, inside: Collection[str] = ()) -> dict[str, int]:
    """Bytes of what changes besides the arena, by what they are for; inputs that are `inside` of it are not among them.
    All of that is in one memory."""
    variables = holding(target.memories, STACK)[0].reserved
    return {
        "inputs and outputs": io_bytes(graph, inside), "the stack": target.agents.stack,
        "variables of the program": variables,
    }  # fmt: skip


def io_bytes(graph: Graph, inside: Collection[str] = ()) -> int:
    """Of inputs and outputs, which are the caller's, but for inputs inside the arena."""
    return sum(graph.types[name].bytes for name in {*graph.inputs, *graph.outputs}.difference(inside))


def with_fitting_ram(target: Target, graph: Graph, arena: int, inside: Collection[str] = ()) -> Target:
    """The target with the memory first that everything which changes is put into: the first that holds it, or else the
    largest. Where no memory says what it holds, the caller's has the arena."""
    found = holding(target.memories, STACK)
    if not found:
        return target
    needed = arena + sum(beside_arena(target, graph, inside).values())
    fitting = [memory for memory in found if needed <= room(memory)]
    return starting_with(target, fitting[0] if fitting else max(found, key=room))


def starting_with(target: Target, first: Memory) -> Target:
    others = [memory for memory in target.memories if memory.name != first.name]
    return replace(target, memories=(replace(first, section=RAM_SECTION), *others))


def room(memory: Memory) -> int:
    return present(memory.bytes, f"memory {memory.name}", "has no size")


def arena_capacities(target: Target, graph: Graph, inside: Collection[str] = ()) -> dict[str, int]:
    """How many bytes of the arena each memory may hold; the first one has the stack and all else besides."""
    found = holding(target.memories, ARENA)[:MOST_ARENAS]
    if not found:
        return {}
    first, *others = found
    left = room(first) - sum(beside_arena(target, graph, inside).values())
    return {first.name: left} | {memory.name: room(memory) for memory in others}
