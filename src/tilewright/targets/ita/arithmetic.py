"""What ITA computes, exactly, on whole matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from tilewright.ir.exact import exact_matmul
from tilewright.ir.types import Array
from tilewright.records import dataclass

COLUMNS = 16
"""Of a row that the softmax takes at a time."""
MOST_SHIFT = 40
"""Products have fewer bits: more shifting leaves nothing."""


@dataclass(frozen=True)
class Scale:
    """clip(round(x * multiplier / 2**shift) + add) to int8; halves are rounded up."""

    multiplier: int = 1
    shift: int = 0
    add: int = 0

    def __call__(self, x: Array) -> Array:
        product = x.astype(np.int64) * self.multiplier
        if self.shift > MOST_SHIFT:
            product = np.zeros_like(product)
        elif self.shift:
            product = (product + (1 << (self.shift - 1))) >> self.shift
        return np.clip(product + self.add, -128, 127).astype(np.int8)


IDENTITY, GELU, RELU = "identity", "gelu", "relu"


@dataclass(frozen=True)
class Activation:
    """A function of bytes: relu, or a polynomial that stands for GELU and comes out with the opposite sign."""

    kind: str = IDENTITY
    scale: Scale = field(default_factory=Scale)
    b: int = 0
    c: int = 0

    def __call__(self, x: Array) -> Array:
        if self.kind == IDENTITY:
            return x
        if self.kind == RELU:
            return self.scale(np.maximum(x, 0))
        wide = x.astype(np.int64)
        near = np.minimum(np.abs(wide), -self.b) + self.b
        return self.scale(wide * (np.where(wide < 0, -1, 1) * (near * near + self.c) + self.c))


GELU_A, GELU_B = -0.2888, -1.769
"""erf(x) is about sign(x) * (a * (min(|x|, -b) + b)**2 + 1)."""


def gelu_of(step: float, shift: int = 20) -> Activation:
    """Minus GELU of bytes that stand for multiples of `step`, as bytes that stand for the same."""
    scaled = step / 2**0.5
    b, c = round(GELU_B / scaled), round(1 / (GELU_A * scaled * scaled))
    return Activation(GELU, Scale(round(-GELU_A * scaled * scaled / 2 * 2**shift), shift), b, c)


@dataclass(frozen=True)
class Softmax:
    """A softmax to the base of two: a share is halved for every 2**bits below the largest value of its row."""

    bits: int = 0
    one: int = 256
    numerator: int = 255 * 256

    def halvings(self, distance: Array) -> Array:
        return np.minimum((distance + ((1 << self.bits) >> 1)) >> self.bits, 31)

    def __call__(self, scores: Array) -> Array:
        """Shares of rows, which arrive in groups: what was summed up is halved when a group raises the largest."""
        wide = scores.astype(np.int64)
        largest = np.full((*wide.shape[:-1], 1), -128, np.int64)
        total = np.zeros_like(largest)
        for at in range(0, wide.shape[-1], COLUMNS):
            group = wide[..., at : at + COLUMNS]
            raised = np.maximum(largest, group.max(-1, keepdims=True))
            total = total >> self.halvings(raised - largest)
            total = total + (self.one >> self.halvings(raised - group)).sum(-1, keepdims=True)
            largest = raised
        return ((self.numerator // total) >> self.halvings(largest - wide)).astype(np.uint8)


SOFTMAX = Softmax()
FIRST_SOFTMAX = Softmax(5)
"""Of the first generation."""
POOL_SOFTMAX = Softmax(5, 1024, 127 * 1024)
"""Of ITAPool: shares up to 127."""


def linear(x: Array, w: Array, bias: Array | None, scale: Scale, activation: Activation | None = None) -> Array:
    """x [rows, inner], w [inner, columns], bias [columns]."""
    total = exact_matmul(x.astype(np.int32), w.astype(np.int32)).astype(np.int64)
    result = scale(total if bias is None else total + bias)
    return activation(result) if activation else result


@dataclass(frozen=True, eq=False)
class Head:
    """What a head is multiplied with: weights [inner, columns], biases [columns], scales in the order Q, K, V, QK, AV,
    output."""

    wq: Array
    wk: Array
    wv: Array
    wo: Array
    bq: Array
    bk: Array
    bv: Array
    bo: Array
    scales: Sequence[Scale]


@dataclass(frozen=True, eq=False)
class HeadValues:
    """Everything that is computed on the way."""

    q: Array
    k: Array
    v: Array
    scores: Array
    mixed: Array
    out: Array


def attend(
    q: Array, k: Array, v: Array, scores: Scale, mixed: Scale, softmax: Softmax = SOFTMAX
) -> tuple[Array, Array]:
    """Scores, and the values mixed by their shares."""
    a = linear(q, k.swapaxes(-1, -2), None, scores)
    return a, linear(softmax(a), v, None, mixed)


def attention(queries: Array, keys: Array, head: Head, softmax: Softmax = SOFTMAX) -> HeadValues:
    """Of one head; keys and values come from the same tensor."""
    q, k, v, scores, mixed, out = head.scales[:6]
    Q, K, V = (
        linear(x, w, b, scale)
        for x, w, b, scale in (
            (queries, head.wq, head.bq, q),
            (keys, head.wk, head.bk, k),
            (keys, head.wv, head.bv, v),
        )
    )
    A, rows = attend(Q, K, V, scores, mixed, softmax)
    return HeadValues(Q, K, V, A, rows, linear(rows, head.wo, head.bo, out))
