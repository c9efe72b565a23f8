"""Scores of an attention, their mask and their softmax become one operator, where its kernel takes it; and with their
product with values another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.targets.pulp import masked_attention, masked_softmax
from tilewright.targets.pulp.attention_operator import MaskedAttention
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph, _shares))


def mix(graph: Graph) -> Graph:
    return rewrite(graph, partial(_replaced, graph, _attention))


Find = Callable[[Graph, Node], tuple[Op, list[str]] | None]
"""What a node becomes together with those before it, and what that reads."""


def _replaced(graph: Graph, find: Find, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = find(graph, node)
    if found is None:
        return None
    op, inputs = found
    builder.add(op, inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _shares(graph: Graph, node: Node) -> tuple[MaskedSoftmax, list[str]] | None:
    """What a softmax becomes together with its mask and scores, and what that reads."""
    softmax = node.op
    masking = _made_by(graph, node, RequantizedAdd) if isinstance(softmax, iSoftmax) else None
    product = _made_by(graph, masking, MatMul) if masking else None
    score = _score(graph, product) if product else None
    if masking is None or product is None or score is None:
        return None
    op = MaskedSoftmax(score, instance(masking.op, RequantizedAdd), instance(softmax, iSoftmax))
    inputs = [*product.inputs[:2], masking.inputs[1]]
    types = {name: graph.types[tensor] for name, tensor in zip("ABM", inputs, strict=True)}
    types["Y"] = graph.types[node.key]
    return None if all(reason(op, types) for reason in masked_softmax.REASONS) else (op, inputs)


def _attention(graph: Graph, node: Node) -> tuple[MaskedAttention, list[str]] | None:
    """What a product becomes together with the shares that it takes, and what that reads."""
    product = node.op
    if not isinstance(product, MatMul) or product.trans_a or product.trans_b or product.perm_a or product.perm_b:
        return None
    source = _made_by(graph, node, MaskedSoftmax)
    mix = _requantised(graph, node)
    if source is None or mix is None or product.a_zero or product.b_zero:
        return None
    op, inputs = (
        MaskedAttention(instance(source.op, MaskedSoftmax), mix, product.perm_y),
        [*source.inputs, node.inputs[1]],
    )
    types = {name: graph.types[tensor] for name, tensor in zip("ABMV", inputs, strict=True)}
    types["Y"] = graph.types[node.key]
    if types["V"].dtype != "int8" or types["V"].shape[:-1] != types["B"].shape[:-1]:
        return None
    return None if all(reason(op, types) for reason in masked_attention.REASONS) else (op, inputs)


def _made_by(graph: Graph, node: Node, kind: type) -> Node | None:
    """What makes the first operand of a node that alone reads it, if it is of this kind."""
    source = graph.producers.get(node.inputs[0])
    return source if source and isinstance(source.op, kind) and is_only_reader(graph, node, source.key) else None


def _score(graph: Graph, node: Node) -> Scaling | None:
    """How totals of a product are requantised that is one of rows with rows, and nothing else."""
    product = instance(node.op, MatMul)
    types = [graph.types[name] for name in node.inputs[:2]]
    is_plain = not (product.trans_a or product.perm_a or product.perm_b or product.perm_y or product.a_zero)
    if not is_plain or not product.trans_b or product.b_zero or product.requant is None:
        return None
    if any(kind.dtype != "int8" or len(kind.shape) < 2 for kind in types) or types[0].shape[:-2] != types[1].shape[:-2]:
        return None
    return _requantised(graph, node)


def _requantised(graph: Graph, node: Node) -> Scaling | None:
    """How totals of a product are requantised to which nothing is added."""
    requant = instance(node.op, MatMul).requant
    _, _, c, mul, add = (*node.inputs, *[""] * (5 - len(node.inputs)))
    factor, summand = (_number(graph, name, default) for name, default in ((mul, 1), (add, 0)))
    if requant is None or c or factor is None or summand is None:
        return None
    return Scaling(factor, summand, requant)


def _number(graph: Graph, name: str, default: int) -> int | None:
    """The only value of a constant; None where it is none, or has several."""
    if not name:
        return default
    values = graph.constants.get(name)
    return int(values.flat[0]) if values is not None and values.size == 1 else None


def all_fused(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _shares(graph, node) is not None:
            yield node.where, "is a softmax of masked scores that one kernel could compute"


def all_mixed(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _attention(graph, node) is not None:
            yield node.where, "is a product with shares of masked scores that one kernel could compute"


FUSE_MASKED_SOFTMAX = Pass("scores, mask and softmax of an attention in one", run, ensures=all_fused)
FUSE_MASKED_ATTENTION = Pass("shares of an attention and their values in one", mix, ensures=all_mixed)
