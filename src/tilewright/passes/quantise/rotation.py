"""Rotation of pairs of elements by known angles, as positions of a language model are written into its queries."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.op import Op
from tilewright.ir.requant import fixed_point
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.passes.quantise.angles import Angles, angles_of
from tilewright.passes.quantise.pending import Pending, Target, only
from tilewright.passes.quantise.values import MOVES, Context, NoIntegerForm, Value
from tilewright.records import dataclass

MOST_NODES = 16
"""Between a tensor and the same with its pairs swapped."""

EXACT = 2**24
"""Up to which a float32 counts elements."""


@dataclass(frozen=True)
class Rotation:
    """x * cosine + other * sine, without a zero point: the other of an element is its partner in a pair."""

    value: Value
    cosine: Angles
    sine: Angles
    interleaved: bool

    @property
    def largest(self) -> float:
        return self.value.reach * float((np.abs(self.cosine.table) + np.abs(self.sine.table)).max())

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        if np.any(summand):
            raise NoIntegerForm("something is added to it before it is quantised")
        unit = max(float(np.abs(one.table).max()) for one in (self.cosine, self.sine)) / limits("int16")[1]
        if not unit:
            raise NoIntegerForm("it is always zero")
        mul, shift = fixed_point(only(factor) * unit)
        tables = [angles.emit(context, unit, name) for name, angles in (("cosine", self.cosine), ("sine", self.sine))]
        op = QLinearRotate(self.interleaved, self.value.zero, int(mul[0]), to.requant(shift))
        return context.emit(op, [self.value.tensor, *tables], output)


@dataclass(frozen=True)
class Turned:
    """A sum that is a rotation, in a float graph."""

    source: str
    cosine: Angles
    sine: Angles
    """With the signs of the rotation."""
    interleaved: bool
    inside: frozenset[str]
    """What is computed between the source and the sum."""


def pending_rotation(context: Context, node: Node) -> Pending:
    """What a sum of a tensor and the same with its pairs swapped, each times angles, is before it is rounded."""
    turned = rotation_of(context, node)
    if turned is None:
        raise NoIntegerForm("it is no rotation")
    value = context.value(turned.source)
    if not (np.all(np.isfinite(turned.cosine.table)) and np.all(np.isfinite(turned.sine.table))):
        raise NoIntegerForm("its angles are not finite")
    rank = len(value.kind.shape)
    source = Rotation(value, turned.cosine, turned.sine, turned.interleaved)
    return Pending(source, np.full((1,) * rank, value.scale), np.zeros((1,) * rank))


def rotation_of(context: Context, node: Node) -> Turned | None:
    if not isinstance(node.op, Add):
        return None
    left, right = (_product(context, name) for name in node.inputs)
    if left is None or right is None:
        return None
    for straight, across in ((left, right), (right, left)):
        swapped = _swapped(context, across[0], straight[0])
        if swapped is None:
            continue
        both = _alike(straight[1], across[1].times(swapped.signs), context.shape(straight[0])[-1:])
        if both is None:
            continue
        inside = swapped.inside | frozenset(node.inputs) | both[0].names | both[1].names
        return Turned(straight[0], *both, swapped.interleaved, inside)
    return None


def _alike(cosine: Angles, sine: Angles, row: Shape) -> tuple[Angles, Angles] | None:
    """Both in one shape; rows of tables are of whole rows already."""
    if cosine.moves or sine.moves:
        whole = cosine.table.shape == sine.table.shape and cosine.table.shape[-1:] == row
        return (cosine, sine) if whole and cosine.moves and sine.moves else None
    shape = np.broadcast_shapes(cosine.table.shape, sine.table.shape, row)
    return cosine.like(shape), sine.like(shape)


def _product(context: Context, name: str) -> tuple[str, Angles] | None:
    """A tensor and the angles that it is multiplied with."""
    node = context.producer(name)
    if node is None or not isinstance(node.op, Mul) or context.known(name) is not None:
        return None
    for tensor, other in (node.inputs, node.inputs[::-1]):
        angles = angles_of(context, other)
        if angles is not None and context.shape(tensor) == context.shape(name):
            return tensor, angles
    return None


@dataclass(frozen=True)
class _Swapped:
    signs: Array
    interleaved: bool
    inside: frozenset[str]


def _swapped(context: Context, tensor: str, source: str) -> _Swapped | None:
    """How a tensor is another one with its pairs swapped, if it is."""
    shape = context.shape(source)
    count = int(np.prod(shape))
    if not shape or tensor == source or shape != context.shape(tensor) or shape[-1] % 2 or not 0 < count < EXACT:
        return None
    values = {source: np.arange(1, count + 1, dtype=np.float32).reshape(shape)}
    found = _traced(context, tensor, values)
    if found is None:
        return None
    signs = np.sign(found).reshape(-1, shape[-1])
    for interleaved in (False, True):
        others = QLinearRotate(interleaved).others(shape[-1])
        if np.array_equal(np.abs(found), values[source][..., others]) and np.all(signs == signs[0]):
            return _Swapped(signs[0].astype(np.float64), interleaved, frozenset(values) - {source})
    return None


def _traced(context: Context, tensor: str, values: dict[str, Array]) -> Array | None:
    """A tensor that is another one with its elements moved and negated, computed from a value of that one."""
    if tensor in values:
        return values[tensor]
    node = context.producer(tensor)
    if node is None or not isinstance(node.op, (*MOVES, Neg, Concat)) or len(values) > MOST_NODES:
        return None
    moved = len(node.inputs) if isinstance(node.op, Concat) else 1
    found = [_traced(context, name, values) for name in node.inputs[:moved]]
    operands = [*found, *(context.known(name) for name in node.inputs[moved:])]
    if any(operand is None for operand in operands):
        return None
    op: Op = node.op
    values[tensor] = np.asarray(op.numpy(*operands))
    return values[tensor]


def is_sum_of_products(context: Context, node: Node) -> bool:
    """Whether it may be a rotation."""
    makers = [context.producer(name) for name in node.inputs]
    return isinstance(node.op, Add) and all(maker is not None and isinstance(maker.op, Mul) for maker in makers)
