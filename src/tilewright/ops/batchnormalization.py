from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType, type_of
from tilewright.ir.value import Value
from tilewright.ops._compose import Compose
from tilewright.ops.reducemean import ReduceMean
from tilewright.records import dataclass


@dataclass(frozen=True)
class BatchNormalization(Op):
    """(x - mean) / sqrt(var + epsilon) * scale + B with one value per channel; without mean and var: x * scale + B."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "B", "mean?", "var?")
    elementwise: ClassVar[bool] = True
    epsilon: float = 1e-5
    axis: int = 1
    """Of the channels; one axis alone is not theirs."""

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        channel = axes[self.axis] if len(axes) > 1 else FIRST
        return {"X": axes, **{name: (channel,) for name in shapes if name != "X"}, "Y": axes}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        channels = self.channels(types["X"].shape)
        for name, kind in types.items():
            if kind.dtype != "float32":
                raise Refusal(f"{name} is {kind.dtype}; float32 is supported")
            if name != "X" and kind.shape != (channels,):
                raise Refusal(f"{name} has shape {kind.shape} for {channels} channels")
        if ("mean" in types) != ("var" in types):
            raise Refusal("mean and var must both be given, or neither")

    def numpy(self, X: Array, scale: Array, B: Array, mean: Array | None = None, var: Array | None = None) -> Array:
        scale, shift = self.scale_and_shift(scale, B, mean, var)
        shape = (-1, *(1,) * (X.ndim - 1 - self.axis)) if X.ndim > 1 else (-1,)
        return X * scale.reshape(shape) + shift.reshape(shape)

    def channels(self, shape: Shape) -> int:
        return shape[self.axis] if len(shape) > 1 else 1

    def scale_and_shift(
        self, scale: Array, B: Array, mean: Array | None = None, var: Array | None = None
    ) -> tuple[Array, Array]:
        """The factor and the summand of each channel."""
        if mean is None or var is None:
            return scale, B
        factor = scale / np.sqrt(var + np.float32(self.epsilon))
        return factor, B - mean * factor

    def gradients(self, at: Adjoint) -> Gradients:
        gradient, x = at.gradient, at["X"]
        total = self._per_channel(gradient)
        if "mean" not in at:
            return {"X": gradient * self._spread(at["scale"], x), "scale": self._per_channel(gradient * x), "B": total}
        inverse = 1.0 / (at["var"] + self.epsilon).sqrt()
        factor = inverse * at["scale"]
        product = self._per_channel(gradient * (x - self._spread(at["mean"], x))) * inverse
        found = {"X": gradient * self._spread(factor, x), "scale": product, "B": total, "mean": -(total * factor)}
        return {**found, "var": product * factor * inverse * -0.5}

    def _spread(self, values: Value, x: Value) -> Value:
        """Values of channels, ready to be broadcast."""
        return values.reshape((self.channels(x.shape), *(1,) * (x.rank - 1 - self.axis)) if x.rank > 1 else (1,))

    def _per_channel(self, value: Value) -> Value:
        others = [axis for axis in range(value.rank) if axis != self.axis or value.rank == 1]
        return value.sum(others, keepdims=False).reshape((self.channels(value.shape),))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("momentum", "is_test", "consumed_inputs")
        if node.attribute("training_mode", 0):
            return cls._training(node, emit)
        if not node.attribute("spatial", 1):
            raise Refusal("spatial=0 (one value per element) is not supported")
        op = cls(float(node.attribute("epsilon", 1e-5)))
        values = [value for value in node.constants[1:5] if value is not None]
        inputs = node.inputs[:5]
        if len(values) == 4 and {type_of(value) for value in values} == {TensorType("float32", values[0].shape)}:
            scale, shift = op.scale_and_shift(*values)
            inputs = (inputs[0], emit.constant(scale, inputs[1]), emit.constant(shift, inputs[2]))
            op = cls()
        return emit(op, inputs, [name for name in node.outputs if name])

    @classmethod
    def _training(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        """By mean and variance of the batch, which the running ones follow."""
        make, x, rank = Compose(node, emit), node.inputs[0], node.rank()
        axes = tuple(axis for axis in range(rank) if axis != 1)
        mean = make(ReduceMean(axes, True), x)
        centred = make.sub(x, mean)
        variance = make(ReduceMean(axes, False), make.mul(centred, centred))
        mean = make.reshape(mean, (cls().channels(make.shape(x)),))
        (y,) = emit(cls(float(node.attribute("epsilon", 1e-5))), [x, *node.inputs[1:3], mean, variance])
        kept = float(node.attribute("momentum", 0.9))
        running = [
            make.add(make.scaled(before, kept), make.scaled(now, 1 - kept))
            for before, now in zip(node.inputs[3:5], (mean, variance), strict=True)
        ]
        return make.give(y, *running)
