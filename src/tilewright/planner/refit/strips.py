"""Which layers are computed together in strips of rows.

Where RAM counts more than cycles, whatever lies around the step with the most bytes alive is tried, for as long as that
makes the arena smaller. Where cycles count more, only what costs next to none: a layer and the sum behind it that takes
the place of its other operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import TensorType
from tilewright.memory.allocator import Buffer
from tilewright.passes.aliasing import home_of, in_place_owners, view_owners
from tilewright.passes.fit.strips import in_strips
from tilewright.planner.arena.allocation import (
    allocate,
    arena_problem,
    input_buffers,
    state_buffers,
    tensor_buffers,
)
from tilewright.planner.arena.board_regions import arena_capacities, beside_arena, room
from tilewright.planner.arena.cycles import mapped_cycles
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped, as_chosen, map_nodes
from tilewright.target.memory import STACK, holding
from tilewright.target.runner import CYCLES
from tilewright.target.target import Target
from tilewright.tiling.strips import RowLayer, StripPlan, carrier_of, plan_strips, row_layers

CALL_BYTES = 20
"""Of RAM that a call must save: it takes about 160 bytes of flash, and chips have eight times as much flash as RAM."""
COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
"""Numbers of strips that are tried."""
MOST_LAYERS = 24
"""Of those computed together."""
EXCHANGE = 5
"""Per cent of the arena that a per cent of cycles must save where RAM does not count more."""
MOST_TRIED, MOST_MAPPED, MOST_ROUNDS = 48, 16, 4
"""Groups of layers that are tried in a round; those of them that kernels are found for; rounds."""
MOST_OUTLINES = 4 * MOST_ROUNDS
"""Graphs whose strips are remembered."""


@dataclass(frozen=True)
class Group:
    """Layers that might be computed together."""

    layers: tuple[RowLayer, ...]
    bound: int
    """The arena cannot get smaller than this by it."""


@dataclass(frozen=True)
class Outline:
    """What of a graph the strips of its layers follow from: all but the values of its constants."""

    nodes: tuple[Node, ...]
    types: tuple[tuple[str, TensorType], ...]
    ends: tuple[tuple[str, ...], ...]
    """Names of inputs, outputs, states and constants."""


@dataclass(frozen=True)
class Sketch:
    """Layers in strips, before any target's kernels are looked at."""

    plan: StripPlan
    score: int
    """Without kernels."""
    said: str


@dataclass(frozen=True)
class Stripped:
    """A graph with strips, and what it costs."""

    graph: Graph
    score: float
    """Bytes of the arena, and CALL_BYTES for every node; times the price of its cycles where they count."""
    said: str


def with_strips(graph: Graph, target: Target, cheap: bool = False) -> Graph:
    """The graph with layers in strips wherever that takes bytes off the arena, or where it has to be cheap, many for
    every cycle; a note says what that costs."""
    before = _mapped(graph, target)
    found, kept, said = graph, {node.key for node in graph.nodes}, []
    score: float = _score(before)
    cycles = mapped_cycles(before) if cheap else None
    for _ in range(MOST_ROUNDS):
        best = _best(found, target, kept, score, cycles)
        if best is None:
            break
        found, score = best.graph, best.score
        kept &= {node.key for node in found.nodes if node in graph.nodes}
        said.append(best.said)
    return replace(found, notes=(*found.notes, _note(before, _mapped(found, target), said))) if said else graph


def _note(before: Mapped, after: Mapped, said: Sequence[str]) -> str:
    bytes_ = f"the arena needs {peak_bytes(after)} bytes instead of {peak_bytes(before)}"
    calls = len(after.graph.nodes) - len(before.graph.nodes)
    cycles = mapped_cycles(after) / max(mapped_cycles(before), 1)
    price = f", {cycles:.2f} times the cycles (predicted)" if predicts_cycles(before.target) else ""
    return f"in strips of rows: {'; '.join(said)}: {bytes_}, for {calls} more calls{price}"


def predicts_cycles(target: Target) -> bool:
    """Whether a layer's cycles are known before it runs."""
    return target.runner.unit == CYCLES and bool(target.costs.kernels)


def peak_bytes(mapped: Mapped) -> int:
    """The most bytes alive at once, with the working memory of kernels; hardly ever do offsets need more."""
    return max(_live_of(mapped), default=0)


def fits_board(graph: Graph, target: Target) -> bool:
    """Whether the RAM holds the network as it is; where the caller provides it, it does."""
    rams = holding(target.memories, STACK)
    if not rams:
        return True
    mapped = _mapped(graph, target)
    ram = max(map(room, rams)) - sum(beside_arena(target, graph).values())
    # Where there is plenty, offsets tell nothing more.
    if 2 * peak_bytes(mapped) < ram:
        return True
    found = allocate(mapped)
    capacities = arena_capacities(found.mapped.target, graph, found.inputs)
    return all(part.bytes <= capacities[part.memory] for part in found.parts)


def _mapped(graph: Graph, target: Target) -> Mapped:
    return as_chosen(map_nodes(graph, target))


def _score(mapped: Mapped) -> int:
    return peak_bytes(mapped) + CALL_BYTES * len(mapped.graph.nodes)


def _with_inputs(mapped: Mapped) -> int:
    """Bytes of the arena, and where inputs are in the same memory, those of inputs that it has no room for."""
    problem, graph = arena_problem(mapped), mapped.graph
    inputs = input_buffers(graph, view_owners(graph)) if holding(mapped.target.memories, STACK) else []
    alone, shared = (
        max(_live(one, len(graph.nodes), problem.alignment)) for one in (problem.buffers, (*problem.buffers, *inputs))
    )
    return alone if shared <= alone else alone + sum(buffer.bytes for buffer in inputs)


def _live_of(mapped: Mapped) -> list[int]:
    problem = arena_problem(mapped)
    return _live(problem.buffers, len(mapped.graph.nodes), problem.alignment)


def _live(buffers: Sequence[Buffer], steps: int, unit: int = 1) -> list[int]:
    """Bytes alive at every step, and behind the last one."""
    change = [0] * (steps + 2)
    for buffer in buffers:
        taken = -(-buffer.bytes // unit) * unit
        change[buffer.first] += taken
        change[buffer.last + 1] -= taken
    live, total = [], 0
    for step in range(steps + 1):
        total += change[step]
        live.append(total)
    return live


def _estimate(graph: Graph) -> int:
    """The score without kernels."""
    tensors = tensor_buffers(graph, in_place_owners(graph, view_owners(graph)))
    return max(_live([*state_buffers(graph), *tensors], len(graph.nodes))) + CALL_BYTES * len(graph.nodes)


# ---- candidates -----------------------------------------------------------------------------------------------------


def _best(graph: Graph, target: Target, kept: set[str], score: float, cycles: int | None) -> Stripped | None:
    """The best of the groups around the peak, if it is better than `score` and needs no more with its inputs. With the
    cycles of the graph without strips, only what is cheap."""
    tried: list[Sketch] = []
    least, before = score, _mapped(graph, target)
    live, most, known = _live_of(before), _with_inputs(before), _known_sketches(_outline(graph))
    for group in islice(_groups(graph, kept, live), MOST_TRIED):
        if group.bound >= least:
            break
        if cycles is not None and not _is_cheap(graph, group):
            continue
        found = _sketches(graph, group, known)
        tried += found if cycles is not None else found[:1]
        least = min([least, *(one.score for one in found)])
    ready = []
    for one in sorted(tried, key=lambda one: one.score)[:MOST_MAPPED]:
        made = in_strips(graph, one.plan)
        mapped = _mapped(made, target)
        if _with_inputs(mapped) <= most:
            ready.append(Stripped(made, _score(mapped) * _price(mapped, cycles), one.said))
    chosen = min(ready, key=lambda one: one.score, default=None)
    return chosen if chosen is not None and chosen.score < score else None


def _price(mapped: Mapped, cycles: int | None) -> float:
    """What bytes are worth after more cycles than there were, if that counts."""
    return 1.0 if cycles is None else (mapped_cycles(mapped) / max(cycles, 1)) ** EXCHANGE


def _is_cheap(graph: Graph, group: Group) -> bool:
    """A layer, and one that takes the place of its other operand: no row is needed twice."""
    return len(group.layers) == 2 and bool(carrier_of(graph, group.layers))


def _outline(graph: Graph) -> Outline:
    states = (name for state in graph.states for name in (state.before, state.after))
    ends = (graph.inputs, graph.outputs, tuple(states), tuple(graph.constants))
    return Outline(graph.nodes, tuple(graph.types.items()), ends)


@lru_cache(maxsize=MOST_OUTLINES)
def _known_sketches(outline: Outline) -> dict[tuple[str, str], list[Sketch]]:
    """Those of a graph, by the first and the last layer of a group: another board may ask for the same."""
    return {}


def _sketches(graph: Graph, group: Group, known: dict[tuple[str, str], list[Sketch]]) -> list[Sketch]:
    """A group in more and more strips, the smallest arena first."""
    ends = group.layers[0].node.key, group.layers[-1].node.key
    if ends not in known:
        known[ends] = sorted(_in_counts(graph, group), key=lambda one: one.score)
    return known[ends]


def _in_counts(graph: Graph, group: Group) -> Iterator[Sketch]:
    """In more and more strips, for as long as that helps."""
    last, least = group.layers[-1], 1 << 62
    names = f"{graph.short_name(group.layers[0].node)} to {graph.short_name(last.node)}"
    for count in COUNTS:
        plan = plan_strips(graph, group.layers, count)
        if plan is None:
            continue
        score = _estimate(in_strips(graph, plan))
        if score >= least:
            break
        least = score
        yield Sketch(plan, score, f"{len(group.layers)} layers, {names}, in {count}")


def _groups(graph: Graph, kept: set[str], live: Sequence[int]) -> Iterator[Group]:
    """Layers around the peak, in their order, by the least that the arena would still need."""
    peak = max(range(len(live)), key=live.__getitem__)
    found = []
    for first in range(max(peak - MOST_LAYERS, 0), peak + 1):
        for last in range(max(peak, first + 1), min(first + MOST_LAYERS, len(graph.nodes))):
            nodes = graph.nodes[first : last + 1]
            if any(node.key not in kept for node in nodes) or not closed(graph, nodes):
                continue
            bound = max([*live[:first], *live[last + 1 :], _around(graph, nodes)])
            found.append((bound, first, last))
    for bound, first, last in sorted(found):
        layers = rows_of(graph, graph.nodes[first : last + 1])
        if layers is not None:
            yield Group(layers, bound)


def closed(graph: Graph, nodes: Sequence[Node]) -> bool:
    """Whether others need only what the last node makes."""
    inside = {node.key for node in nodes}
    return all(
        name not in graph.sinks and all(reader.key in inside for reader in graph.consumers.get(name, ()))
        for node in nodes[:-1]
        for name in node.outputs
    )


def _around(graph: Graph, nodes: Sequence[Node]) -> int:
    """Bytes of what the nodes need whole: operands from elsewhere, and the last result if it may need a place of its
    own."""
    made = {node.key for node in nodes}
    whole = {name for node in nodes for name in node.inputs if name and name not in made}
    if graph.types[nodes[-1].key] not in [graph.types[name] for name in nodes[-1].inputs if name in whole]:
        whole.add(nodes[-1].key)
    return sum(graph.types[name].bytes for name in whole if home_of(graph, name) == "arena")


def rows_of(graph: Graph, nodes: Sequence[Node]) -> tuple[RowLayer, ...] | None:
    """The layers with rows along the first axis that allows it."""
    shape = graph.types[nodes[-1].key].shape
    found = (row_layers(graph, nodes, axis) for axis, size in enumerate(shape) if size > 1)
    return next((layers for layers in found if layers is not None), None)
