"""A decoder in numpy, a whole text at once: one layer after another, so that the weights of one are held at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tilewright.frontends.checkpoint.config import Config
from tilewright.frontends.checkpoint.rotation import tables
from tilewright.ir.types import Array
from tilewright.records import dataclass

Weights = Mapping[str, Array]
Watch = Callable[[str, Array], None]
"""Called with the name of a part whose product is about to be computed, and its inputs [tokens, inputs]."""


def unwatched(name: str, x: Array) -> None:
    """Nobody looks."""


def embedded(config: Config, weights: Weights, ids: Array) -> Array:
    """Tokens as the first layer reads them, [tokens, width]."""
    x = weights["embedding.weight"][ids] * np.float32(config.embedding_scale)
    return x if config.rotary is not None else x + weights["position_embedding.weight"][: len(ids)]


def head_inputs(config: Config, weights: Weights, x: Array) -> Array:
    """What the head multiplies."""
    return _norm(config, weights, "norm", x)


def scores(config: Config, weights: Weights, x: Array) -> Array:
    """Of the next token, after each token."""
    found = head_inputs(config, weights, x) @ weights["embedding.weight" if config.tied else "head.weight"].T
    found = found + weights["head.bias"] if "head.bias" in weights else found
    return _capped(found, config.logit_cap)


@dataclass(frozen=True)
class Layer:
    """One layer; its weights go by their names without the layer's number."""

    config: Config
    number: int
    weights: Weights
    watch: Watch = unwatched

    def __call__(self, x: Array) -> Array:
        config = self.config
        y = _norm(config, self.weights, "norm1", x)
        attended = x + self._after("norm1", self._attention(y))
        if not config.one_norm:
            y = _norm(config, self.weights, "norm2", x if config.parallel else attended)
        return np.asarray(attended + self._after("norm2", self._feed_forward(y)))

    def _after(self, name: str, x: Array) -> Array:
        return _norm(self.config, self.weights, f"{name}.after", x) if self.config.post_norms else x

    def _attention(self, x: Array) -> Array:
        config, tokens = self.config, len(x)
        query, key, value = (self._heads(part, x) for part in ("query", "key", "value"))
        repeat = config.heads // config.kv_heads
        query = query.reshape(config.kv_heads, repeat * tokens, config.head)
        products = (query @ key.transpose(0, 2, 1)).reshape(config.heads, tokens, tokens) * np.float32(config.scale)
        shares = _softmax(np.where(self._seen(tokens), _capped(products, config.attention_cap), -np.inf))
        mixed = shares.reshape(config.kv_heads, repeat * tokens, tokens) @ value
        joined = mixed.reshape(config.heads, tokens, config.head).transpose(1, 0, 2).reshape(tokens, -1)
        return self._linear("attention.output", joined)

    def _seen(self, tokens: int) -> Array:
        """Which keys each query sees."""
        window = self.config.window_of(self.number)
        seen = np.tri(tokens, dtype=bool)
        return seen if window is None else seen & ~np.tri(tokens, k=-window, dtype=bool)

    def _heads(self, part: str, x: Array) -> Array:
        """A projection, [heads, tokens, elements], as scores need it."""
        config, name = self.config, f"attention.{part}"
        found = self._linear(name, x).reshape(len(x), -1, config.head)
        if part == "value":
            return found.transpose(1, 0, 2)
        if config.qk_norm:
            found = _norm(config, self.weights, f"{name}.norm", found)
        found = found.transpose(1, 0, 2)
        rotary = config.rotary_of(self.number)
        if rotary is None:
            return found
        cosine, sine = tables(rotary, config.head, len(x))
        first, second = np.split(found, 2, axis=-1)
        return np.asarray(found * cosine + np.concatenate([-second, first], -1) * sine)

    def _feed_forward(self, x: Array) -> Array:
        up = self._linear("ffn.up", x)
        if self.config.gated:
            up = _activated(self.config.activation, self._linear("ffn.gate", x)) * up
        else:
            up = _activated(self.config.activation, up)
        return self._linear("ffn.down", up)

    def _linear(self, name: str, x: Array) -> Array:
        self.watch(name, x)
        found = x @ self.weights[f"{name}.weight"].T
        bias = self.weights.get(f"{name}.bias")
        return found if bias is None else found + bias


def _capped(x: Array, cap: float) -> Array:
    return np.float32(cap) * np.tanh(x / np.float32(cap)) if cap else x


def _norm(config: Config, weights: Weights, name: str, x: Array) -> Array:
    if config.norm == "layer":
        x = x - x.mean(-1, keepdims=True)
        return np.asarray(x * _inverse_root(config, x) * weights[f"{name}.weight"] + weights[f"{name}.bias"])
    return np.asarray(x * _inverse_root(config, x) * weights[f"{name}.weight"])


def _inverse_root(config: Config, x: Array) -> Array:
    return np.asarray(1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + np.float32(config.epsilon)))


def _softmax(x: Array) -> Array:
    x = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(x / x.sum(-1, keepdims=True))


def _activated(kind: str, x: Array) -> Array:
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "silu":
        return x * _sigmoid(x)
    if kind == "gelu_tanh":
        return x * _sigmoid(np.float32(2 * np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x))
    return x * _normal_share(x)


def _sigmoid(x: Array) -> Array:
    """By the function that neither overflows nor loses small values."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _normal_share(x: Array) -> Array:
    """What of a normal distribution lies below x: (1 + erf(x / sqrt(2))) / 2, within 1.5e-7.

    By Abramowitz and Stegun, 7.1.26; an error function of arrays is nothing that numpy has.
    """
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    sum_ = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        sum_ = (sum_ + np.float32(factor)) * t
    above = 0.5 * sum_ * np.exp(-z * z)
    return np.where(x < 0, above, 1 - above)
