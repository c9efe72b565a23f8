"""Parts of a tensor that are put together again: nothing is copied, and what was added to one of them is added to the
whole, with zeros for the others. PyTorch's additions in place to a part of a tensor are exported so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.pad import Pad
from tilewright.ops.slice import Slice
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

LEAST_SHARE = 0.75
"""Of an axis, to which something is added: for less, zeros for all the others take longer than to copy them."""


@dataclass(frozen=True)
class _Part:
    """Elements `first` to `end` of a tensor along an axis, with what is added to them, if anything is."""

    whole: str
    first: int
    end: int
    added: str = ""


@dataclass(frozen=True)
class _Rejoined:
    """A tensor all of whose parts are joined, in order."""

    whole: str
    parts: tuple[_Part, ...]


def run(graph: Graph) -> Graph:
    """In turns: parts of parts are found when those are whole."""
    changed = rewrite(graph, partial(_rejoin, graph))
    return run(changed) if any(_rejoined(changed, node) for node in changed.nodes) else changed


def _rejoin(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _rejoined(graph, node)
    if found is None:
        return None
    added = [part for part in found.parts if part.added]
    if not added:
        return {node.key: found.whole}
    axis, shape = instance(node.op, Concat).axis, graph.types[found.whole].shape
    source, pads = _padded(graph, added[0], axis, shape)
    (zeros,) = builder.add(Pad(pads), [source], name=node.name)
    builder.add(Add(), [found.whole, zeros], node.outputs, node.name)
    return {node.key: node.key}


def _padded(graph: Graph, part: _Part, axis: int, shape: Shape) -> tuple[str, tuple[int, ...]]:
    """What is added, without zeros that it has already, and all zeros around it."""
    made, rank = graph.producers.get(part.added), len(shape)
    is_padded = made is not None and isinstance(made.op, Pad) and made.op.value == 0
    source = made.inputs[0] if made is not None and is_padded else part.added
    pads = list(instance(made.op, Pad).pads) if made is not None and is_padded else [0] * (2 * rank)
    pads[axis] += part.first
    pads[rank + axis] += shape[axis] - part.end
    return source, tuple(pads)


def _rejoined(graph: Graph, node: Node) -> _Rejoined | None:
    """The tensor whose parts a Concat joins."""
    if not isinstance(node.op, Concat) or len(node.inputs) < 2:
        return None
    parts = [_part(graph, node, name) for name in node.inputs]
    if any(part is None for part in parts):
        return None
    known = tuple(part for part in parts if part is not None)
    whole, length = known[0].whole, graph.types[node.key].shape[node.op.axis]
    in_order = [part.first for part in known] == [0, *(part.end for part in known[:-1])]
    if {part.whole for part in known} != {whole} or graph.types[whole] != graph.types[node.key] or not in_order:
        return None
    added = [part for part in known if part.added]
    is_worth_it = len(added) == 1 and added[0].end - added[0].first >= LEAST_SHARE * length
    return _Rejoined(whole, known) if not added or is_worth_it else None


def _part(graph: Graph, node: Node, name: str) -> _Part | None:
    made, axis = graph.producers.get(name), instance(node.op, Concat).axis
    if made is None:
        return None
    if isinstance(made.op, Slice):
        return _slice(graph, made, axis)
    if not isinstance(made.op, Add) or not is_only_reader(graph, node, name):
        return None
    for one, other in (made.inputs, made.inputs[::-1]):
        source = graph.producers.get(one)
        found = _slice(graph, source, axis) if source is not None and isinstance(source.op, Slice) else None
        if found is not None and graph.types[one] == graph.types[other] == graph.types[name]:
            return _Part(found.whole, found.first, found.end, other)
    return None


def _slice(graph: Graph, node: Node, axis: int) -> _Part | None:
    """A part that is whole along all other axes."""
    op, shape = instance(node.op, Slice), graph.types[node.inputs[0]].shape
    if len(shape) <= axis or any(step != 1 for step in op.steps):
        return None
    others = [number for number in range(len(shape)) if number != axis]
    if any(op.sizes[number] != shape[number] for number in others):
        return None
    return _Part(node.inputs[0], op.starts[axis], op.starts[axis] + op.sizes[axis])


def none_rejoined(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (found := _rejoined(graph, node)) is not None:
            yield node.where, f"joins all parts of '{found.whole}'"


REJOIN_SLICES = Pass("rejoin slices", run, ensures=none_rejoined)
