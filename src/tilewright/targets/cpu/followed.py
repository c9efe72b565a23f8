"""What follows a convolution or a product of bytes is computed with it, while results are in registers: one more
requantisation (a normalisation that was quantised on its own), or the sum with another tensor of bytes (a residual)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.target import Offer
from tilewright.targets.cpu.byte_sums import byte_sum
from tilewright.targets.cpu.packed_forms import Block, PackedConvolution, PackedProduct, Then
from tilewright.targets.cpu.packed_offers import offers

LARGEST_NEAR = 32000
"""That 16 bits hold with any zero point of a byte."""
SUM_BITS = 30
"""Of the largest sum, without its sign and with what rounding adds."""
NEAR_BY = (0, 1, -1, 2, -2)
ROUNDINGS = frozenset({Rounding.HALF_UP, Rounding.HALF_EVEN, Rounding.HALF_AWAY})
ARGUMENTS = 5
"""Of a packed form, without what follows."""


@dataclass(frozen=True)
class Follower:
    """What a node becomes a part of, and as what."""

    offer: Offer
    then: Then
    values: tuple[Array, Array]
    added: str


Find = Callable[[Block, Graph, Node], Follower | None]


def followed_pass(block: Block) -> Pass:
    """For blocks of so many filters."""
    return Pass("what follows products of bytes", partial(run, block), ensures=partial(all_joined, block))


def run(block: Block, graph: Graph) -> Graph:
    for find in (_requantisation, _sum):
        graph = rewrite(graph, partial(_join, find, block, graph))
    return graph


def all_joined(block: Block, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if any(find(block, graph, node) is not None for find in (_requantisation, _sum)):
            yield node.where, "is computed apart from the product before it"


def _join(find: Find, block: Block, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = find(block, graph, node)
    if found is None:
        return None
    _add(graph, builder, node, found)
    return {node.key: node.key}


def _requantisation(block: Block, graph: Graph, node: Node) -> Follower | None:
    op = node.op
    if not isinstance(op, RequantShift) or op.axis not in (-1, len(graph.types[node.key].shape) - 1):
        return None
    offer = _product_before(block, graph, node, node.inputs[0])
    if offer is None or any(name not in graph.constants for name in node.inputs[1:]):
        return None
    mul, add = (graph.constants[name].astype(np.int64) for name in node.inputs[1:])
    found = short_factors(op.requant, mul, add, graph.types[node.inputs[0]].dtype)
    if found is None:
        return None
    requant, mul, add = found
    return Follower(offer, Then(requant), (mul, add), "")


def short_factors(requant: Requant, mul: Array, add: Array, dtype: str) -> tuple[Requant, Array, Array] | None:
    """Factors and summands with which 32 bits hold all sums, and which give the same for every byte of every channel,
    ties up; None where there are none near by."""
    if requant.rounding not in ROUNDINGS:
        return None
    low, high = limits(dtype)
    x = np.arange(low, high + 1)[:, None]
    wanted, largest = requant(x, mul, add), np.abs(x * mul + add).max()
    fewer = max(0, int(largest).bit_length() - SUM_BITS)
    shift = requant.shift - fewer
    if not 0 < shift < 32 or largest >> requant.shift > LARGEST_NEAR:
        return None
    short = replace(requant, shift=shift, rounding=Rounding.HALF_UP)
    found = _same_results(short, x, wanted, _shifted(mul, fewer), _shifted(add, fewer))
    return None if found is None else (short, *found)


def _shifted(values: Array, bits: int) -> Array:
    return values if bits == 0 else (values + (1 << (bits - 1))) >> bits


def _same_results(requant: Requant, x: Array, wanted: Array, mul: Array, add: Array) -> tuple[Array, Array] | None:
    """The first of some factors and summands near by, for each channel."""
    best_mul, best_add, missing = mul.copy(), add.copy(), np.ones(mul.shape, bool)
    for more_mul, more_add in itertools.product(NEAR_BY, repeat=2):
        same = (requant(x, mul + more_mul, add + more_add) == wanted).all(0) & missing
        best_mul[same], best_add[same] = (mul + more_mul)[same], (add + more_add)[same]
        missing &= ~same
    return None if missing.any() else (best_mul, best_add)


def _sum(block: Block, graph: Graph, node: Node) -> Follower | None:
    op = node.op
    if type(op) is not QLinearAdd or op.requant.shift == 0 or byte_sum(graph, node) is None:
        return None
    if len({graph.types[name].dtype for name in (*node.inputs, node.key)}) > 1:
        return None
    factors = (op.mul_a, op.mul_b)
    for position in _latest_first(graph, node):
        offer = _product_before(block, graph, node, node.inputs[position])
        if offer is not None:
            values = np.array([factors[position]]), np.array([op.offset])
            then = Then(op.requant, factors[1 - position])
            return Follower(offer, then, values, node.inputs[1 - position])
    return None


def _latest_first(graph: Graph, node: Node) -> list[int]:
    """Operands by when they are made."""
    order = {made.key: number for number, made in enumerate(graph.nodes)}
    return sorted((0, 1), key=lambda position: -order.get(node.inputs[position], -1))


def _product_before(block: Block, graph: Graph, node: Node, tensor: str) -> Offer | None:
    """What makes bytes that only this node reads, as a packed form with nothing behind it."""
    source = graph.producers.get(tensor)
    if source is None or not isinstance(source.op, Conv | MatMul) or not is_only_reader(graph, node, tensor):
        return None
    if not NARROW.issuperset(graph.types[name].dtype for name in (tensor, node.key)):
        return None
    if graph.types[tensor].dtype != graph.types[node.key].dtype:
        return None
    offer = next(iter(offers(block, graph, source)), None)
    form = None if offer is None else _form(offer)
    return offer if form is not None and form.way.is_near else None


def _form(offer: Offer) -> PackedConvolution | None:
    op = offer.op.form if isinstance(offer.op, PackedProduct) else offer.op
    return op if isinstance(op, PackedConvolution) else None


def _add(graph: Graph, builder: Builder, node: Node, found: Follower) -> None:
    offer, added = found.offer, found.added
    form = present(_form(offer), node.where, "is no packed form")
    names = {name: builder.constant(array, name) for name, array in offer.constants.items()}
    inputs = [names.get(name, name) for name in offer.inputs]
    inputs += [""] * (ARGUMENTS - len(inputs))
    for name, array in zip(("mul", "add"), found.values, strict=True):
        spread = np.broadcast_to(array.reshape(-1), form.filters)
        inputs.append(builder.constant(form.packed_values(spread), f"{node.key}_then_{name}"))
    inputs += [added] if added else []
    new = replace(form, then=found.then)
    op = PackedProduct(new) if isinstance(offer.op, PackedProduct) else new
    builder.add(op, inputs, node.outputs, graph.producers[node.inputs[0]].name if not added else node.name)
