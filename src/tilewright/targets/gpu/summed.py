"""Sums with another tensor, as those of residuals, become the end of the convolution or product before them: results
are stored once, and never read in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import partial
from typing import Any, ClassVar

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import CURVES, activated, is_activation
from tilewright.ops._elementwise import FLOATS
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.reshape import Reshape
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Types
from tilewright.target.structs.common import activation_params, requant_fields
from tilewright.targets.gpu.block_forms import BlockProduct

ADDED = "R"
SUMMED_TYPES: Mapping[type[Op], frozenset[str]] = {Add: FLOATS, QLinearAdd: NARROW}
"""What is added to products, all of one type."""
Takes = Callable[[Op, Types], bool]
"""Whether the GPU has a kernel for an operator with operands and results of these types."""


@dataclass(frozen=True)
class Summed(Internal):
    """What a product gives, plus R, which is as large; then an activation."""

    total: Op = field(default=Add(), kw_only=True)
    """The sum of the product, as its first operand, and R."""
    then: Op | None = field(default=None, kw_only=True)

    def index(self, shapes: Shapes) -> Index:
        found = super().index(shapes)
        return {**found, ADDED: found["Y"]} if ADDED in shapes else found

    def check(self, types: Mapping[str, TensorType]) -> None:
        own = {name: kind for name, kind in types.items() if name != ADDED}
        super().check(own)
        (made,) = self._product(own)
        if made.shape != types[ADDED].shape:
            raise Refusal(f"{types[ADDED]} is added to {made}")
        self.total.check({"A": made, "B": types[ADDED]})

    def _product(self, own: Mapping[str, TensorType]) -> tuple[TensorType, ...]:
        shapes = super().result_shapes({name: kind.shape for name, kind in own.items()})
        dtypes = super().result_dtypes({name: kind.dtype for name, kind in own.items()})
        return tuple(TensorType(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=True))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        (made,) = super().result_dtypes(dtypes)
        return self.total.result_dtypes({"A": made, "B": dtypes[ADDED]})

    def finish(self, total: Array, shapes: Shapes, *arrays: Any, **named: Any) -> Array:
        *own, added = arrays
        made = super().finish(total, shapes, *own, **named)
        return activated(self.then, self.total.numpy(made, added))


@dataclass(frozen=True)
class SummedConv(Summed, Conv):
    operands: ClassVar[tuple[str, ...]] = (*Conv.operands, ADDED)


@dataclass(frozen=True)
class SummedMatMul(Summed, MatMul):
    operands: ClassVar[tuple[str, ...]] = (*MatMul.operands, ADDED)


@dataclass(frozen=True)
class SummedBlockProduct(Summed, BlockProduct):
    operands: ClassVar[tuple[str, ...]] = (*BlockProduct.operands, ADDED)


_SUMMED: Mapping[type[Op], type[Summed]] = {
    Conv: SummedConv, MatMul: SummedMatMul, BlockProduct: SummedBlockProduct,
}  # fmt: skip


def sum_params(op: Op) -> Params:
    """The fields of kernels of tiles that a sum has."""
    if not isinstance(op, Summed):
        return {}
    if isinstance(op.total, QLinearAdd):
        numbers: Params = {"mul_y": op.total.mul_a, "mul_r": op.total.mul_b, "offset": op.total.offset}
        return {"sum": {"requant": requant_fields(op.total.requant), **numbers}}
    return {} if op.then is None else {"then": activation_params(op.then)["activation"]}


# ---- the rewrite --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    product: Node
    added: str
    op: Summed


def sums_pass(takes: Takes) -> Pass:
    return Pass("sums as ends of products", partial(run, takes), ensures=partial(all_joined, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    joined = rewrite(graph, partial(_join, takes, graph))
    return rewrite(joined, partial(_end, joined))


def all_joined(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _sum(takes, graph, node) is not None or _sum_before(graph, node) is not None:
            yield node.where, "is computed apart from the product before it"


def _join(takes: Takes, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _sum(takes, graph, node)
    if found is None:
        return None
    product, shape = found.product, graph.types[node.key].shape
    inputs = [*product.inputs, *[""] * (len(product.op.operands) - len(product.inputs))]
    inputs.append(_with_shape(builder, found.added, graph.types[product.key].shape))
    if graph.types[product.key].shape == shape:
        builder.add(found.op, inputs, node.outputs, product.name)
    else:
        builder.add(Reshape(shape), builder.add(found.op, inputs, name=product.name), node.outputs)
    return {node.key: node.key}


def _with_shape(builder: Builder, tensor: str, shape: Shape) -> str:
    return tensor if builder.type_of(tensor).shape == shape else builder.add(Reshape(shape), [tensor])[0]


def _end(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source = _sum_before(graph, node)
    if source is None:
        return None
    builder.add(replace(instance(source.op, Summed), then=node.op), source.inputs, node.outputs, source.name)
    return {node.key: node.key}


def _sum(takes: Takes, graph: Graph, node: Node) -> _Found | None:
    """The product that a node adds something as large to, and what both are together."""
    kinds = {graph.types[name] for name in (*node.inputs, node.key)} if type(node.op) in SUMMED_TYPES else set()
    if len(kinds) != 1 or kinds.pop().dtype not in SUMMED_TYPES[type(node.op)]:
        return None
    for position in _latest_first(graph, node):
        total = node.op if position == 0 else node.op.swapped() or node.op
        product, added = _product_before(graph, node, node.inputs[position]), node.inputs[1 - position]
        if product is None:
            continue
        op = _with_sum(product.op, total)
        types = graph.all_types(product)
        if takes(op, types | {ADDED: types["Y"]}):
            return _Found(product, added, op)
    return None


def _latest_first(graph: Graph, node: Node) -> list[int]:
    """Operands by when they are made."""
    order = {made.key: number for number, made in enumerate(graph.nodes)}
    return sorted((0, 1), key=lambda position: -order.get(node.inputs[position], -1))


def _product_before(graph: Graph, node: Node, tensor: str) -> Node | None:
    """What makes a tensor that only this node reads, in this shape or another one."""
    source = graph.producers.get(tensor)
    if source is not None and isinstance(source.op, Reshape) and is_only_reader(graph, node, tensor):
        node, tensor = source, source.inputs[0]
        source = graph.producers.get(tensor)
    if source is None or type(source.op) not in _SUMMED or not is_only_reader(graph, node, tensor):
        return None
    return source


def _with_sum(op: Op, total: Op) -> Summed:
    own = {one.name: getattr(op, one.name) for one in fields(op)}
    return _SUMMED[type(op)](**own, total=total)


def _sum_before(graph: Graph, node: Node) -> Node | None:
    """The product with a sum at its end that a node is the activation of."""
    if not is_activation(node.op) or isinstance(node.op, CURVES) or graph.types[node.key].dtype not in FLOATS:
        return None
    source = graph.producers.get(node.inputs[0])
    if source is None or not isinstance(source.op, Summed) or source.op.then is not None:
        return None
    return source if is_only_reader(graph, node, source.key) else None
