from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Span, axis_loops, loops
from tilewright.ir.op import Index
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import check_bias, check_factors, check_requant, result_dtype
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass

OF_WORDS = ("C", "mul", "add")
"""Operands with one value for each row of B."""


@dataclass(frozen=True)
class ArgMaxMatMul(Internal):
    """Of A[..., k] times the rows of B[n, k], `block` of them at a time: the largest product, and which row made it.

    The first of equals counts. Products are those of MatMul; only the best of each block is stored.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?", "mul?", "add?")
    results: ClassVar[tuple[str, ...]] = ("best", "place")
    multiplies: ClassVar[bool] = True
    block: int = 1
    requant: Requant | None = None

    def blocks(self, words: int) -> int:
        return -(-words // self.block)

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["A"]) - 1)
        j, r, k = loops("j r k")
        word = j * self.block + r
        others = {name: (word,) for name in OF_WORDS if name in shapes}
        return {"A": (*axes, k), "B": (word, k), **others, "best": (*axes, j), "place": (*axes, j)}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        """The last block may be shorter."""
        words = shapes["B"][0]
        missing = self.blocks(words) * self.block - words
        return {(name, 0): (0, missing) for name in ("B", *OF_WORDS) if name in shapes}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"r", "k"})

    def extents(self, shapes: Shapes) -> dict[str, int]:
        *rows, length = shapes["A"]
        sizes = {f"d{axis}": size for axis, size in enumerate(rows)}
        return sizes | {"j": self.blocks(shapes["B"][0]), "r": self.block, "k": length}

    def check(self, types: Mapping[str, TensorType]) -> None:
        a, b = types["A"].shape, types["B"].shape
        if len(b) != 2 or not a or a[-1] != b[1] or not b[0] or self.block < 1:
            raise Refusal(f"blocks of {self.block} rows of B {types['B']} with rows of A {types['A']}")
        for name in set(OF_WORDS) & set(types):
            if types[name].shape != b[:1]:
                raise Refusal(f"{name} is {types[name]}; one value for each of {b[0]} rows is expected")
        check_factors("A", "B", types)
        check_bias("C", "A", types)
        check_requant(self, "A", types)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return result_dtype(self, dtypes["A"]), "int32"

    def numpy(self, A: Array, B: Array, *others: Array | None) -> tuple[Array, Array]:
        scores = MatMul(trans_b=True, requant=self.requant).numpy(A, B, *others)
        starts = range(0, scores.shape[-1], self.block)
        parts = [scores[..., start : start + self.block] for start in starts]
        places = [np.argmax(part, -1).astype(np.int32) for part in parts]
        best = [np.take_along_axis(part, at[..., None], -1)[..., 0] for part, at in zip(parts, places, strict=True)]
        return np.stack(best, -1), np.stack(places, -1)
