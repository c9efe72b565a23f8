"""Rewrites of the graph. A pass states what it requires and what it ensures; the graph is verified in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilewright.ir.graph import Graph, verify


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
        # Weights are data: where folding them overflows, infinity is the answer, as it would be at run time.
        with np.errstate(all="ignore"):
            graph = verify(step.run(graph))
        step.ensures(graph)
    return graph
