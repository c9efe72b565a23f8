"""ITAPool's numbers in place of a quantised network's own, for `--numerics hardware`: those of attention and products
that its ITAs compute. All else has requantisations in 32 bits, as cores compute them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import APPROXIMATE, Complaint, Pass
from tilewright.passes.numerics.hardware import native_requantisations
from tilewright.passes.rewriting import rewrite
from tilewright.targets.ita.arithmetic import COLUMNS, POOL_SOFTMAX
from tilewright.targets.ita.attention import ItaSoftmax
from tilewright.targets.ita.head_views import heads_of
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.numerics import Attention, Parts, none_exact
from tilewright.targets.ita.numerics import run as with_numbers
from tilewright.targets.ita.pool.block import LONGEST
from tilewright.targets.ita.pool.products import check_sizes

POOL_LEVELS = 256
"""Of the dialect's softmax whose shares go up to 127, as ITAPool's."""
NOTE = "the softmax of {} is ITAPool's, whose sums have two bits more"


def run(graph: Graph) -> Graph:
    return rewrite(with_numbers(graph, POOL_SOFTMAX, PARTS), _replaced)


def none_left(graph: Graph) -> Iterator[Complaint]:
    yield from none_exact(graph, POOL_SOFTMAX, PARTS)
    for node in graph.nodes:
        if _is_made_for_ita(graph.types, node):
            yield node.where, "is a softmax that was made for ITA, which ITAPool computes otherwise"


def _is_pool_s(graph: Graph, node: Node) -> bool:
    """Whether a product is large enough for ITAPool's ITAs, and not too large."""
    if not isinstance(node.op, MatMul) or node.inputs[1] not in graph.constants:
        return False
    *rows, inner = graph.types[node.inputs[0]].shape
    try:
        check_sizes(math.prod(rows), inner, graph.types[node.key].shape[-1])
    except Refusal:
        return False
    return True


def _around(graph: Graph, one: Attention) -> frozenset[str]:
    """The products that make queries, keys and values of rows, and what projects the only head; none where ITAPool
    would not compute them."""
    makers = [_behind(graph, name) for name in (one.scores.inputs[0], one.scores.inputs[1], one.mixed.inputs[1])]
    if any(node is None or graph.types[node.inputs[0]].shape[-1] > LONGEST for node in makers):
        return frozenset()
    products = [node for node in makers if node is not None]
    tokens = graph.types[products[1].inputs[0]].shape[-2]
    if products[1].inputs[0] != products[2].inputs[0] or tokens % SIDE or tokens > LONGEST:
        return frozenset()
    output = _reader(graph, one.mixed) if heads_of(graph, one.scores.inputs[0]).count == 1 else None
    return frozenset(node.key for node in (*products, output) if node is not None)


def _behind(graph: Graph, tensor: str) -> Node | None:
    """The product that a tensor shows in another order."""
    node = graph.producers.get(tensor)
    while node is not None and isinstance(node.op, Reshape | Transpose):
        node = graph.producers.get(node.inputs[0])
    is_one = node is not None and isinstance(node.op, MatMul) and node.inputs[1] in graph.constants
    return node if is_one else None


def _reader(graph: Graph, node: Node) -> Node | None:
    """The only product that reads what a node makes, in whatever order."""
    readers = graph.consumers.get(node.key, [])
    while len(readers) == 1 and isinstance(readers[0].op, Reshape | Transpose):
        readers = graph.consumers.get(readers[0].key, [])
    return readers[0] if len(readers) == 1 and isinstance(readers[0].op, MatMul) else None


def _replaced(node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_made_for_ita(builder.types, node):
        return None
    builder.notes.append(NOTE.format(node.name))
    (shares,) = builder.add(ItaSoftmax(POOL_SOFTMAX), node.inputs, node.outputs, node.name)
    return {node.key: shares}


def _is_made_for_ita(types: Mapping[str, TensorType], node: Node) -> bool:
    """A softmax of the integer dialect, of rows that ITAPool takes."""
    if node.op != ITAPartialMax(POOL_LEVELS, COLUMNS) or types[node.inputs[0]].dtype != "int8":
        return False
    length = types[node.inputs[0]].shape[-1]
    return length % SIDE == 0 and length <= LONGEST


PARTS = Parts(_around, _is_pool_s)
ITAPOOL_NUMERICS = (
    Pass("attention of ITAPool", run, ensures=none_left, numbers=APPROXIMATE),
    native_requantisations(tflite=True),
)
