from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._dialect import as_int32, check_integers, int32_constant, requant_of
from tilewright.records import dataclass

PLAIN = full_range(0, "int8")


@dataclass(frozen=True)
class RequantShift(Op):
    """clamp((x * mul + add + half) >> shift): `mul` and `add` have one value, or one per position along `axis`."""

    operands: ClassVar[tuple[str, ...]] = ("X", "mul", "add")
    elementwise: ClassVar[bool] = True
    requant: Requant = PLAIN
    axis: int = -1
    """The channel axis; -1 where all channels share one value."""

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        channel = FIRST if self.axis < 0 else loops[self.axis]
        return {"X": loops, "mul": (channel,), "add": (channel,), "Y": loops}

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_integers(types)
        shape = types["X"].shape
        if self.axis >= len(shape):
            raise Refusal(f"channel axis {self.axis} is outside X of shape {shape}")
        wanted = (1,) if self.axis < 0 else (shape[self.axis],)
        for name in ("mul", "add"):
            if types[name] != TensorType("int32", wanted):
                raise Refusal(f"{name} is {types[name]}, {TensorType('int32', wanted)} expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array, mul: Array, add: Array) -> Array:
        shape = (-1,) if self.axis < 0 else (-1, *(1,) * (X.ndim - self.axis - 1))
        return self.requant(X, mul.reshape(shape), add.reshape(shape))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        return emit_requant(node, emit, as_int32(node, emit, 0), (1, 2))


def emit_requant(node: OnnxNode, emit: Emit, tensor: str, positions: tuple[int, int]) -> Sequence[str]:
    """The requantisation of a tensor by a node's attributes and two of its inputs, mul and add."""
    mul, add = (int32_constant(node, at, name) for at, name in zip(positions, ("mul", "add"), strict=True))
    axis, mul, add = per_channel(mul, add, emit.type_of(tensor).shape)
    names = [emit.constant(values, node.inputs[at]) for values, at in zip((mul, add), positions, strict=True)]
    return emit(RequantShift(requant_of(node), axis), [tensor, *names], node.outputs)


def expand_requantised(operator: type[Op], node: OnnxNode, emit: Emit) -> Sequence[str]:
    """A node that is another operator with two inputs more, mul and add, and a requantisation of its result."""
    count = len(node.inputs) - 2
    if count < 1:
        raise Refusal(f"{len(node.inputs)} inputs given; mul and add are expected at the end")
    total = emit.fresh(f"{node.outputs[0]}_total")
    plain = replace(
        node, inputs=node.inputs[:count], types=node.types[:count], constants=node.constants[:count], outputs=(total,)
    )
    made = operator.expand(plain, emit)
    return emit_requant(node, emit, made[0], (count, count + 1))


def per_channel(mul: Array, add: Array, shape: Shape) -> tuple[int, Array, Array]:
    """The channel axis (-1 for none), and mul and add as vectors along it."""
    larger = max(mul, add, key=lambda values: values.size)
    axis = -1 if larger.size == 1 else channel_axis(larger.shape, shape)
    if min(mul.size, add.size) not in (1, larger.size):
        raise Refusal(f"mul has {mul.size} values and add has {add.size}")
    vectors = (np.broadcast_to(values.reshape(-1), (larger.size,)).copy() for values in (mul, add))
    return (axis, *vectors)  # type: ignore[return-value]


def channel_axis(given: Shape, shape: Shape) -> int:
    """The axis of a tensor that the values of a vector stand along; its shape does not always broadcast.

    Images have their channels on axis 1, also where a vector of shape [C] or [C, 1, 1] stands on [N, C, H, W] or
    [N, C, L]; a matrix takes [M, 1] for its rows and [N] for its columns.
    """
    long = [axis for axis, size in enumerate(given) if size > 1]
    if len(long) != 1:
        raise Refusal(f"mul or add of shape {given} varies along several axes", "one value per channel is supported")
    channels, aligned = given[long[0]], long[0] + len(shape) - len(given)
    leads = long[0] == 0 and ((len(given) == 1 and len(shape) > 3) or len(given) == len(shape) > 2)
    for axis in (1, aligned) if leads else (aligned, 1):
        if 0 <= axis < len(shape) and shape[axis] == channels:
            return axis
    raise Refusal(f"mul or add of shape {given} does not fit a tensor of shape {shape}")
