"""Products of few rows with several matrices, as a decoder's queries, keys and values, or its gate and what it gates:
one launch, which normalises the rows too where that is what they are made by."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, instance, present
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import ACTIVATIONS, activated
from tilewright.ops._elementwise import FLOATS
from tilewright.ops._internal import Internal
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.structs.common import activation_params
from tilewright.targets.generic.linear import FLOAT
from tilewright.targets.gpu.block_forms import FORMATS, BlockProduct, layout, values
from tilewright.targets.gpu.block_products import BYTES, columns_params, header, of_one_row, other_format, row_step
from tilewright.targets.gpu.few_rows import MOST_ROWS, PIECE, SHORTEST_HELD, element_bytes, shape_params, stored_rows

MOST = 3
ELEMENTS = PIECE // 2
"""That rows are multiples of, in whatever floats they are stored."""
WEIGHTS, BIASES = ("W", "W1", "W2"), ("B", "B1", "B2")


@dataclass(frozen=True)
class Projections(Internal):
    """x @ w' + b with each of the weights, [columns, inner]; of rows that are normalised before where there is a scale.
    Gated, the one result is the activation of the first of two, times the second."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale?", "W", "W1?", "W2?", "B?", "B1?", "B2?")
    results: ClassVar[tuple[str, ...]] = ("Y", "Y1", "Y2")
    multiplies: ClassVar[bool] = True
    gated: bool = False
    epsilon: float = 0.0
    format: str = ""
    """Of weights in blocks, as `block_forms.py` has their rows."""
    activation: Op | None = field(default=None, kw_only=True)
    """Of the gate."""

    def index(self, shapes: Shapes) -> Index:
        rows = axis_loops(len(shapes["X"]) - 1)
        others = {name: tuple(map(whole, shape)) for name, shape in shapes.items()}
        made = {name: (*rows, loop) for name, loop in zip(self._made(shapes), loops("m n o"), strict=False)}
        return {**others, **made}

    def _made(self, shapes: Shapes) -> tuple[str, ...]:
        """Names of its results."""
        return self.results[: 1 if self.gated else sum(name in shapes for name in WEIGHTS)]

    def extents(self, shapes: Shapes) -> dict[str, int]:
        rows = {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])}
        columns = [shapes[name][0] for name in WEIGHTS if name in shapes]
        return rows | dict(zip("mno", columns[: len(self._made(shapes))], strict=False))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * sum(shapes[name][0] for name in WEIGHTS if name in shapes)

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        columns = [shapes[name][0] for name in WEIGHTS if name in shapes][: len(self._made(shapes))]
        return tuple((*shapes["X"][:-1], count) for count in columns)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("float32",) * len(self._made(dict.fromkeys(dtypes, ())))

    def check(self, types: Mapping[str, TensorType]) -> None:
        inner = layout(self.format).panel_bytes(types["X"].shape[-1]) if self.format else types["X"].shape[-1]
        kinds = {name: kind.dtype for name, kind in types.items()}
        if any(dtype not in (BYTES if self.format and name in WEIGHTS else FLOATS) for name, dtype in kinds.items()):
            raise Refusal("floats are expected, or weights in blocks")
        for weight, bias in zip(WEIGHTS, BIASES, strict=True):
            shape = types[weight].shape if weight in types else (0, inner)
            if len(shape) != 2 or shape[1] != inner or (bias in types and types[bias].shape != shape[:1]):
                raise Refusal(f"rows of {inner} with weights of shape {shape}")
        if self.gated and ("W2" in types or "W1" not in types or types["W"].shape != types["W1"].shape):
            raise Refusal("a gate is as large as what it is for, and there are no others")

    def numpy(
        self, X: Array, scale: Array | None, W: Array, W1: Array | None = None, W2: Array | None = None,
        B: Array | None = None, B1: Array | None = None, B2: Array | None = None,
    ) -> Array | tuple[Array, ...]:  # fmt: skip
        rows = X if scale is None else RMSNormalization(-1, self.epsilon).numpy(X, scale)
        stored = [w for w in (W, W1, W2) if w is not None]
        weights = [values(self.format, w, X.shape[-1]) for w in stored] if self.format else stored
        made = [rows @ w.T + (0 if b is None else b) for w, b in zip(weights, (B, B1, B2), strict=False)]
        if self.gated:
            return np.asarray(activated(self.activation, made[0]) * made[1], np.float32)
        return tuple(np.asarray(one, np.float32) for one in made)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        *rows, inner = types["X"].shape
        columns = tuple(types[name].shape[0] if name in types else 0 for name in WEIGHTS)
        twos = columns[0] if self.gated else sum(-(-count // 2) for count in columns)
        if self.format:
            shape = columns_params(self.format, math.prod(rows), inner, twos)
        else:
            row_bytes = inner * element_bytes(types["W"])
            shape = shape_params(math.prod(rows), inner, inner, twos, row_bytes // PIECE, row_bytes=row_bytes)
        w_row = row_step(self.format, types["W"]) if self.format else inner
        return {
            "shape": shape, "columns": columns, "w_row": w_row, "gated": int(self.gated), "epsilon": self.epsilon,
            **activation_params(self.activation),
        }  # fmt: skip


SIGNATURE = "X scale:float32 W W1 W2 B:float32 B1:float32 B2:float32 -> Y Y1 Y2"


def _of_blocks(name: str) -> tuple[Kernel, ...]:
    dtypes = {**dict.fromkeys(WEIGHTS, BYTES), **dict.fromkeys(("X", "Y", "Y1", "Y2"), FLOAT)}
    kernel = Kernel(
        Projections, "gpu_projections.c", SIGNATURE, dtypes, unsupported_reason=partial(other_format, name),
        header="gpu_projections.h", around=header(name), activations=ACTIVATIONS,
    )  # fmt: skip
    return of_one_row(kernel, name)


KERNELS = (
    *stored_rows(
        Kernel(Projections, "gpu_projections.c", SIGNATURE, {}, header="gpu_projections.h", activations=ACTIVATIONS),
        "X W W1 W2 Y Y1 Y2",
        "W",
    ),
    *(kernel for name in FORMATS for kernel in _of_blocks(name)),
)


# ---- the rewrite --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Joined:
    """Products that become one layer, which stands where the first of them does or, if they are gated, the gate."""

    products: tuple[Node, ...]
    rows: str
    norm: Node | None
    gate: Node | None


def run(graph: Graph) -> Graph:
    found = _joined(graph)
    first = {(one.gate or one.products[0]).key: one for one in found}
    others = {node.key for one in found if one.gate is None for node in one.products[1:]}
    return rewrite(graph, partial(_join, graph, first, others))


def none_apart(graph: Graph) -> Iterator[Complaint]:
    for one in _joined(graph):
        yield one.products[-1].where, f"could be one layer with {one.products[0].where}"


def _join(
    graph: Graph, first: Mapping[str, _Joined], others: Collection[str], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if node.key in others:
        return {node.key: node.key}
    if node.key not in first:
        return None
    found = first[node.key]
    products, norm, gate = found.products, found.norm, found.gate
    activation = _activation(products[0])
    epsilon = 0.0 if norm is None else instance(norm.op, RMSNormalization).epsilon
    op = Projections(gate is not None, epsilon, _format(products[0]), activation=activation)
    inputs = [found.rows, "" if norm is None else norm.inputs[1]]
    for names in ([one.inputs[1] for one in products], [_bias(graph, builder, one) for one in products]):
        inputs += [*names, *[""] * (MOST - len(names))]
    outputs = [gate.key] if gate is not None else [one.key for one in products]
    builder.add(op, inputs, outputs, products[0].name)
    return {node.key: node.key}


def _bias(graph: Graph, builder: Builder, product: Node) -> str:
    """A value for each column."""
    if len(product.inputs) < 3:
        return ""
    tensor, (columns,) = product.inputs[2], graph.types[product.key].shape[-1:]
    if graph.types[tensor].shape == (columns,):
        return tensor
    values = value_per_filter(graph, tensor, columns, np.float32)
    return builder.constant(present(values, product.where, "its bias is not one for each column"), tensor)


def _joined(graph: Graph) -> list[_Joined]:
    gates = [node for node in graph.nodes if _is_gate(graph, node)]
    gated = [(node, _gated(graph, node)) for node in gates]
    used = {product.key for _, products in gated for product in products}
    found = [_as_joined(graph, products, gate) for gate, products in gated]
    for tensor, readers in graph.consumers.items():
        plain = [node for node in readers if node.key not in used and _is_plain(graph, node, tensor)]
        unique = {node.key: node for node in plain}.values()
        for name in dict.fromkeys(map(_format, unique)):
            same = tuple(node for node in unique if _format(node) == name)
            parts = (same[first : first + MOST] for first in range(0, len(same), MOST))
            joined = (_as_joined(graph, part, None) for part in parts)
            found += [one for one in joined if len(one.products) > 1 or _is_worth_it(graph, one)]
    return found


def _is_worth_it(graph: Graph, alone: _Joined) -> bool:
    """Whether one product is joined with a normalisation: for short rows, every column would scale x anew."""
    weights = graph.types[alone.products[0].inputs[1]]
    return alone.norm is not None and weights.bytes // weights.shape[0] >= SHORTEST_HELD


def _format(product: Node) -> str:
    """Of its weights, if they are in blocks."""
    return product.op.format if isinstance(product.op, BlockProduct) else ""


def _activation(product: Node) -> Op | None:
    return product.op.activation if isinstance(product.op, BlockProduct) else instance(product.op, MatMul).activation


def _as_joined(graph: Graph, products: tuple[Node, ...], gate: Node | None) -> _Joined:
    rows = products[0].inputs[0]
    norm = graph.producers.get(rows)
    readers = {node.key for node in graph.consumers[rows]}
    is_alone = rows not in graph.sinks and readers == {node.key for node in products}
    if norm is None or not is_alone or not _is_row_norm(graph, norm):
        return _Joined(products, rows, None, gate)
    return _Joined(products, norm.inputs[0], norm, gate)


def _is_row_norm(graph: Graph, node: Node) -> bool:
    op, rank = node.op, len(graph.types[node.key].shape)
    has_scale = len(node.inputs) == 2 and node.inputs[1] in graph.constants
    return isinstance(op, RMSNormalization) and has_scale and op.axis in (-1, rank - 1)


def _is_gate(graph: Graph, node: Node) -> bool:
    return len(_gated(graph, node)) == 2


def _gated(graph: Graph, node: Node) -> tuple[Node, ...]:
    """The two products that a node multiplies; the first one may have an activation."""
    if not isinstance(node.op, Mul) or len(set(node.inputs)) != 2:
        return ()
    products = [graph.producers.get(name) for name in node.inputs]
    found = [
        one for one in products if one is not None and _is_product(graph, one) and is_only_reader(graph, node, one.key)
    ]
    if (
        len(found) != 2
        or found[0].inputs[0] != found[1].inputs[0]
        or graph.types[found[0].key] != graph.types[found[1].key]
        or _format(found[0]) != _format(found[1])
    ):
        return ()
    gate, other = sorted(found, key=lambda one: _activation(one) is None)
    return () if _activation(other) is not None else (gate, other)


def _is_plain(graph: Graph, node: Node, rows: str) -> bool:
    return node.inputs[0] == rows and _is_product(graph, node) and _activation(node) is None


def _is_product(graph: Graph, node: Node) -> bool:
    """Of a few rows of floats with constants, column by column."""
    op = node.op
    if type(op) is BlockProduct:
        return graph.types[node.key].elements == graph.types[node.key].shape[-1]
    if type(op) is not MatMul or op != MatMul(trans_b=True, activation=op.activation):
        return False
    if node.inputs[1] not in graph.constants:
        return False
    rows, weights, result = (graph.types[name] for name in (*node.inputs[:2], node.key))
    if rows.dtype not in FLOATS or len(weights.shape) != 2 or len(rows.shape) < 2 or not result.elements:
        return False
    has_plain_bias = value_per_filter(graph, node.operands().get("C"), result.shape[-1], np.float32) is not None
    return has_plain_bias and math.prod(rows.shape[:-1]) <= MOST_ROWS and rows.shape[-1] % ELEMENTS == 0


JOIN_PROJECTIONS = Pass("products of the same few rows as one layer", run, ensures=none_apart)
