"""Rotations of pairs of elements, as positions of a language model are written into queries and keys, in one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import FLOATS, broadcast, broadcast_index
from tilewright.ops._internal import Internal
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.structs.common import broadcast_params
from tilewright.targets.gpu.plain import stored

MOST_NODES = 16
"""Between a tensor and the same with its pairs swapped."""
EXACT = 2**24
"""Up to which a float32 counts elements."""
MOVES = (Concat, Neg, Reshape, Slice, Transpose)


@dataclass(frozen=True)
class Rotate(Internal):
    """x * cosine + other * sine along rows: the other of the first of a pair is the second, negated; that of the second
    is the first. Both are half a row apart or, if interleaved, neighbours."""

    operands: ClassVar[tuple[str, ...]] = ("X", "cosine", "sine")
    interleaved: bool = False

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        tables = {name: broadcast_index(shapes[name], shapes["X"]) for name in ("cosine", "sine")}
        return {"X": axes, **tables, "Y": axes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        shapes = [types[name].shape for name in self.operands]
        if any(kind.dtype not in FLOATS for kind in types.values()):
            raise Refusal("floats are expected")
        if not shapes[0] or shapes[0][-1] % 2:
            raise Refusal(f"rows of shape {shapes[0]} have no pairs")
        if broadcast(shapes) != shapes[0]:
            raise Refusal(f"tables of shapes {shapes[1]} and {shapes[2]} for a tensor of shape {shapes[0]}")

    def numpy(self, X: Array, cosine: Array, sine: Array) -> Array:
        places, signs = self.others(X.shape[-1])
        return X * cosine + X[..., places] * signs * sine

    def others(self, length: int) -> tuple[Array, Array]:
        """The place of each element's other one, and its sign."""
        places = np.arange(length)
        others = places ^ 1 if self.interleaved else (places + length // 2) % length
        return others, np.where(others > places, -1, 1).astype(np.float32)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        shape = types["X"].shape
        tables = {"a": types["cosine"].shape, "b": types["sine"].shape}
        loops = broadcast_params(shape, tables)
        return {"loops": loops, "length": shape[-1], "interleaved": int(self.interleaved)}


KERNELS = stored(Kernel(Rotate, "gpu_rotate.c", "X cosine sine -> Y", {}, header="gpu_rotate.h"), "X Y", "cosine sine")


# ---- where they are -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    op: Rotate
    inputs: tuple[str, str, str]


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_fuse, graph))


def all_found(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _rotation(graph, node) is not None:
            yield node.where, "is a rotation that one operator could compute"


def _fuse(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _rotation(graph, node)
    if found is None:
        return None
    builder.add(found.op, found.inputs, node.outputs, node.name)
    return {node.key: node.key}


def _rotation(graph: Graph, node: Node) -> _Found | None:
    """A sum of a tensor and the same with its pairs swapped, each times something."""
    if not isinstance(node.op, Add) or graph.types[node.key].dtype not in FLOATS:
        return None
    left, right = (_factors(graph.producers.get(name)) for name in node.inputs)
    for straight, across in ((left, right), (right, left)):
        for (x, cosine), (other, sine) in ((one, two) for one in straight for two in across):
            op = _swapped(graph, x, other)
            if op is not None and broadcast([graph.types[name].shape for name in (x, cosine, sine)]) == _shape(
                graph, x
            ):
                return _Found(op, (x, cosine, sine))
    return None


def _factors(node: Node | None) -> list[tuple[str, str]]:
    """Of a product, either way round."""
    if node is None or not isinstance(node.op, Mul):
        return []
    one, other = node.inputs
    return [(one, other), (other, one)]


def _shape(graph: Graph, tensor: str) -> tuple[int, ...]:
    return graph.types[tensor].shape


def _swapped(graph: Graph, source: str, tensor: str) -> Rotate | None:
    """How a tensor is another one with its pairs swapped, if it is."""
    shape = _shape(graph, source)
    count = int(np.prod(shape))
    if not shape or tensor == source or shape != _shape(graph, tensor) or shape[-1] % 2 or not 0 < count < EXACT:
        return None
    values = {source: np.arange(1, count + 1, dtype=np.float32).reshape(shape)}
    found = _traced(graph, tensor, values)
    if found is None:
        return None
    for op in (Rotate(), Rotate(interleaved=True)):
        places, signs = op.others(shape[-1])
        if np.array_equal(found, values[source][..., places] * signs):
            return op
    return None


def _traced(graph: Graph, tensor: str, values: dict[str, Array]) -> Array | None:
    """A tensor that is another one with its elements moved and negated, computed from a value of that one."""
    node = graph.producers.get(tensor)
    if tensor in values or node is None or not isinstance(node.op, MOVES) or len(values) > MOST_NODES:
        return values.get(tensor)
    op: Op = node.op
    operands = [_traced(graph, name, values) for name in node.inputs]
    if any(operand is None for operand in operands):
        return None
    values[tensor] = np.asarray(op.numpy(*operands))
    return values[tensor]


FUSE_ROTATIONS = Pass("rotations as one operator", run, ensures=all_found)
