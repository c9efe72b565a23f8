"""Layers of the NPU and of the core that are computed together in strips of rows, so that what one hands to the other
never exists whole.

Vela works strip by strip inside a part. Here are strips across parts: rows that two of them need are made twice, and a
strip depends on no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import accumulate, islice

from tilewright.ir.graph import Graph, Node
from tilewright.ops.placerows import PlaceRows
from tilewright.passes.aliasing import home_of, in_place_owners, view_owners
from tilewright.passes.fit.strips import in_strips
from tilewright.records import dataclass
from tilewright.targets.ethos_u.cutting import Part, Reasons, in_turn, parts_of
from tilewright.tiling.strips import RowLayer, plan_strips, row_layers

COUNTS = (2, 3, 4, 6, 8, 12, 16, 24)
"""Numbers of strips that are tried."""
MOST_LAYERS = 24
"""Of those computed together."""
CALL_BYTES = 64
"""Of RAM that another call must save: a job and its copies take cycles, and up to three streams flash."""
MOST_GROUPS, MOST_SKETCHES = 16, 2
"""Groups of layers that are estimated, and sketches that Vela is asked for."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A graph in strips, before Vela has seen it."""

    graph: Graph
    strips: Set[str]
    """Nodes with which strips begin, and whatever follows the last one."""
    bytes: int
    """Alive at once, as far as is known without Vela, and CALL_BYTES for each node."""
    said: str


def bytes_alive(graph: Graph, nodes: Sequence[Node], parts: Sequence[Part], arenas: Sequence[int]) -> int:
    """The most at a time, of nodes in their turn; parts need arenas of so many bytes besides their ends."""
    part_of = {node.key: number for number, part in enumerate(parts) for node in part.nodes}
    turns = dict[str, int]()
    for node in nodes:
        number = part_of.get(node.key)
        first = node.key if number is None else parts[number].nodes[0].key
        turns[node.key] = turns.setdefault(first, len(turns))
    change = [0] * (len(nodes) + 2)
    for owner, (begin, end) in _lives(graph, turns).items():
        if begin < end or owner in graph.sinks or owner not in graph.producers:
            change[begin] += graph.types[owner].bytes
            change[end + 1] -= graph.types[owner].bytes
    alive = list(accumulate(change))
    for part, size in zip(parts, arenas, strict=True):
        alive[turns[part.nodes[0].key]] += size
    return max(alive, default=0)


def _lives(graph: Graph, turns: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """First and last turns of what lies in the arena; what a part keeps to itself has one turn."""
    owners, found = in_place_owners(graph, view_owners(graph)), dict[str, tuple[int, int]]()
    for name in graph.types:
        if name in graph.constants or home_of(graph, owners[name]) == "constant":
            continue
        made = turns[graph.producers[name].key] if name in graph.producers else 0
        read = [turns[node.key] for node in graph.consumers.get(name, ())]
        last = max([made, *read, *([len(turns)] if name in graph.sinks else [])])
        before = found.get(owners[name], (made, last))
        found[owners[name]] = min(before[0], made), max(before[1], last)
    return found


def sketches(graph: Graph, on_core: Reasons, strips: Set[str], most: int) -> list[Sketch]:
    """Groups with layers of both, in strips, that need the fewest bytes, and at most so many."""
    found = [one for group in islice(_groups(graph, on_core, strips), MOST_GROUPS)
             for one in _in_counts(graph, on_core, strips, group)]  # fmt: skip
    return sorted((one for one in found if one.bytes <= most), key=lambda one: one.bytes)[:MOST_SKETCHES]


def _groups(graph: Graph, on_core: Reasons, strips: Set[str]) -> Iterator[tuple[RowLayer, ...]]:
    """Those that leave the fewest bytes whole come first."""
    found = []
    for first in range(len(graph.nodes)):
        for behind in range(first + 2, min(first + MOST_LAYERS, len(graph.nodes)) + 1):
            nodes = graph.nodes[first:behind]
            if _is_mixed(graph, nodes, on_core) and _is_closed(graph, nodes) and strips.isdisjoint(_keys(nodes)):
                found.append((_saved(graph, nodes), first, behind))
    for saved, first, behind in sorted(found, reverse=True):
        layers = _rows_of(graph, graph.nodes[first:behind])
        if saved > 0 and layers is not None:
            yield layers


def _keys(nodes: Sequence[Node]) -> set[str]:
    return {node.key for node in nodes}


def _is_mixed(graph: Graph, nodes: Sequence[Node], on_core: Reasons) -> bool:
    """With the core between layers, or before or behind one; strips that are there are left alone."""
    has_layer = any(node.key not in on_core and graph.macs(node) for node in nodes)
    has_core = any(node.key in on_core and not node.op.view for node in nodes)
    return has_layer and has_core and not any(isinstance(node.op, PlaceRows) for node in nodes)


def _is_closed(graph: Graph, nodes: Sequence[Node]) -> bool:
    """Whether others need only what the last node makes."""
    inside = _keys(nodes)
    return all(
        name not in graph.sinks and all(reader.key in inside for reader in graph.consumers.get(name, ()))
        for node in nodes[:-1]
        for name in node.outputs
    )


def _saved(graph: Graph, nodes: Sequence[Node]) -> int:
    """Bytes of the largest tensors between nodes, beyond what has to be whole."""
    made = _keys(nodes)
    whole = {name for node in nodes for name in node.inputs if name and name not in made | graph.constants.keys()}
    ends = sum(graph.types[name].bytes for name in {*whole, nodes[-1].key})
    most = max(sum(graph.types[name].bytes for name in {*node.inputs, node.key} - graph.constants.keys() - {""})
               for node in nodes)  # fmt: skip
    return most - ends


def _rows_of(graph: Graph, nodes: Sequence[Node]) -> tuple[RowLayer, ...] | None:
    """The layers with rows along the first axis that allows it."""
    shape = graph.types[nodes[-1].key].shape
    found = (row_layers(graph, nodes, axis) for axis, size in enumerate(shape) if size > 1)
    return next((layers for layers in found if layers is not None), None)


def _in_counts(graph: Graph, on_core: Reasons, strips: Set[str], layers: Sequence[RowLayer]) -> Iterator[Sketch]:
    """In more and more strips, for as long as that helps."""
    least, named = 1 << 62, f"{layers[0].node.name} to {layers[-1].node.name}"
    for count in COUNTS:
        plan = plan_strips(graph, layers, count, keeps=False)
        if plan is None:
            continue
        made = in_strips(graph, plan)
        starts = strips | _starts(graph, made)
        size = _estimated(graph, on_core, made, starts) + CALL_BYTES * len(made.nodes)
        if size >= least:
            return
        least = size
        said = f"{len(layers)} layers of NPU and core, {named}, in {count} strips of rows"
        yield Sketch(made, starts, size, said)


def _starts(before: Graph, made: Graph) -> set[str]:
    """The first of the nodes that are new, and those that follow a strip."""
    new = [number for number, node in enumerate(made.nodes) if node.key not in before.producers]
    ends = [number for number, node in enumerate(made.nodes[:-1]) if isinstance(node.op, PlaceRows)]
    return {made.nodes[number].key for number in (*new[:1], *(end + 1 for end in ends))}


def _estimated(before: Graph, on_core: Reasons, made: Graph, starts: Set[str]) -> int:
    """A node in strips is computed where it is computed whole, and a part needs what its nodes need."""
    stays = {(node.name, node.op.kind) for node in before.nodes if node.key in on_core}
    known = {(node.name, node.op.kind) for node in before.nodes}
    core = {node.key: "" for node in made.nodes
            if (node.name, node.op.kind) in stays or (node.name, node.op.kind) not in known}  # fmt: skip
    parts = parts_of(made, core, starts)
    arenas = [_arena(made, part) for part in parts]
    return bytes_alive(made, in_turn(made, core, starts), parts, arenas)


def _arena(graph: Graph, part: Part) -> int:
    """Of tensors that are alive while the nodes of a part run one after the other."""
    order = {node.key: turn for turn, node in enumerate(part.nodes)}
    change = [0] * (len(order) + 2)
    for name in (*part.inputs, *order):
        last = max((order[node.key] for node in graph.consumers.get(name, ()) if node.key in order), default=0)
        last = len(order) if name in part.results else max(last, order.get(name, 0))
        change[order.get(name, 0)] += graph.types[name].bytes
        change[last + 1] -= graph.types[name].bytes
    return max(accumulate(change), default=0)
