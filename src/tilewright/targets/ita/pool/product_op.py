"""Matrix products on ITAPool, as heads of rows that attend to themselves alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Box, axis_loops, loops, whole
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import RELU, Activation, Scale, linear
from tilewright.targets.ita.layout import SIDE, tiles_of
from tilewright.targets.ita.pool.alone import MARKED, MIXED, SCORES
from tilewright.targets.ita.pool.op import record, signed

HALF = 128


@dataclass(frozen=True)
class PoolProduct(Internal):
    """curve(scale(X @ W' + bias)): X[..., m, k]; W[c, 64 * inner] and bias[c, 64], for 64 columns of the result each;
    Z[..., m, columns]. Bytes without a sign lose 128 on the way in, and get it back on the way out."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "bias")
    results: ClassVar[tuple[str, ...]] = ("Z",)
    multiplies: ClassVar[bool] = True

    scale: Scale = field(default_factory=Scale)
    curve: Activation = field(default_factory=Activation)
    inner: int = 2 * SIDE
    """Columns that ITA reads of a row; weights are zero for those behind its elements."""
    columns: int = SIDE
    unsigned: bool = False
    """Whether results have no sign."""

    def index(self, shapes: Shapes) -> Index:
        before, (m, c) = axis_loops(len(shapes["X"]) - 2), loops("m c")
        return {
            "X": (*before, m, whole(shapes["X"][-1])), "W": (c, whole(SIDE * self.inner)), "bias": (c, whole(SIDE)),
            "Z": (*before, m, c * SIDE + whole(min(self.columns, SIDE))),
        }  # fmt: skip

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * self.columns

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, blocks = types["X"], tiles_of(self.columns)
        if x.dtype not in ("int8", "uint8") or len(x.shape) < 2 or x.shape[-1] > self.inner - SIDE:
            raise Refusal(f"X is {x}, rows of up to {self.inner - SIDE} bytes are expected")
        if types["W"] != TensorType("int8", (blocks, SIDE * self.inner)):
            raise Refusal(f"W is {types['W']}, {blocks} times {SIDE * self.inner} bytes are expected")
        if types["bias"] != TensorType("int32", (blocks, SIDE)):
            raise Refusal(f"bias is {types['bias']}, {blocks} times {SIDE} values are expected")

    def result_shapes(self, shapes: Shapes) -> tuple[tuple[int, ...], ...]:
        return ((*shapes["X"][:-1], self.columns),)

    def at(self, shapes: Shapes, box: Box) -> Op:
        first, end = box["c"]
        return replace(self, columns=min(self.columns, end * SIDE) - first * SIDE)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("uint8" if self.unsigned else "int8",)

    def numpy(self, X: Array, W: Array, bias: Array) -> Array:
        x, k = signed(X), X.shape[-1]
        weights = W.reshape(-1, self.inner)[: self.columns, :k].T
        made = linear(x, weights, bias.reshape(-1)[: self.columns].astype(np.int64), self.scale, self.curve)
        return made.view(np.uint8) ^ np.uint8(HALF) if self.unsigned else made

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Of a head. ITAPool has no relu: values are 128 less, so that they are clipped at zero, and get that back."""
        values, output = self.scale, Scale()
        if self.curve.kind == RELU:
            values, output = replace(values, add=values.add - HALF), Scale(add=HALF + self.curve.scale.add)
        return MARKED, MARKED, values, SCORES, MIXED, output

    def params(self, types: Mapping[str, TensorType]) -> Params:
        *before, rows, elements = types["X"].shape
        return {
            "batch": math.prod(before), "rows": rows, "elements": elements, "columns": self.columns,
            "inner": self.inner, "flips_in": int(types["X"].dtype == "uint8"), "flips_out": int(self.unsigned),
            **record(self.scales),
        }  # fmt: skip
