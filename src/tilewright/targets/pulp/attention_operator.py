"""Attention of masked scores as one operator: neither scores nor shares are ever stored as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._loops import permuted
from tilewright.ops._scaling import Scaling
from tilewright.records import dataclass
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax


@dataclass(frozen=True)
class MaskedAttention(Op):
    """mix(shares(A[..., m, k], B[..., n, k], M) @ V[..., n, e]), stored as a Transpose of `perm_y` would give it."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "M", "V")
    shares: MaskedSoftmax
    mix: Scaling
    perm_y: Shape = ()

    def index(self, shapes: Shapes) -> Index:
        e, (*heads, m, n) = loops("e")[0], self.shares.index({name: shapes[name] for name in "ABM"})["Y"]
        scores = self.shares.index({name: shapes[name] for name in "ABM"})
        result = permuted((*heads, m, e), self.perm_y)
        return {**{name: scores[name] for name in "ABM"}, "V": (*heads, n, e), "Y": result}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        *heads, rows, length = shapes["A"]
        columns, width = shapes["V"][-2:]
        batch = {axis.loops[0]: size for axis, size in zip(axis_loops(len(heads)), heads, strict=True)}
        return {**batch, "m": rows, "n": columns, "k": length, "e": width}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("nke")

    def macs(self, shapes: Shapes) -> int:
        *heads, rows, length = shapes["A"]
        columns, width = shapes["V"][-2:]
        return math.prod(heads) * rows * columns * (length + width)

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.shares.check({name: types[name] for name in "ABM"})
        b, v = types["B"].shape, types["V"].shape
        if v[:-1] != b[:-1]:
            raise Refusal(f"values of shape {v} for keys of shape {b}")
        if self.perm_y and sorted(self.perm_y) != list(range(len(v))):
            raise Refusal(f"perm_y {self.perm_y} is no order of {len(v)} axes")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.mix.requant.dtype,)

    def numpy(self, A: Array, B: Array, M: Array, V: Array) -> Array:
        shares = self.shares.numpy(A, B, M)
        mixed = self.mix(exact_matmul(shares.astype(np.int32), V.astype(np.int32)))
        return np.ascontiguousarray(mixed.transpose(self.perm_y)) if self.perm_y else mixed
