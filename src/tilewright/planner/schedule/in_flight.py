"""Where one core waits for jobs of accelerators: as late as bytes allow, from addresses alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tilewright.ir.graph import Graph, Node
from tilewright.planner.home import ARENA, CONSTANT, Home
from tilewright.target.kernel import Kernel


class Call(Protocol):
    """What of a kernel call decides what it touches."""

    @property
    def node(self) -> Node: ...
    @property
    def engine(self) -> str: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def scratch(self) -> int | None: ...


Region = tuple[str, int, int]
"""Whose bytes, and from where to where."""


def waits(graph: Graph, calls: Sequence[Call], places: Mapping[str, Home]) -> tuple[tuple[int, ...], ...]:
    """For every call, and for the end, the submitted calls that are waited for before it: those of the same engine, and
    those that write what it touches or read what it writes."""
    found: list[tuple[int, ...]] = []
    pending: list[int] = []
    for call in calls:
        due = [i for i in pending if _conflict(graph, calls[i], call, places)]
        # An accelerator's jobs end in order.
        found.append(tuple(due))
        pending = [i for i in pending if i not in due]
        if call.kernel.offloaded:
            pending.append(len(found) - 1)
    return (*found, tuple(pending))


def _conflict(graph: Graph, before: Call, call: Call, places: Mapping[str, Home]) -> bool:
    if call.kernel.offloaded and call.engine == before.engine:
        return True
    made, read = list(_written(graph, before, places)), list(_read(graph, before, places))
    touched = [*_written(graph, call, places), *_read(graph, call, places)]
    return _meet(made, touched) or _meet(read, list(_written(graph, call, places)))


def _read(graph: Graph, call: Call, places: Mapping[str, Home]) -> Iterator[Region]:
    for name in filter(None, call.node.inputs):
        if places[name].kind != CONSTANT:
            yield _region(graph, places, name)


def _written(graph: Graph, call: Call, places: Mapping[str, Home]) -> Iterator[Region]:
    for name in filter(None, call.node.outputs):
        yield _region(graph, places, name)
    if call.scratch is not None:
        size = call.kernel.scratch_bytes(call.node.op, graph.all_types(call.node))
        yield ARENA, call.scratch, call.scratch + size


def _region(graph: Graph, places: Mapping[str, Home], name: str) -> Region:
    place, size = places[name], graph.types[name].bytes
    if place.kind == ARENA:
        return ARENA, place.offset, place.offset + size
    return place.owner, 0, 1


def _meet(some: Sequence[Region], others: Sequence[Region]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in some for b in others)
