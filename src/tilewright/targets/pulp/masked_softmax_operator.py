"""Attention from products to shares as one operator: a softmax of masked scores, which are never stored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, axis_loops, loops
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._elementwise import broadcast
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.records import dataclass
from tilewright.requant.requant32 import Requant32, requant32

BYTE = 256
"""Values of a byte."""


@dataclass(frozen=True)
class MaskedSoftmax(Op):
    """softmax(masking(score(A[..., m, k] @ B[..., n, k]^T), M)), where M broadcasts to the scores."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "M")
    multiplies: ClassVar[bool] = True
    score: Scaling
    masking: RequantizedAdd
    softmax: iSoftmax

    def index(self, shapes: Shapes) -> Index:
        batch = axis_loops(len(shapes["A"]) - 2)
        m, n, k = loops("m n k")
        scores = (*batch, m, n)
        axes = zip(scores[len(scores) - len(shapes["M"]) :], shapes["M"], strict=True)
        mask = tuple(FIRST if size == 1 else axis for axis, size in axes)
        return {"A": (*batch, m, k), "B": (*batch, n, k), "M": mask, "Y": scores}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"n"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        a, b, mask = (types[name].shape for name in "ABM")
        if len(a) < 2 or a[:-2] != b[:-2] or a[-1] != b[-1]:
            raise Refusal(f"rows of {a} are not those of {b}")
        if broadcast([mask, (*a[:-1], b[-2])]) != (*a[:-1], b[-2]):
            raise Refusal(f"a mask of shape {mask} for scores of shape {(*a[:-1], b[-2])}")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.softmax.result_dtypes({"X": self.masking.out.requant.dtype})

    def numpy(self, A: Array, B: Array, M: Array) -> Array:
        scores = self.score(exact_matmul(A.astype(np.int32), B.swapaxes(-1, -2).astype(np.int32)))
        return self.softmax.numpy(self.masking.numpy(scores, M))


def products(length: int) -> tuple[int, int]:
    """The smallest and the largest sum of so many products of bytes."""
    return length * -128 * 127, length * 128 * 128


@cache
def score_requant(score: Scaling, length: int) -> Requant32 | None:
    """Of sums of products; None where 32 bits do not do, or a score has more values than a byte."""
    found = requant32(score.requant, score.mul, score.add, *products(length))
    return None if found is None or found.even or found.top >= BYTE else found
