"""The first layers of a step in strips of rows, on the way forward and on the way back: their activations and
gradients, the largest of most networks, never exist whole.

Forward, strips make one activation, and nothing in front of it is kept. Where the way back needs that, strips compute
it again from the step's inputs, take the gradients through the same rows, and add up those of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ir.unused import drop_unused
from tilewright.ops.add import Add
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.reducesum import ReduceSum
from tilewright.passes.fit.strips import Strips
from tilewright.records import dataclass
from tilewright.tiling.strips import RowLayer, StripPlan, StripRows, plan_strips, row_layers
from tilewright.tiling.summed_strips import plan_summed_strips, summed_layers
from tilewright.training.recompute import Recomputing


@dataclass(frozen=True)
class Front:
    """The layers up to an activation, and their way back."""

    graph: Graph
    """With copies of what the way back reads, in front of it."""
    forward: tuple[Node, ...]
    back: tuple[Node, ...]
    """The copies, and what has rows of them or adds these up."""


def is_sum(node: Node) -> bool:
    """Whether it may be added up of what it makes of some rows at a time."""
    return isinstance(node.op, ConvWeightGrad | ReduceSum)


def in_front_strips(known: Recomputing, activation: str, count: int) -> Graph | None:
    """The step with everything before an activation in this number of strips; None if that is impossible."""
    front = front_of(known, activation)
    if front is None:
        return None
    sums = {node.key for node in front.back if is_sum(node)}
    graph, axes = front.graph, range(len(front.graph.types[activation].shape))
    for axis in (axis for axis in axes if graph.types[activation].shape[axis] > 1):
        ahead, behind = row_layers(graph, front.forward, axis), summed_layers(graph, front.back, sums, axis)
        first = None if ahead is None else plan_strips(graph, ahead, min(count, graph.types[activation].shape[axis]))
        second = None if behind is None else plan_summed_strips(graph, behind, count)
        if first is not None and second is not None:
            return _emitted(graph, first, second)
    return None


def front_of(known: Recomputing, activation: str) -> Front | None:
    """None where others than the way back read what is in front of the activation."""
    graph = known.graph
    forward = _ancestors(graph, activation)
    inner = {node.key for node in forward} - {activation}
    if any(len(node.outputs) != 1 or node.op.view for node in forward) or inner & set(graph.sinks):
        return None
    keys = {node.key for node in forward}
    readers = [node for node in graph.nodes if node.key not in keys and inner.intersection(node.inputs)]
    if not readers or any(node.key in known.forward for node in readers):
        return None
    back = _way_back(known, readers)
    return None if back is None else _with_copies(graph, forward, back, inner)


def _ancestors(graph: Graph, tensor: str) -> list[Node]:
    needed, found = {tensor}, list[Node]()
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(filter(None, node.inputs))
            found.append(node)
    return found[::-1]


def _way_back(known: Recomputing, readers: Sequence[Node]) -> list[Node] | None:
    """All nodes with rows behind those that read the front's activations, to the sums; and those before them whose
    results only they read, and are larger than what these are made of."""
    graph, found, waiting = known.graph, dict[str, Node](), list(readers)
    while waiting:
        node = waiting.pop()
        if node.key in found:
            continue
        if len(node.outputs) != 1 or node.key in graph.sinks or node.key in known.forward:
            return None
        found[node.key] = node
        if not is_sum(node):
            waiting += graph.consumers.get(node.key, ())
    for node in reversed(graph.nodes):
        if node.key not in found and node.key not in known.forward and _shrinks(graph, node, found):
            found[node.key] = node
    return [node for node in graph.nodes if node.key in found]


def _shrinks(graph: Graph, node: Node, found: Mapping[str, Node]) -> bool:
    readers = graph.consumers.get(node.key, ())
    if len(node.outputs) != 1 or node.key in graph.sinks or not readers or is_sum(node) or node.op.view:
        return False
    made = sum(graph.types[name].bytes for name in node.inputs if name and name not in graph.constants)
    return graph.types[node.key].bytes > made and all(reader.key in found for reader in readers)


def _with_copies(graph: Graph, forward: Sequence[Node], back: Sequence[Node], inner: set[str]) -> Front | None:
    """The way back reads copies; all of it stands in one place, behind what it needs and before what needs it."""
    needed = {name for node in back for name in node.inputs} & inner
    again = [node for node in forward if node.key in needed | _behind(forward, needed)]
    names = {node.key: f"{node.key}.front" for node in again}
    if set(names.values()) & graph.types.keys():
        return None
    copies = [_reading(replace(node, outputs=(names[node.key],)), names) for node in again]
    read = [_reading(node, names) for node in back]
    keys = {node.key for node in back}
    later = _descendants(graph, keys)
    if any(name in later for node in back for name in node.inputs):
        return None
    before = [node for node in graph.nodes if node.key not in keys | later]
    after = [node for node in graph.nodes if node.key in later]
    types = {**graph.types, **{names[node.key]: graph.types[node.key] for node in again}}
    whole = replace(graph, nodes=(*before, *copies, *read, *after), types=types)
    return Front(whole, tuple(forward), (*copies, *read))


def _reading(node: Node, names: Mapping[str, str]) -> Node:
    return replace(node, inputs=tuple(names.get(name, name) for name in node.inputs))


def _behind(forward: Sequence[Node], tensors: set[str]) -> set[str]:
    """What the tensors are made of."""
    needed = set(tensors)
    for node in reversed(forward):
        if node.key in needed:
            needed.update(node.inputs)
    return needed


def _descendants(graph: Graph, keys: set[str]) -> set[str]:
    """All that is made of what these nodes make, without them."""
    found = set(keys)
    for node in graph.nodes:
        if found.intersection(node.inputs):
            found.update(filter(None, node.outputs))
    return found - keys


def _emitted(graph: Graph, ahead: StripPlan, behind: StripPlan) -> Graph:
    first, second = ({layer.node.key for layer in plan.layers} for plan in (ahead, behind))
    builder, places = rebuild(graph), {node.key: place for place, node in enumerate(graph.nodes)}
    last = max(second, key=lambda key: places[key])
    for node in graph.nodes:
        if node.key == ahead.layers[-1].node.key:
            Strips(graph, ahead, builder).emit()
        elif node.key == last:
            SummedStrips(graph, behind, builder).emit()
        elif node.key not in first | second:
            builder.copy_node(node, graph)
    builder.copy_outputs(graph)
    return drop_unused(builder.build())


class SummedStrips(Strips):
    """Layers of which only sums leave the strips."""

    def emit(self) -> None:
        totals = dict[str, str]()
        for number, parts in enumerate(self.plan.strips):
            for layer in (layer for layer in self.plan.layers if layer.node.key in parts):
                part = parts[layer.node.key]
                if layer.adds_up:
                    self._add_up(layer, part, totals, is_last=number == self._last_part(layer))
                else:
                    self._layer(layer, part)
                self._keep_rest(number, layer)

    def _last_part(self, layer: RowLayer) -> int:
        return max(number for number, parts in enumerate(self.plan.strips) if layer.node.key in parts)

    def _add_up(self, layer: RowLayer, part: StripRows, totals: dict[str, str], is_last: bool) -> None:
        key, whole = layer.node.key, layer.node.outputs if is_last else None
        if key not in totals:
            totals[key] = self._made(layer, part, whole)
            return
        made = self._made(layer, part)
        (totals[key],) = self.builder.add(Add(), [totals[key], made], whole, layer.node.name)
