"""Totals of bytes that are scaled to floats at once become one operator (scaled_forms.py): a product of bytes without a
zero point that is known when the network runs, times scales, plus a bias, and a clamp."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.ops._linear import NARROW
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.late_zero_points import bytes_and_zero
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.target import Offer
from tilewright.targets.cpu.packed_forms import Block, PackedConvolution, PackedProduct
from tilewright.targets.cpu.packed_offers import offers
from tilewright.targets.cpu.scaled_forms import ScaledProduct


@dataclass(frozen=True)
class Found:
    """A product of bytes, and what its totals go through."""

    product: Node
    """With the bytes themselves as its first operand."""
    offer: Offer
    zero: str = ""
    scale: str = ""
    row_scale: str = ""
    bias: str = ""
    activation: Op | None = None
    perm: Shape = ()
    """How the totals were turned before they were scaled."""

    @property
    def is_scaled(self) -> bool:
        return bool(self.scale or self.row_scale)

    @property
    def packed(self) -> PackedConvolution | PackedProduct:
        op = self.offer.op
        return op if isinstance(op, PackedProduct) else instance(op, PackedConvolution)

    @property
    def form(self) -> PackedConvolution:
        return self.packed.form if isinstance(self.packed, PackedProduct) else self.packed


Step = Callable[[Graph, Found, str], Found | None]


def scaled_pass(block: Block) -> Pass:
    """For blocks of so many filters."""
    return Pass("scaled products of bytes", partial(run, block), ensures=partial(all_scaled, block))


def run(block: Block, graph: Graph) -> Graph:
    return rewrite(graph, partial(_join, block, graph))


def all_scaled(block: Block, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _whole(block, graph, node) is not None:
            yield node.where, "scales a product of bytes that is computed apart from it"


def _join(block: Block, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _whole(block, graph, node)
    if found is None:
        return None
    _add(graph, builder, node, found)
    return {node.key: node.key}


def _whole(block: Block, graph: Graph, node: Node) -> Found | None:
    """What ends with a node, if nothing more belongs to it."""
    found = _ending(block, graph, node)
    readers = graph.consumers.get(node.key, [])
    if found is None or not found.is_scaled:
        return None
    goes_on = len(readers) == 1 and is_only_reader(graph, readers[0], node.key)
    return None if goes_on and _ending(block, graph, readers[0]) is not None else found


def _ending(block: Block, graph: Graph, node: Node) -> Found | None:
    op = node.op
    if isinstance(op, Cast):
        return _totals(block, graph, node)
    if isinstance(op, Mul | Add) and op.wide:
        return None
    if isinstance(op, Mul | Add):
        step = _scaled if isinstance(op, Mul) else _biased
        tries = (_with(block, graph, node, step, position) for position in (0, 1))
        return next((found for found in tries if found is not None), None)
    if not isinstance(op, Relu | Clip):
        return None
    found = _before(block, graph, node, node.inputs[0])
    is_last = found is None or found.activation is not None or not found.is_scaled
    return None if found is None or is_last else replace(found, activation=op)


def _before(block: Block, graph: Graph, node: Node, tensor: str) -> Found | None:
    source = graph.producers.get(tensor)
    return None if source is None or not is_only_reader(graph, node, tensor) else _ending(block, graph, source)


def _with(block: Block, graph: Graph, node: Node, step: Step, position: int) -> Found | None:
    """A sum or product of what came before, which is at a position, and another operand."""
    found = _before(block, graph, node, node.inputs[position])
    if found is None or found.activation is not None or found.bias:
        return None
    is_spread = graph.types[node.key].shape != graph.types[node.inputs[position]].shape
    return None if is_spread else step(graph, found, node.inputs[1 - position])


def _scaled(graph: Graph, found: Found, other: str) -> Found | None:
    if found.row_scale:
        return None
    if not found.scale and _is_by_filter(graph, found, other):
        return replace(found, scale=other)
    return replace(found, row_scale=other) if _is_by_row(graph, found, other) else None


def _biased(graph: Graph, found: Found, other: str) -> Found | None:
    return replace(found, bias=other) if found.is_scaled and _is_by_filter(graph, found, other) else None


def _is_by_filter(graph: Graph, found: Found, tensor: str) -> bool:
    kind, filters = graph.types[tensor], found.form.filters
    if kind.elements == 1:
        return True
    behind = len(found.perm) - 1 - found.perm.index(max(found.perm)) if found.perm else 0
    return kind.elements == filters and len(kind.shape) > behind and kind.shape[-1 - behind] == filters


def _is_by_row(graph: Graph, found: Found, tensor: str) -> bool:
    kind, rows = graph.types[tensor], (*graph.types[found.product.inputs[0]].shape[:-1], 1)
    return kind.elements == 1 or (kind.shape == rows and isinstance(found.packed, PackedProduct) and not found.perm)


def _turned(graph: Graph, cast: Node) -> tuple[Node | None, Shape]:
    """What makes totals that nothing else reads, and how they are turned afterwards."""
    source = graph.producers.get(cast.inputs[0])
    if source is None or not is_only_reader(graph, cast, source.key):
        return None, ()
    if not isinstance(source.op, Transpose):
        return source, ()
    product = graph.producers.get(source.inputs[0])
    return (product if is_only_reader(graph, source, source.inputs[0]) else None), source.op.perm


def _totals(block: Block, graph: Graph, cast: Node) -> Found | None:
    """A product of bytes whose totals become floats."""
    product, perm = _turned(graph, cast)
    if product is None or graph.types[cast.key].dtype != "float32":
        return None
    if not isinstance(product.op, Conv | MatMul) or product.op.requant is not None or len(product.inputs) > 2:
        return None
    bytes_, zero = bytes_and_zero(graph, product.inputs[0])
    plain = replace(product, inputs=(bytes_, *product.inputs[1:]))
    offer = next(iter(offers(block, graph, plain)), None) if graph.types[bytes_].dtype in NARROW else None
    if offer is None or not isinstance(offer.op, PackedConvolution | PackedProduct):
        return None
    found = Found(plain, offer, zero, perm=perm)
    conv = found.form.conv
    if conv.groups > 1 or conv.x_zero:
        return None
    return found if not zero or _is_by_row(graph, found, zero) else None


def _add(graph: Graph, builder: Builder, node: Node, found: Found) -> None:
    form, x = found.form, found.product.inputs[0]
    (name,) = [name for name in found.offer.inputs if name.endswith("_W_packed")]
    packed = found.offer.constants[name]
    sums = form.plain_weights(packed, graph.types[x].shape[-1]).astype(np.int64).sum(1)
    zero = found.zero or builder.constant(np.zeros((), graph.types[x].element), f"{node.key}_zero")
    scale = found.scale or builder.constant(np.ones((), np.float32), f"{node.key}_scale")
    inputs: Sequence[str] = (
        x, builder.constant(packed, name), builder.constant(form.packed_values(sums), f"{node.key}_sums"),
        scale, zero, found.row_scale, found.bias,
    )  # fmt: skip
    outputs = None if found.perm else node.outputs
    made = builder.add(ScaledProduct(found.packed, found.activation), inputs, outputs, found.product.name)
    if found.perm:
        builder.add(Transpose(found.perm), made, node.outputs)
