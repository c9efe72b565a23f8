"""Which tensor owns the bytes of which, and the steps between which they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.ir.graph import Graph, Node
from tilewright.passes.aliasing import home_of, is_joined
from tilewright.planner.cluster import select
from tilewright.planner.home import ARENA, STATE
from tilewright.target.memory import Memory


def steps_of(graph: Graph) -> list[Node]:
    """The nodes that have something to do."""
    return [node for node in graph.nodes if not node.op.view and not is_joined(graph, node)]


def lifetimes(graph: Graph, nodes: Sequence[Node], owners: Mapping[str, str], memory: Memory) -> list[select.Tensor]:
    """Activations that own their bytes, with the first and last step that uses them."""
    spans: dict[str, tuple[int, int]] = {}
    for step, node in enumerate(nodes):
        for name in filter(None, (*node.inputs, *node.outputs)):
            first, _ = spans.get(owners[name], (step, step))
            spans[owners[name]] = first, step
    # Between two calls all else may be overwritten, states not.
    spans |= {state.before: (0, max(len(nodes) - 1, 0)) for state in graph.states}
    return [
        select.Tensor(owner, memory.whole(graph.types[owner].bytes), first, last)
        for owner, (first, last) in spans.items()
        if home_of(graph, owner) in (ARENA, STATE)
    ]


def states_of(graph: Graph) -> frozenset[str]:
    """The tensors whose bytes are kept between calls."""
    return frozenset(state.before for state in graph.states)
