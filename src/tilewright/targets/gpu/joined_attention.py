"""Queries, keys and values that products make of one tensor are made by one product, and attention reads its result:
one launch instead of three, with more tiles to fill the GPU with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, present
from tilewright.ir.affine import loops, whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Types

Takes = Callable[[Op, Types], bool]
PLAIN = FusedAttention()
MOVES = (Reshape, Slice, Transpose)


@dataclass(frozen=True)
class JoinedAttention(Internal):
    """Attention whose queries, keys and values are heads of one tensor: Q[b, t, h + 2 g, d], in this order."""

    operands: ClassVar[tuple[str, ...]] = ("Q",)
    attention: FusedAttention = PLAIN
    groups: int = 1

    def heads(self, shape: tuple[int, ...]) -> int:
        return shape[2] - 2 * self.groups

    def parts(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """Operands of the attention."""
        batch, tokens, _, length = types["Q"].shape
        heads = {"Q": self.heads(types["Q"].shape), "K": self.groups, "V": self.groups}
        return {name: TensorType(types["Q"].dtype, (batch, tokens, n, length)) for name, n in heads.items()}

    def index(self, shapes: Shapes) -> Index:
        return {"Q": tuple(map(whole, shapes["Q"])), "Y": loops("b t h d")}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        batch, tokens, _, length = shapes["Q"]
        return {"b": batch, "t": tokens, "h": self.heads(shapes["Q"]), "d": length}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("bthd")

    def macs(self, shapes: Shapes) -> int:
        parts = self.parts({"Q": TensorType("float32", shapes["Q"])})
        return self.attention.macs({name: kind.shape for name, kind in parts.items()})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if len(types["Q"].shape) != 4 or self.heads(types["Q"].shape) < 1:
            raise Refusal(f"{types['Q']} has no heads for queries beside {self.groups} for keys and for values")
        self.attention.check(self.parts(types))

    def numpy(self, Q: Array) -> Array:
        heads = self.heads(Q.shape)
        made: Array = self.attention.numpy(*np.split(Q, [heads, heads + self.groups], axis=2))
        return made


# ---- the rewrite --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    products: tuple[Node, Node, Node]
    op: JoinedAttention
    shape: tuple[int, ...]
    """Of all heads together."""


def join_projections(takes: Takes) -> Pass:
    return Pass("projections as one product", partial(run, takes), ensures=partial(all_joined, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    return rewrite(graph, partial(_join, takes, graph))


def all_joined(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _found(takes, graph, node) is not None or _lying_together(takes, graph, node) is not None:
            yield node.where, "has queries, keys and values that lie together, or that one product could make"


def _join(takes: Takes, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    lying = _lying_together(takes, graph, node)
    if lying is not None:
        builder.add(lying.op, builder.add(Reshape(lying.shape), [lying.tensor]), node.outputs, node.name)
        return {node.key: node.key}
    found = _found(takes, graph, node)
    if found is None:
        return None
    first, *_ = found.products
    weights = [graph.constants[one.inputs[1]] for one in found.products]
    joined = builder.constant(np.concatenate(weights, 0 if first.op.attributes()["trans_b"] else 1), f"{node.key}_w")
    biases = [present(_bias(graph, one), one.where, "its bias is not one for each column") for one in found.products]
    has_bias = any(len(one.inputs) > 2 for one in found.products)
    bias = [builder.constant(np.concatenate(biases), f"{node.key}_b")] if has_bias else []
    made = builder.add(first.op, [first.inputs[0], joined, *bias], name=first.name)
    heads = builder.add(Reshape(found.shape), made)
    builder.add(found.op, heads, node.outputs, node.name)
    return {node.key: node.key}


def _found(takes: Takes, graph: Graph, node: Node) -> _Found | None:
    if type(node.op) is not FusedAttention or len(node.inputs) != 3:
        return None
    kinds = [graph.types[name] for name in node.inputs]
    products = [_projection(graph, node, name) for name in node.inputs]
    if len({kind.shape[3] for kind in kinds}) != 1 or len({kind.shape[:2] for kind in kinds}) != 1:
        return None
    first, second, third = products
    if first is None or second is None or third is None:
        return None
    if len({(one.op, one.inputs[0]) for one in (first, second, third)}) != 1:
        return None
    batch, tokens, groups, length = kinds[1].shape
    shape = (batch, tokens, kinds[0].shape[2] + 2 * groups, length)
    op = JoinedAttention(node.op, groups)
    types = {"Q": replace(kinds[0], shape=shape), "Y": graph.types[node.key]}
    return _Found((first, second, third), op, shape) if takes(op, types) else None


def _projection(graph: Graph, node: Node, tensor: str) -> Node | None:
    """The product by constants that makes an operand, which nothing else reads."""
    view = graph.producers.get(tensor)
    if view is None or not isinstance(view.op, Reshape) or not is_only_reader(graph, node, tensor):
        return None
    source = graph.producers.get(view.inputs[0])
    if source is None or not is_only_reader(graph, view, source.key):
        return None
    return source if _is_projection(graph, source) else None


def _is_projection(graph: Graph, node: Node) -> bool:
    op = node.op
    if type(op) is not MatMul or op != MatMul(trans_b=op.trans_b):
        return False
    weights = graph.constants.get(node.inputs[1])
    return weights is not None and weights.ndim == 2 and _bias(graph, node) is not None


def _bias(graph: Graph, product: Node) -> Array | None:
    """A value for each column; None where it is computed, or differs from row to row."""
    columns = graph.types[product.key].shape[-1]
    return value_per_filter(graph, product.operands().get("C"), columns, np.float32)


# ---- what one product makes already -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Together:
    tensor: str
    op: JoinedAttention
    shape: tuple[int, ...]


def _lying_together(takes: Takes, graph: Graph, node: Node) -> _Together | None:
    """Queries, keys and values that are the heads of one tensor, moved elsewhere."""
    if type(node.op) is not FusedAttention or len(node.inputs) != 3:
        return None
    sources = {_moved_from(graph, name) for name in node.inputs}
    shapes = [graph.types[name].shape for name in node.inputs]
    if len(sources) != 1 or sources & set(node.inputs):
        return None
    (tensor,) = sources
    batch, tokens, groups, length = shapes[1]
    shape = (batch, tokens, shapes[0][2] + 2 * groups, length)
    if len({one[3] for one in shapes}) != 1 or math.prod(shape) != graph.types[tensor].elements:
        return None
    op = JoinedAttention(node.op, groups)
    if not takes(op, {"Q": replace(graph.types[tensor], shape=shape), "Y": graph.types[node.key]}):
        return None
    places = np.arange(math.prod(shape))
    wanted = np.split(places.reshape(shape), [shapes[0][2], shapes[0][2] + groups], axis=2)
    known = {tensor: places.reshape(graph.types[tensor].shape)}
    are_same = (
        np.array_equal(_moved(graph, name, known), heads) for name, heads in zip(node.inputs, wanted, strict=True)
    )
    return _Together(tensor, op, shape) if all(are_same) else None


def _moved_from(graph: Graph, tensor: str) -> str:
    """What a tensor has its elements from."""
    node = graph.producers.get(tensor)
    while node is not None and isinstance(node.op, MOVES):
        tensor = node.inputs[0]
        node = graph.producers.get(tensor)
    return tensor


def _moved(graph: Graph, tensor: str, known: dict[str, Array]) -> Array:
    """The values of a tensor where those of what it comes from are known."""
    if tensor not in known:
        node = graph.producers[tensor]
        op: Op = node.op
        known[tensor] = np.asarray(op.numpy(_moved(graph, node.inputs[0], known)))
    return known[tensor]
