"""Where decoders lose most by 8 bits and 16 cost little: what is summed up layer by layer, scores, and their rows.

The residual stream grows from layer to layer and is normalised only when it is read. Scores of an attention have ranges
of hundreds, of which differences of less than one count; so have the rotated rows that they are products of. None of
them is multiplied with weights, so that layers stay as fast as they are.
"""

from __future__ import annotations

from tilewright.ir.graph import Graph, rebuild
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.ops.softmax import Softmax
from tilewright.passes.quantise.rotation import rotation_of
from tilewright.passes.quantise.values import Context
from tilewright.quantiser.prepare.places import Places


def wide_tensors(graph: Graph, places: Places, attention: bool = True) -> frozenset[str]:
    """The quantised tensors, by their leaders, that should have 16 bits; keys and scores only with `attention`."""
    found = {*_streams(graph), *_rotated(graph), *graph.sinks} | (_scores(graph, places) if attention else set())
    return frozenset(places.leaders[name] for name in found if name in places.leaders)


def _streams(graph: Graph) -> set[str]:
    """What is normalised and also added to something else later, and what it becomes by that."""
    found = set[str]()
    for node in graph.nodes:
        if not isinstance(node.op, RowNormalisation):
            continue
        stream = node.inputs[0]
        sums = [reader.key for reader in graph.consumers[stream] if isinstance(reader.op, Add)]
        found |= {stream, *sums} if sums else set()
    return found


def _rotated(graph: Graph) -> set[str]:
    context = Context(graph, rebuild(graph))
    turned = (rotation_of(context, node) for node in graph.nodes)
    return {one.source for one in turned if one is not None}


def _scores(graph: Graph, places: Places) -> set[str]:
    """What a softmax reads, maybe behind a mask, and the columns that it is a product of: the keys."""
    found = set[str]()
    for node in graph.nodes:
        name = node.inputs[0] if isinstance(node.op, Softmax) else ""
        while name in places.absorbed:
            name = next(other for other in graph.producers[name].inputs if other not in graph.constants)
        product = _product(graph, name)
        found |= {name, product} if product else set()
    return found


def _product(graph: Graph, tensor: str) -> str:
    """The second factor of the product of two tensors that a tensor is, up to a constant factor."""
    node = graph.producers.get(tensor)
    while node is not None and not isinstance(node.op, MatMul):
        sources = [name for name in node.inputs if name not in graph.constants]
        node = graph.producers.get(sources[0]) if len(sources) == 1 else None
    return "" if node is None or node.inputs[1] in graph.constants else node.inputs[1]
