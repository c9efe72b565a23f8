"""Rotation of pairs of elements by constant angles, as positions of a language model are written into its queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.op import Op
from tilewright.ir.requant import fixed_point
from tilewright.ir.types import Array, limits
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.passes.quantise.pending import Pending, Target, only
from tilewright.passes.quantise.values import MOVES, Context, NoIntegerForm, Value

MOST_NODES = 16
"""Between a tensor and the same with its pairs swapped."""

EXACT = 2**24
"""Up to which a float32 counts elements."""


@dataclass(frozen=True)
class Rotation:
    """x * cosine + other * sine, without a zero point: the other of an element is its partner in a pair."""

    value: Value
    cosine: Array
    sine: Array
    interleaved: bool

    @property
    def largest(self) -> float:
        return self.value.reach * float((np.abs(self.cosine) + np.abs(self.sine)).max())

    def emit(self, context: Context, factor: Array, summand: Array, to: Target, output: str | None) -> str:
        if np.any(summand):
            raise NoIntegerForm("something is added to it before it is quantised")
        unit = max(float(np.abs(table).max()) for table in (self.cosine, self.sine)) / limits("int16")[1]
        if not unit:
            raise NoIntegerForm("it is always zero")
        mul, shift = fixed_point(only(factor) * unit)
        tables = [
            context.builder.constant(np.rint(table / unit).astype(np.int16), f"{context.builder.node_name}_{name}")
            for name, table in (("cosine", self.cosine), ("sine", self.sine))
        ]
        op = QLinearRotate(self.interleaved, self.value.zero, int(mul[0]), to.requant(shift))
        return context.emit(op, [self.value.tensor, *tables], output)


def pending_rotation(context: Context, node: Node) -> Pending:
    """What a sum of a tensor and the same with its pairs swapped, each times a constant, is before it is rounded."""
    left, right = (_product(context, name) for name in node.inputs)
    for straight, across in ((left, right), (right, left)):
        swapped = _swapped(context, across[0], straight[0])
        if swapped is not None:
            return _pending(context, straight, across[1] * swapped[0], swapped[1])
    raise NoIntegerForm("it is no rotation")


def _pending(context: Context, straight: tuple[str, Array], sine: Array, interleaved: bool) -> Pending:
    value, cosine = context.value(straight[0]), straight[1]
    length = value.kind.shape[-1]
    shape = np.broadcast_shapes(cosine.shape, sine.shape, (length,))
    tables = [np.broadcast_to(table, shape) for table in (cosine, sine)]
    if not all(np.all(np.isfinite(table)) for table in tables):
        raise NoIntegerForm("its angles are not finite")
    rank = len(value.kind.shape)
    source = Rotation(value, tables[0], tables[1], interleaved)
    return Pending(source, np.full((1,) * rank, value.scale), np.zeros((1,) * rank))


def _product(context: Context, name: str) -> tuple[str, Array]:
    """A tensor and the constant that it is multiplied with."""
    node = context.producer(name)
    if node is None or not isinstance(node.op, Mul) or context.known(name) is not None:
        raise NoIntegerForm("it is no rotation")
    for tensor, other in (node.inputs, node.inputs[::-1]):
        constant = context.known(other)
        if constant is not None and context.shape(tensor) == context.shape(name):
            return tensor, constant.astype(np.float64)
    raise NoIntegerForm("it is no rotation")


def _swapped(context: Context, tensor: str, source: str) -> tuple[Array, bool] | None:
    """The signs of a source's elements in a tensor that is the source with its pairs swapped, and how they lie."""
    shape = context.shape(source)
    count = int(np.prod(shape))
    if not shape or shape != context.shape(tensor) or shape[-1] % 2 or not 0 < count < EXACT:
        return None
    numbers = np.arange(1, count + 1, dtype=np.float32).reshape(shape)
    found = _traced(context, tensor, {source: numbers}, [0])
    if found is None or tensor == source:
        return None
    signs = np.sign(found).reshape(-1, shape[-1])
    for interleaved in (False, True):
        others = QLinearRotate(interleaved).others(shape[-1])
        if np.array_equal(np.abs(found), numbers[..., others]) and np.all(signs == signs[0]):
            return signs[0].astype(np.float64), interleaved
    return None


def _traced(context: Context, tensor: str, values: dict[str, Array], steps: list[int]) -> Array | None:
    """A tensor that is another one with its elements moved and negated, computed from a value of that one."""
    if tensor in values:
        return values[tensor]
    node = context.producer(tensor)
    steps[0] += 1
    if node is None or not isinstance(node.op, (*MOVES, Neg, Concat)) or steps[0] > MOST_NODES:
        return None
    moved = len(node.inputs) if isinstance(node.op, Concat) else 1
    found = [_traced(context, name, values, steps) for name in node.inputs[:moved]]
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
