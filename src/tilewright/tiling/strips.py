"""Layers that are computed together in strips of rows: which rows of every tensor a strip makes, keeps and reads.

No row is made twice: rows of one strip that the next one reads too are kept; unless strips are to be independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.ir.affine import Affine, Span, clip
from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import infer
from tilewright.ir.types import Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class RowLayer:
    """A layer whose result is made some rows at a time."""

    node: Node
    axis: int
    """Of the result, along which its rows lie."""
    loop: str
    """That runs over them."""
    operands: Mapping[str, int]
    """The operator's names of operands that it needs some rows of -> the axis along which they lie."""
    adds_up: bool = False
    """Whether its result has no rows, and is the sum of what it makes of some rows of its operands at a time."""


@dataclass(frozen=True)
class StripRows:
    """What a layer does in one strip, in rows of its result; those kept come right before those made."""

    kept: Span
    made: Span
    reads: Mapping[str, Span]
    """Rows of operands that those made need."""

    @property
    def makes(self) -> bool:
        return self.made[0] < self.made[1]

    @property
    def keeps(self) -> bool:
        return self.kept[0] < self.kept[1]


@dataclass(frozen=True)
class StripPlan:
    layers: tuple[RowLayer, ...]
    """In their order; the last one makes what others need."""
    strips: tuple[Mapping[str, StripRows], ...]
    """By the results' names; a layer of which a strip needs nothing has no part in it."""


def row_layers(graph: Graph, nodes: Sequence[Node], axis: int) -> tuple[RowLayer, ...] | None:
    """The layers with rows along an axis of the last one's result; None where one of them needs more than rows of
    another, or where rows would lie along different axes."""
    made = {node.key for node in nodes}
    axes = {nodes[-1].key: axis}
    found: list[RowLayer] = []
    for node in reversed(nodes):
        layer = row_layer(graph, node, axes[node.key]) if node.key in axes else None
        if layer is None:
            return None
        for operand, tensor in node.operands().items():
            along = layer.operands.get(operand)
            if tensor in made and (along is None or axes.setdefault(tensor, along) != along):
                return None
        found.append(layer)
    return tuple(reversed(found))


def row_layer(graph: Graph, node: Node, axis: int) -> RowLayer | None:
    shapes = graph.operand_shapes(node)
    if node.op.view or len(node.outputs) != 1 or not (node.op.can_be_cut or node.op.uneven):
        return None
    rows = node.op.index(shapes)[node.op.result_names(1)[0]][axis]
    loop = rows.loops[0] if rows.loops else ""
    if rows != Affine(((loop, 1),)) or loop in node.op.unsplittable(shapes):
        return None
    operands = moving(node, shapes, loop)
    return None if operands is None else RowLayer(node, axis, loop, operands)


def moving(node: Node, shapes: Shapes, loop: str) -> dict[str, int] | None:
    """The operands of which a part of a loop needs a part, and the axis of each; None where a part needs parts along
    several axes, or where parts are needed in another order."""
    if not node.op.can_be_cut:
        return _moving_by_footprint(node, shapes, loop) if loop in node.op.uneven else None
    index, found = node.op.index(shapes), dict[str, int]()
    for name in shapes:
        factors = [(at, dict(one.terms)[loop]) for at, one in enumerate(index[name]) if loop in one.loops]
        if len(factors) > 1 or any(factor < 1 for _, factor in factors):
            return None
        found |= {name: factors[0][0]} if factors else {}
    return found


def _moving_by_footprint(node: Node, shapes: Shapes, loop: str) -> dict[str, int] | None:
    """Of an operator that says itself what parts of its loops read: what the first turn and the last one read."""
    extents = node.op.extents(shapes)
    box = {name: (0, extent) for name, extent in extents.items()}
    ends = [(0, 1), (extents[loop] - 1, extents[loop])]
    first, last = (node.op.footprint(shapes, box | {loop: end}) for end in ends)
    found = dict[str, int]()
    for name in shapes:
        axes = [at for at, (one, other) in enumerate(zip(first[name], last[name], strict=True)) if one != other]
        if len(axes) > 1 or any(first[name][at] > last[name][at] for at in axes):
            return None
        found |= {name: axes[0]} if axes else {}
    return found


def carrier_of(graph: Graph, layers: Sequence[RowLayer]) -> str:
    """An operand of the last layer that its result can take the place of strip by strip, because nothing else needs it
    by then; empty if there is none."""
    last, made = layers[-1], {layer.node.key for layer in layers}
    shapes = graph.operand_shapes(last.node)
    index = last.node.op.index(shapes)
    for operand, tensor in last.node.operands().items():
        same = operand in last.operands and index[operand] == index[last.node.op.result_names(1)[0]]
        if same and graph.types[tensor] == graph.types[last.node.key] and tensor in graph.producers.keys() - made:
            others = [node.key for node in graph.consumers[tensor] if node.key != last.node.key]
            if tensor not in graph.sinks and not made & set(others) and _are_before(graph, others, layers[0].node):
                return tensor
    return ""


def _are_before(graph: Graph, keys: Sequence[str], first: Node) -> bool:
    order = {node.key: step for step, node in enumerate(graph.nodes)}
    return all(order[key] < order[first.key] for key in keys)


def plan_strips(graph: Graph, layers: Sequence[RowLayer], count: int, keeps: bool = True) -> StripPlan | None:
    """The last layer's result in `count` strips of about the same height; None if that is impossible. A plan that
    does not keep rows makes those again that two strips need: strips have nothing to do with each other then."""
    result = layers[-1]
    rows = graph.types[result.node.key].shape[result.axis]
    if count > rows:
        return None
    done: dict[str, Span] = {}
    strips = []
    for number in range(count):
        span = rows * number // count, rows * (number + 1) // count
        parts = _strip(graph, layers, span, done if keeps else {})
        if parts is None:
            return None
        strips.append(parts)
    return StripPlan(tuple(layers), tuple(strips))


def _strip(graph: Graph, layers: Sequence[RowLayer], span: Span, done: dict[str, Span]) -> dict[str, StripRows] | None:
    """From the last layer back to the first. `done` has the rows that are there of each tensor, and gets the new."""
    made = {layer.node.key for layer in layers}
    needed: dict[str, Span] = {layers[-1].node.key: span}
    parts: dict[str, StripRows] = {}
    for layer in reversed(layers):
        tensor = layer.node.key
        if tensor not in needed:
            continue
        low, high = needed[tensor]
        first, behind = done.get(tensor, (low, low))
        if low < first:
            return None
        start = min(max(behind, low), high)
        read = reads(graph, layer, (start, high)) if start < high else {}
        if read is None:
            return None
        parts[tensor] = StripRows((low, start), (start, high), read)
        done[tensor] = low, high
        for operand, rows in read.items():
            source = layer.node.operands()[operand]
            if source in made:
                old = needed.get(source, rows)
                needed[source] = min(old[0], rows[0]), max(old[1], rows[1])
    return parts


def reads(graph: Graph, layer: RowLayer, span: Span) -> dict[str, Span] | None:
    """Rows of the operands; None where all that a strip reads of one is padding, or where the operator in a strip would
    need less than all of another axis."""
    node, types = layer.node, graph.operand_types(layer.node)
    shapes = graph.operand_shapes(node)
    box = {loop: (0, extent) for loop, extent in node.op.extents(shapes).items()} | {layer.loop: span}
    seen = {
        name: [clip(axis, size) for axis, size in zip(axes, shapes[name], strict=True)]
        for name, axes in node.op.footprint(shapes, box).items()
        if name in shapes
    }
    found = {name: seen[name][axis] for name, axis in layer.operands.items()}
    if not all(low < high for low, high in found.values()):
        return None
    others = [span for name, spans in seen.items() for at, span in enumerate(spans) if at != layer.operands.get(name)]
    local = {
        name: _with_rows(kind, layer.operands[name], found[name]) if name in found else kind
        for name, kind in types.items()
    }
    kind = graph.types[node.key]
    wanted = kind if layer.adds_up else _with_rows(kind, layer.axis, span)
    if any(start for start, _ in others) or infer(node.op.at(shapes, box), local) != (wanted,):
        return None
    return found


def _with_rows(kind: TensorType, axis: int, span: Span) -> TensorType:
    return TensorType(kind.dtype, (*kind.shape[:axis], span[1] - span[0], *kind.shape[axis + 1 :]))
