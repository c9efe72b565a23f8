from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, loops
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._attention_rows import heads_first, repeats, tokens_first
from tilewright.ops.fusedattention import FusedAttention
from tilewright.records import dataclass


@dataclass(frozen=True)
class MaskedAttention(FusedAttention):
    """Attention with a mask for its scores [b, h, t, s], with which it broadcasts. Floats are added to the scores; of
    truths, those that are `shows` leave a score, and the others put `hidden` in its place."""

    operands: ClassVar[tuple[str, ...]] = ("Q", "K", "V", "mask")
    shows: bool = True
    hidden: float = -np.inf
    empty_is_zero: bool = False
    """Whether a row that has no weights, as all its scores are -infinity, is zeros; else no numbers."""

    gradients = Op.gradients

    def index(self, shapes: Shapes) -> Index:
        b, t, g, r, s = loops("b t g r s")
        full = (b, g * repeats(shapes) + r, t, s)
        mask = tuple(axis if size > 1 else FIRST for axis, size in zip(full, shapes["mask"], strict=True))
        return {**super().index(shapes), "mask": mask}

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        mask = types["mask"]
        batch, queries, heads, _ = types["Q"].shape
        scores = (batch, heads, queries, types["K"].shape[1])
        if len(mask.shape) != 4 or any(size not in (1, most) for size, most in zip(mask.shape, scores, strict=True)):
            raise Refusal(f"a mask of shape {mask.shape}; one that broadcasts with {scores} is expected")
        if mask.dtype not in ("float32", "bool"):
            raise Refusal(f"a mask of {mask.dtype}; float32 or bool is expected")

    def numpy(self, Q: Array, K: Array, V: Array, mask: Array) -> Array:  # type: ignore[override]  # never absent
        repeat = Q.shape[2] // K.shape[2]
        products = heads_first(Q) @ heads_first(K, repeat).swapaxes(-1, -2) * np.float32(self.scale)
        scores = np.where(self.shown(Q.shape[1], K.shape[1], None), self._masked(products, mask), np.float32(-np.inf))
        with np.errstate(invalid="ignore"):
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            shares = powers / powers.sum(-1, keepdims=True)
        if self.empty_is_zero:
            shares = np.where(np.isnan(shares), np.float32(0), shares)
        return tokens_first(shares @ heads_first(V, repeat))

    def _masked(self, scores: Array, mask: Array) -> Array:
        if mask.dtype != np.bool_:
            return np.asarray(scores + mask)
        return np.where(mask == self.shows, scores, np.float32(self.hidden))
