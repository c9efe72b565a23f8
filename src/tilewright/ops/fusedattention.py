from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.types import Array, TensorType
from tilewright.ir.value import Value
from tilewright.ops._attention_rows import AttentionRows, heads_first, tokens_first
from tilewright.records import dataclass


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
        scores = np.where(self.shown(Q.shape[1], K.shape[1], position), self.bent(products), np.float32(-np.inf))
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return tokens_first((powers / powers.sum(-1, keepdims=True)) @ heads_first(V, repeat))

    def bent(self, scores: Array) -> Array:
        """What softmax is of."""
        return scores

    def gradients(self, at: Adjoint) -> Gradients:
        queries, keys = at["Q"].shape[1], at["K"].shape[1]
        if "position" in at:
            raise Refusal("there is no gradient through a cache of keys and values")
        heads, groups = at["Q"].shape[2], at["K"].shape[2]
        q, k, v, gradient = (value.transpose((0, 2, 1, 3)) for value in (at["Q"], at["K"], at["V"], at.gradient))
        grouped = (q.shape[0], groups, heads // groups)
        q, gradient = (value.reshape((*grouped, *value.shape[2:])) for value in (q, gradient))
        k, v = (value.reshape((*grouped[:2], 1, *value.shape[2:])) for value in (k, v))
        scores, steep = self.bent_with_slope(q.times_matrix(k, trans_b=True) * self.scale)
        if self.causal:
            shown = np.where(self.shown(queries, keys, None), 0.0, -1e30)
            scores = scores + scores.constant(shown)
        shares = scores.apply("Softmax", axis=-1)
        by_shares = gradient.times_matrix(v, trans_b=True)
        weighted = by_shares * shares
        by_softmax = (weighted - shares * weighted.sum([-1])) * self.scale
        by_scores = by_softmax if steep is None else by_softmax * steep
        found = {
            "Q": by_scores.times_matrix(k), "K": by_scores.times_matrix(q, trans_a=True).sum([2]),
            "V": shares.times_matrix(gradient, trans_a=True).sum([2]),
        }  # fmt: skip
        return {name: _tokens_first_again(value) for name, value in found.items()}

    def bent_with_slope(self, scores: Value) -> tuple[Value, Value | None]:
        """What softmax is of, and its derivative; None for 1."""
        return scores, None


def _tokens_first_again(value: Value) -> Value:
    """[b, g, r, t, d] as [b, t, h, d]."""
    batch, groups, repeat, tokens, width = value.shape
    return value.reshape((batch, groups * repeat, tokens, width)).transpose((0, 2, 1, 3))
