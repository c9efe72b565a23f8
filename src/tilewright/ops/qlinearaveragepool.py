from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.affine import Box, loops
from tilewright.errors import Refusal
from tilewright.onnx_node import Emit, OnnxNode
from tilewright.op import Index, Op, Params
from tilewright.ops._qlinear import check_mean, expand_unary, mean, refuse_channels_last
from tilewright.ops._spatial import local_padding
from tilewright.ops._windows import Windowed
from tilewright.requant import NO_CHANGE, Requant
from tilewright.types import Array, Shape, Shapes, TensorType


@dataclass(frozen=True)
class QLinearAveragePool(Windowed):
    """requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside X, `count` of them."""

    kernel: Shape = (1, 1)
    x_zero: int = 0
    mul: int = 1
    requant: Requant = NO_CHANGE

    def taps(self, shapes: Shapes) -> Shape:
        return self.kernel

    def index(self, shapes: Shapes) -> Index:
        n, c = loops("n c")
        return {"X": (n, c, *self.read_axes()), "Y": (n, c, *self.out_loops())}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {"n": shapes["X"][0], "c": shapes["X"][1]} | self.spatial_extents(shapes)

    def reductions(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("rs"[-self.rank :])

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        # The number of elements inside X is known only for a whole window.
        return frozenset("rs"[-self.rank :])

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, padding=local_padding(self.index(shapes), "X", shapes["X"], box))

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, count = types["X"], math.prod(self.kernel)
        self.check_window({"X": kind.shape})
        if kind.dtype not in ("int8", "uint8", "int16", "uint16"):
            raise Refusal(f"X is {kind.dtype}; 8 and 16 bits are supported")
        check_mean(kind.dtype, self.x_zero, count, self.mul, self.requant)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.requant.dtype,)

    def numpy(self, X: Array) -> Array:
        total = self.patches(X.astype(np.int64) - self.x_zero, self.kernel).sum(-1)
        count = self.patches(np.ones((1, 1, *X.shape[2:]), np.int64), self.kernel).sum(-1)
        return mean(total, count, self.mul, self.requant)

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        refuse_channels_last(node)
        return expand_unary(node, emit, "AveragePool")

    def params(self, types: Mapping[str, TensorType]) -> Params:
        x, y = types["X"].shape, types["Y"].shape
        window = self.window_params(x, y, self.kernel)
        del window["batch"]
        rounding: Params = {"x_zero": self.x_zero, "mul": self.mul, "requant": self.requant.params(1)}
        return {"planes": x[0] * x[1]} | window | rounding
