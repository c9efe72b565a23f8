from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._trees import FEATURE_SHIFT, LEAF_AND_MORE, NAN_OTHERWISE, UNEQUAL
from tilewright.records import dataclass

COMBINING = ("sum", "min", "max")


@dataclass(frozen=True)
class DecisionTrees(Internal):
    """For each sample and target what the leaves say that the sample reaches: their sum, or the least or largest.

    Trees are tables of entries (`ops/_trees.py`). A target that no leaf names has 0.
    """

    operands: ClassVar[tuple[str, ...]] = ("X", "codes", "jumps", "values", "roots")
    targets: int = 1
    combining: str = "sum"

    def index(self, shapes: Shapes) -> Index:
        sample, tree = loops("n t")
        entries = (whole(shapes["codes"][0]),)
        return {
            "X": (sample, whole(shapes["X"][1])), "codes": entries, "jumps": entries, "values": entries,
            "roots": (tree,), "Y": (sample, whole(self.targets)),
        }  # fmt: skip

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"t"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "float32" or len(types["X"].shape) != 2:
            raise Refusal(f"trees of {types['X']} are not supported")

    def numpy(self, X: Array, codes: Array, jumps: Array, values: Array, roots: Array) -> Array:
        rows = np.arange(len(X))
        found = np.zeros((len(X), self.targets), np.float32) if self.combining == "sum" else _none(X, self.targets)
        for root in roots:
            self._add(found, _leaves(X, codes, jumps, values, root), codes, jumps, values, rows)
        return np.where(np.isnan(found), np.float32(0), found) if self.combining != "sum" else found

    def _add(self, found: Array, at: Array, codes: Array, jumps: Array, values: Array, rows: Array) -> None:
        """What the leaves at some entries say, for the samples in some rows."""
        combine = {"sum": np.add, "min": np.fmin, "max": np.fmax}[self.combining]
        while rows.size:
            found[rows, jumps[at]] = combine(found[rows, jumps[at]], values[at])
            more = codes[at] == LEAF_AND_MORE
            rows, at = rows[more], at[more] + 1


def _none(X: Array, targets: int) -> Array:
    return np.full((len(X), targets), np.nan, np.float32)


def _leaves(X: Array, codes: Array, jumps: Array, values: Array, root: int) -> Array:
    """The entry of the leaf that each sample reaches."""
    at = np.full(len(X), root, np.int64)
    while (walking := np.flatnonzero(codes[at] >= 0)).size:
        entries = at[walking]
        code, x = codes[entries].astype(np.int64), X[walking, codes[entries] >> FEATURE_SHIFT]
        holds = np.where(code & UNEQUAL, x != values[entries], x <= values[entries])
        holds ^= ((code & NAN_OTHERWISE) != 0) & np.isnan(x)
        at[walking] = entries + np.where(holds, 1, jumps[entries].astype(np.int64))
    return at
