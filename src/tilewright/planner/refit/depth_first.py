"""Layers that a computer computes together in strips of rows, so that what is between them stays in the level-2 cache:
those where the cost model says that it pays.

What streams through a processor is fetched ahead, and costs next to nothing. Layers with windows, which read several
rows for one line of channels after the other, wait for what left the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import TensorType
from tilewright.passes.fit.strips import in_strips
from tilewright.planner.refit.strips import closed, rows_of
from tilewright.records import dataclass
from tilewright.target.caches import Caches
from tilewright.target.target import Target
from tilewright.tiling.strips import RowLayer, StripPlan, plan_strips

MOST_LAYERS = 4
"""Of those computed together."""
COUNTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64)
"""Numbers of strips that are tried."""
ROOM = 0.6
"""The part of the cache that a layer's rows may take: its weights and its working memory need some as well."""
LINE = 64
"""Bytes. Pixels that are no longer are read in the order in which they lie."""
MOST_MACS = 16
"""For each byte that is read: layers that compute more with it do not wait for it."""
CALL = 4000.0
"""Nanoseconds that a layer takes longer for each strip, with rows around it and blocks that are not full; measured on a
Neoverse-N1."""
COPY = 0.05
"""Nanoseconds for each byte of rows that are kept from one strip to the next."""
SURE = 2.0
"""How many times what it costs a group must save: neither is known well."""


@dataclass(frozen=True)
class Fused:
    """Layers that are worth it."""

    first: int
    plan: StripPlan
    kept_bytes: int
    """Between them, which stay in the cache."""
    gain: float
    """Nanoseconds, predicted."""

    @property
    def behind(self) -> int:
        """The number of the node behind the last one."""
        return self.first + len(self.plan.layers)

    def note(self, graph: Graph) -> str:
        first, last = (graph.short_name(layer.node) for layer in (self.plan.layers[0], self.plan.layers[-1]))
        what = f"{len(self.plan.layers)} layers, {first} to {last}, in {len(self.plan.strips)} strips"
        gain = f"saves {self.gain / 1e3:,.0f} us (predicted)"
        return f"depth first: {what}: {self.kept_bytes:,} bytes stay in the cache, {gain}"


def depth_first(graph: Graph, target: Target) -> Graph:
    """The graph with layers in strips where that is predicted to be faster; notes say what each group saves."""
    chosen = fused_layers(graph, target)
    notes = [fused.note(graph) for fused in chosen]
    for fused in chosen:
        graph = in_strips(graph, fused.plan, joined=True)
    return replace(graph, notes=(*graph.notes, *notes)) if chosen else graph


def fused_layers(graph: Graph, target: Target) -> list[Fused]:
    """Groups that have no layer in common and save most together."""
    caches = target.work_memory.caches
    if caches is None or target.agents.threads > 1:
        return []
    best: list[tuple[float, list[Fused]]] = [(0.0, [])]
    ending: dict[int, list[Fused]] = {}
    for fused in _candidates(graph, caches):
        ending.setdefault(fused.behind, []).append(fused)
    for behind in range(1, len(graph.nodes) + 1):
        options = [best[-1]]
        for fused in ending.get(behind, ()):
            gain, others = best[fused.first]
            options.append((gain + fused.gain, [*others, fused]))
        best.append(max(options, key=lambda option: option[0]))
    return best[-1][1]


def _candidates(graph: Graph, caches: Caches) -> Iterator[Fused]:
    for first in range(len(graph.nodes)):
        for last in range(first + 1, min(first + MOST_LAYERS, len(graph.nodes))):
            nodes = graph.nodes[first : last + 1]
            between = [name for node in nodes[:-1] for name in node.outputs if name]
            saved = sum(_traffic(graph, name, caches) for name in between)
            if not saved or not closed(graph, nodes) or (layers := rows_of(graph, nodes)) is None:
                continue
            plan = _plan(graph, layers, caches)
            if plan is not None and (price := _price(graph, plan)) * SURE < saved:
                yield Fused(first, plan, sum(graph.types[name].bytes for name in between), saved - price)


def _traffic(graph: Graph, tensor: str, caches: Caches) -> float:
    """Nanoseconds that are waited for a tensor which is written whole and read again after that."""
    kind = graph.types[tensor]
    readers = [node for node in graph.consumers.get(tensor, ()) if _waits(graph, node, tensor)]
    if not readers or kind.bytes * kind.shape[-1] // kind.elements <= LINE:
        return 0.0
    return 2 * kind.bytes * caches.price(round(kind.bytes / ROOM))


def _waits(graph: Graph, node: Node, tensor: str) -> bool:
    """Whether a layer reads several rows of a tensor for one of its result, and does little with them."""
    if node.op.view or not node.op.reductions(graph.operand_shapes(node)):
        return False
    if graph.macs(node) > MOST_MACS * graph.types[tensor].bytes:
        return False
    index = node.op.index(graph.operand_shapes(node))
    return any(len(axis.loops) > 1 for name, read in node.operands().items() if read == tensor for axis in index[name])


def _plan(graph: Graph, layers: Sequence[RowLayer], caches: Caches) -> StripPlan | None:
    """In as few strips as keep what a layer reads and makes in the cache."""
    room = ROOM * caches.private.bytes
    largest = max(graph.types[layer.node.key].bytes for layer in layers)
    for count in COUNTS:
        plan = plan_strips(graph, layers, count) if largest / room < count else None
        if plan is not None and _most_bytes(graph, plan) <= room:
            return plan
    return None


def _most_bytes(graph: Graph, plan: StripPlan) -> int:
    """That a layer reads and makes in a strip."""
    most = 0
    for parts in plan.strips:
        for layer in plan.layers:
            if (part := parts.get(layer.node.key)) is not None:
                spans = [(layer.node.key, layer.axis, (part.kept[0], part.made[1]))]
                operands = layer.node.operands()
                spans += [(operands[name], layer.operands[name], span) for name, span in part.reads.items()]
                most = max(most, sum(_bytes(graph.types[name], axis, b - a) for name, axis, (a, b) in spans))
    return most


def _bytes(kind: TensorType, axis: int, rows: int) -> int:
    return kind.bytes // kind.shape[axis] * rows


def _price(graph: Graph, plan: StripPlan) -> float:
    """Nanoseconds of calls that there were not before, and of rows that are kept."""
    made = [(layer, parts[layer.node.key]) for parts in plan.strips for layer in plan.layers if layer.node.key in parts]
    calls = sum(part.makes for _, part in made) - len(plan.layers)
    kept = [
        _bytes(graph.types[one.node.key], one.axis, part.kept[1] - part.kept[0]) for one, part in made if part.keeps
    ]
    return calls * CALL + sum(kept) * COPY
