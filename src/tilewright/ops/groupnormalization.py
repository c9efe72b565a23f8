from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, axis_loops, loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.expand import Expand
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class GroupNormalization(Op):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias; statistics per image and group of channels.

    X[n, g*c, ...]; scale and bias have one value per channel.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "scale", "bias")
    groups: int = 1
    epsilon: float = 1e-5

    def index(self, shapes: Shapes) -> Index:
        n, g, c = loops("n g c")
        channel = g * (shapes["X"][1] // self.groups) + c
        x = (n, channel, *axis_loops(len(shapes["X"]))[2:])
        return {"X": x, "scale": (channel,), "bias": (channel,), "Y": x}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        n, channels, *spatial = shapes["X"]
        inner = {f"d{axis}": size for axis, size in enumerate(spatial, 2)}
        return {"n": n, "g": self.groups, "c": channels // self.groups, **inner}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"c", *(f"d{axis}" for axis in range(2, len(shapes["X"])))})

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, groups=box["g"][1] - box["g"][0])

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if len(shape) < 2 or self.groups < 1 or shape[1] % self.groups:
            raise Refusal(f"shape {shape} does not have channels in {self.groups} groups")
        if any(types[name].shape != shape[1:2] for name in ("scale", "bias")):
            raise Refusal(f"scale {types['scale'].shape} and bias {types['bias'].shape} for {shape[1]} channels")
        if any(kind.dtype != "float32" for kind in types.values()):
            raise Refusal("operands that are not float32", "insert a Cast")

    def numpy(self, X: Array, scale: Array, bias: Array) -> Array:
        rows = X.astype(np.float64).reshape(X.shape[0], self.groups, math.prod(X.shape[1:]) // max(self.groups, 1))
        centred = rows - rows.mean(axis=2, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + self.epsilon)
        shape = (-1, *(1,) * (X.ndim - 2))
        return np.asarray(normal.reshape(X.shape) * scale.reshape(shape) + bias.reshape(shape), np.float32)

    def gradients(self, at: Adjoint) -> Gradients:
        x = at["X"]
        rows = (x.shape[0], self.groups, math.prod(x.shape[1:]) // self.groups)
        wide = (x.shape[1], *(1,) * (x.rank - 2))
        centred = x.reshape(rows) - x.reshape(rows).mean([2])
        inverse = 1.0 / (centred.squared().mean([2]) + self.epsilon).sqrt()
        normal = centred * inverse
        scaled = (at.gradient * at["scale"].reshape(wide)).reshape(rows)
        by_x = inverse * (scaled - scaled.mean([2]) - normal * (scaled * normal).mean([2]))
        per_channel = [0, *range(2, x.rank)]
        by_scale = (at.gradient * normal.reshape(x.shape)).sum(per_channel, keepdims=False)
        return {"X": by_x.reshape(x.shape), "scale": by_scale, "bias": at.gradient.sum(per_channel, keepdims=False)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("stash_type")
        op = cls(node.attribute("num_groups"), node.attribute("epsilon", 1e-5))
        channels = node.type(0).shape[1] if node.rank() > 1 else 0
        if op.groups < 1 or channels % op.groups:
            raise Refusal(f"{channels} channels in {op.groups} groups")
        # Before opset 21 there is one scale per group.
        tables = [_per_channel(name, op.groups, channels, emit) for name in node.inputs[1:3]]
        return emit(op, [node.inputs[0], *tables], node.outputs)


def _per_channel(tensor: str, groups: int, channels: int, emit: Emit) -> str:
    if emit.type_of(tensor).shape != (groups,) or groups == channels:
        return tensor
    (tensor,) = emit(Reshape((groups, 1)), [tensor])
    (tensor,) = emit(Expand((groups, channels // groups)), [tensor])
    return emit(Reshape((channels,)), [tensor])[0]
