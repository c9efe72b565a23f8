"""Two normalised tensors, or one and another, that are added up, and the Relu behind them, become one operator: each of
their elements is read once and stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.add import Add
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.relu import Relu
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.pulp.scaled_sum_operator import ScaledSum


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph))


def _replaced(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    inputs = _operands(graph, node)
    if inputs is None:
        return None
    builder.add(ScaledSum(isinstance(node.op, Relu)), inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _operands(graph: Graph, node: Node) -> tuple[str, ...] | None:
    """Those of the operator that a node becomes; None where it stays."""
    if not isinstance(node.op, Relu):
        return _summed(graph, node)
    source = graph.producers.get(node.inputs[0])
    if source is None or not is_only_reader(graph, node, source.key):
        return None
    return source.inputs if _is_scaled(graph, source) else _summed(graph, source)


def _summed(graph: Graph, node: Node) -> tuple[str, ...] | None:
    """The operands of an addition, of which at least one is scaled."""
    if not isinstance(node.op, Add) or len({*node.inputs}) < 2:
        return None
    if any(graph.types[name] != graph.types[node.key] for name in node.inputs):
        return None
    sources = [_scaled(graph, node, name) for name in node.inputs]
    first, second = sources if sources[0] is not None else sources[::-1]
    other = node.inputs[1] if sources[0] is not None else node.inputs[0]
    if first is None:
        return None
    return (*first.inputs, *(second.inputs if second is not None else (other,)))


def _scaled(graph: Graph, node: Node, name: str) -> Node | None:
    """What makes an operand that nothing else reads, if it scales channels."""
    source = graph.producers.get(name)
    is_own = source is not None and is_only_reader(graph, node, name)
    return source if is_own and source is not None and _is_scaled(graph, source) else None


def _is_scaled(graph: Graph, node: Node) -> bool:
    """Whether a node multiplies and moves channels, which are the last axis, by numbers that are known by then."""
    if not isinstance(node.op, BatchNormalization) or len(node.inputs) != 3:
        return False
    rank = len(graph.types[node.inputs[0]].shape)
    return rank > 1 and node.op.axis == rank - 1


def all_fused(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _operands(graph, node) is not None:
            yield node.where, "is a sum of scaled tensors that one kernel could compute"


FUSE_SCALED_SUMS = Pass("sums of scaled tensors in one", run, ensures=all_fused)
