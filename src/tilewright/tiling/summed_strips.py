"""Layers in strips of rows whose results are sums over all rows, as gradients of weights are: nothing that has rows
leaves them, so that no strip is kept when the next one is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tilewright.ir.affine import Affine, Span
from tilewright.ir.graph import Graph, Node
from tilewright.records import dataclass
from tilewright.tiling.strips import RowLayer, StripPlan, StripRows, moving, reads, row_layer


@dataclass(frozen=True)
class Part:
    """What a layer makes in one strip, and the rows of operands that it reads for that."""

    made: Span
    read: Mapping[str, Span]


def summed_layers(graph: Graph, nodes: Sequence[Node], sums: Collection[str], axis: int) -> tuple[RowLayer, ...] | None:
    """The layers with rows along an axis of results that only sums (by their keys) read, and these. None where one of
    them needs more than rows of another, or where others read what has rows."""
    rows = _row_layers(graph, nodes, sums, axis)
    if rows is None:
        return None
    axes = {layer.node.key: layer.axis for layer in rows}
    tried = [_sum_layer(graph, node, axes) for node in nodes if node.key in sums]
    found = [layer for layer in tried if layer is not None and _agrees(layer, axes)]
    return _with_sums_behind(graph, rows, found) if len(found) == len(tried) else None


def _row_layers(graph: Graph, nodes: Sequence[Node], sums: Collection[str], axis: int) -> list[RowLayer] | None:
    made = {node.key for node in nodes if node.key not in sums}
    axes = {key: axis for key in made if all(reader.key in sums for reader in graph.consumers.get(key, ()))}
    found: list[RowLayer] = []
    for node in (node for node in reversed(nodes) if node.key in made):
        if node.key in graph.sinks or node.key not in axes or not _is_read_inside(graph, node, nodes):
            return None
        layer = row_layer(graph, node, axes[node.key])
        if layer is None:
            return None
        for operand, along in layer.operands.items():
            tensor = node.operands()[operand]
            if tensor in made:
                axes.setdefault(tensor, along)
        if not _agrees(layer, axes):
            return None
        found.append(layer)
    return found[::-1]


def _agrees(layer: RowLayer, axes: Mapping[str, int]) -> bool:
    """Whether it needs rows of all tensors that are made in strips, along the axes along which these are."""
    return all(
        layer.operands.get(operand) == axes[tensor]
        for operand, tensor in layer.node.operands().items()
        if tensor in axes
    )


def _is_read_inside(graph: Graph, node: Node, nodes: Sequence[Node]) -> bool:
    inside = {one.key for one in nodes}
    return all(reader.key in inside for reader in graph.consumers.get(node.key, ()))


def _sum_layer(graph: Graph, node: Node, axes: Mapping[str, int]) -> RowLayer | None:
    """A sum along the loop over rows of an operand whose rows are known to lie along an axis."""
    shapes = graph.operand_shapes(node)
    if not node.op.can_be_cut:
        return None
    index, reduced = node.op.index(shapes), node.op.reductions(shapes) - node.op.unsplittable(shapes)
    known = [(name, axes[tensor]) for name, tensor in node.operands().items() if tensor in axes]
    for loop in (loop for name, axis in known for loop in index[name][axis].loops):
        if loop in reduced and any(Affine(((loop, 1),)) in index[name] for name in shapes):
            operands = moving(node, shapes, loop)
            return None if operands is None else RowLayer(node, 0, loop, operands, adds_up=True)
    return None


def pivot_of(graph: Graph, layer: RowLayer) -> str:
    """The tensor whose rows a sum adds up one by one."""
    index = layer.node.op.index(graph.operand_shapes(layer.node))
    row = Affine(((layer.loop, 1),))
    tensors = layer.node.operands()
    return next(tensors[name] for name, axis in layer.operands.items() if index[name][axis] == row)


def _with_sums_behind(graph: Graph, rows: Sequence[RowLayer], sums: Sequence[RowLayer]) -> tuple[RowLayer, ...] | None:
    """Which rows a sum adds up is known once all that reads its operand's rows is: going back, it is the last of
    these."""
    places = {layer.node.key: place for place, layer in enumerate(rows)}
    behind: dict[int, list[RowLayer]] = {}
    for layer in sums:
        latest = max(places[tensor] for tensor in layer.node.inputs if tensor in places)
        if places.get(pivot_of(graph, layer), latest) != latest:
            return None
        behind.setdefault(latest, []).append(layer)
    return tuple(one for place, layer in enumerate(rows) for one in (layer, *behind.get(place, ())))


def plan_summed_strips(graph: Graph, layers: Sequence[RowLayer], count: int) -> StripPlan | None:
    """So many strips; None where that cannot be."""
    planning = _Planning(graph, layers, count)
    strips = [planning.strip(number) for number in range(count)]
    found = [strip for strip in strips if strip is not None]
    return StripPlan(tuple(layers), tuple(_with_kept(layers, found))) if len(found) == count else None


class _Planning:
    """From the last layer back to the first, strip by strip."""

    def __init__(self, graph: Graph, layers: Sequence[RowLayer], count: int) -> None:
        self.graph, self.layers, self.count = graph, layers, count
        self.rows = {
            layer.node.key: graph.types[layer.node.key].shape[layer.axis] for layer in layers if not layer.adds_up
        }
        self.pivots = {layer.node.key: pivot_of(graph, layer) for layer in layers if layer.adds_up}
        self.wanted = {
            tensor for layer in layers for tensor in layer.node.inputs if tensor != self.pivots.get(layer.node.key)
        }
        """Tensors of which others than sums that add up their rows one by one say how many rows they need."""
        self.ends = {layer.node.key: 0 for layer in layers}
        """Up to which row each is made, or added up."""

    def strip(self, number: int) -> dict[str, Part] | None:
        wanted, parts = dict[str, int](), dict[str, Part]()
        for layer in reversed(self.layers):
            key = layer.node.key
            made = self.ends[key], self._end(key, number, wanted)
            read = reads(self.graph, layer, made) if made[0] < made[1] else {}
            if read is None:
                return None
            for operand, (_, high) in read.items():
                source = layer.node.operands()[operand]
                wanted[source] = max(wanted.get(source, 0), high)
            parts[key], self.ends[key] = Part(made, read), made[1]
        return parts

    def _end(self, key: str, number: int, wanted: Mapping[str, int]) -> int:
        """The row up to which a layer goes in a strip."""
        if key not in self.pivots:
            return self._end_of_rows(key, number, wanted)
        pivot = self.pivots[key]
        if pivot in self.rows:
            return self._end_of_rows(pivot, number, wanted)
        return self._share(self._pivot_rows(key), number)

    def _end_of_rows(self, tensor: str, number: int, wanted: Mapping[str, int]) -> int:
        if tensor not in self.wanted:
            return self._share(self.rows[tensor], number)
        is_last_sum = number + 1 == self.count and tensor in self.pivots.values()
        return self.rows[tensor] if is_last_sum else max(self.ends[tensor], wanted.get(tensor, 0))

    def _share(self, rows: int, number: int) -> int:
        return rows * (number + 1) // self.count

    def _pivot_rows(self, key: str) -> int:
        layer = next(layer for layer in self.layers if layer.node.key == key)
        return layer.node.op.extents(self.graph.operand_shapes(layer.node))[layer.loop]


def _with_kept(layers: Sequence[RowLayer], strips: Sequence[Mapping[str, Part]]) -> Iterator[dict[str, StripRows]]:
    """With the rows of strips before that this one or a later one reads."""
    lowest = [_lowest(layers, parts) for parts in strips]
    for number, parts in enumerate(strips):
        found = dict[str, StripRows]()
        for layer in layers:
            key = layer.node.key
            part = parts[key]
            first = min((low[key] for low in lowest[number:] if key in low), default=part.made[0])
            kept = (0, 0) if layer.adds_up else (min(first, part.made[0]), part.made[0])
            rows = StripRows(kept, part.made, part.read)
            if rows.makes or rows.keeps:
                found[key] = rows
        yield found


def _lowest(layers: Sequence[RowLayer], parts: Mapping[str, Part]) -> dict[str, int]:
    """The first row of every tensor that a strip reads."""
    found = dict[str, int]()
    for layer in layers:
        for operand, (low, _) in parts[layer.node.key].read.items():
            tensor = layer.node.operands()[operand]
            found[tensor] = min(found.get(tensor, low), low)
    return found
