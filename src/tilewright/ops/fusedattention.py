from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, TensorType
from tilewright.ops._attention_rows import AttentionRows, heads_first, tokens_first


@dataclass(frozen=True)
class FusedAttention(AttentionRows):
    """softmax(scale * Q @ K') @ V of floats, tokens first, over the keys that each query sees."""

    scale: float = 1.0

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        for name in "QKV":
            if types[name].dtype != "float32":
                raise Refusal(f"{name} is {types[name].dtype}; float32 is expected")

    def numpy(self, Q: Array, K: Array, V: Array, position: Array | None = None) -> Array:
        repeat = Q.shape[2] // K.shape[2]
        products = heads_first(Q) @ heads_first(K, repeat).swapaxes(-1, -2) * np.float32(self.scale)
        scores = np.where(self.shown(Q.shape[1], K.shape[1], position), products, np.float32(-np.inf))
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return tokens_first((powers / powers.sum(-1, keepdims=True)) @ heads_first(V, repeat))
