"""Rewrites of the graph. A pass states what it requires and what it ensures; the graph is verified in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.ir import Graph, verify


def nothing(graph: Graph) -> None:
    """No condition."""


@dataclass(frozen=True)
class Pass:
    name: str
    run: Callable[[Graph], Graph]
    requires: Callable[[Graph], None] = nothing
    ensures: Callable[[Graph], None] = nothing


def apply(graph: Graph, passes: tuple[Pass, ...]) -> Graph:
    for step in passes:
        step.requires(graph)
        graph = verify(step.run(graph))
        step.ensures(graph)
    return graph
