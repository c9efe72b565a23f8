"""Heads of an attention as views of rows: [..., tokens, heads * columns] cut apart and turned, and back."""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes.aliasing import is_only_reader
from tilewright.records import dataclass


@dataclass(frozen=True)
class Heads:
    """A tensor [..., heads, tokens, columns], and where its rows come from."""

    rows: str
    """[..., tokens, heads * columns]; the tensor itself where it was not cut into heads."""
    count: int
    is_turned: bool
    """It is [..., heads, columns, tokens] in truth."""


def heads_of(graph: Graph, tensor: str) -> Heads:
    """What a tensor is a view of: reshaped to [..., tokens, heads, columns] and turned."""
    rank = len(graph.types[tensor].shape)
    order, source = tuple(range(rank)), tensor
    while (node := graph.producers.get(source)) is not None and isinstance(node.op, Transpose):
        order, source = tuple(node.op.perm[axis] for axis in order), node.inputs[0]
    before = tuple(range(rank - 3))
    apart = (*before, rank - 2, rank - 3, rank - 1) if rank > 2 else ()
    cut = graph.producers.get(source)
    for is_turned in (False, True):
        if apart and order == _turned(apart, is_turned) and cut is not None and _cuts_columns(graph, cut):
            return Heads(_without_ones(graph, cut.inputs[0]), graph.types[source].shape[-2], is_turned)
        if order == _turned(tuple(range(rank)), is_turned):
            return Heads(_without_ones(graph, source), 1, is_turned)
    return Heads(tensor, 1, False)


def _without_ones(graph: Graph, tensor: str) -> str:
    """The earliest tensor that is the same matrices, with fewer or more axes of one element before them."""
    shape, found, node = graph.types[tensor].shape, tensor, graph.producers.get(tensor)
    while node is not None and isinstance(node.op, Reshape):
        earlier = graph.types[node.inputs[0]].shape
        if [size for size in earlier if size != 1] != [size for size in shape if size != 1]:
            break
        if earlier[-2:] == shape[-2:]:
            found = node.inputs[0]
        node = graph.producers.get(node.inputs[0])
    return found


def joined(graph: Graph, node: Node) -> Node | None:
    """The Reshape that puts heads [..., heads, tokens, columns] side by side again, if nothing else reads them."""
    turn = _reader(graph, node)
    if turn is None or not isinstance(turn.op, Transpose):
        return None
    rank = len(turn.op.perm)
    if turn.op.perm != (*range(rank - 3), rank - 2, rank - 3, rank - 1):
        return None
    join = _reader(graph, turn)
    if join is None or not isinstance(join.op, Reshape):
        return None
    *before, tokens, heads, columns = graph.types[turn.key].shape
    return join if graph.types[join.key].shape == (*before, tokens, heads * columns) else None


def _turned(order: Shape, is_turned: bool) -> Shape:
    return (*order[:-2], order[-1], order[-2]) if is_turned else order


def _cuts_columns(graph: Graph, node: Node) -> bool:
    if not isinstance(node.op, Reshape):
        return False
    *before, heads, columns = graph.types[node.key].shape
    return graph.types[node.inputs[0]].shape == (*before, heads * columns)


def _reader(graph: Graph, node: Node) -> Node | None:
    """The only one."""
    readers = graph.consumers.get(node.key, [])
    return readers[0] if len(readers) == 1 and is_only_reader(graph, readers[0], node.key) else None
