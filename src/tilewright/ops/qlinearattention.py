from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._attention_rows import AttentionRows, heads_first, tokens_first
from tilewright.ops._linear import centred
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.records import dataclass

BYTES = frozenset({"int8", "uint8"})
NARROW = BYTES | {"int16"}
NO_SOFTMAX = QLinearMaskedSoftmax()
"""What an operator has before a pass gives it one."""


@dataclass(frozen=True)
class QLinearAttention(AttentionRows):
    """mix(softmax(score((Q - q_zero) @ (K - k_zero)')) @ (V - v_zero)) of integers, over the keys that a query sees.

    The softmax is by the tables of QLinearMaskedSoftmax; its zero point is what is subtracted from shares, so that
    keys that are not seen add nothing.
    """

    operands: ClassVar[tuple[str, ...]] = ("Q", "K", "V", "table", "position?")
    q_zero: int = 0
    k_zero: int = 0
    v_zero: int = 0
    score: Scaling = UNCHANGED
    softmax: QLinearMaskedSoftmax = NO_SOFTMAX
    mix: Scaling = UNCHANGED

    def index(self, shapes: Shapes) -> Index:
        return {**super().index(shapes), "table": (whole(shapes["table"][0]),)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        for name, wanted in (("Q", NARROW), ("K", NARROW), ("V", BYTES)):
            if types[name].dtype not in wanted:
                raise Refusal(f"{name} is {types[name].dtype}; supported: {', '.join(sorted(wanted))}")
        for name, zero in (("Q", self.q_zero), ("K", self.k_zero)):
            if types[name].dtype == "int16" and zero:
                raise Refusal(f"{name} is int16 around {zero}; 16 bits are supported around 0 only")
        keys, scores = types["K"].shape[1], self.score.requant.dtype
        self.softmax.check(
            {"X": TensorType(scores, (keys,)), "mask": TensorType("uint8", (keys,)), "table": types["table"]}
        )
        shares = self.softmax.requant
        if shares.dtype not in BYTES or not shares.low <= shares.zero_point <= shares.high:
            raise Refusal(f"shares are {shares}; bytes of which the zero point is one are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.mix.requant.dtype,)

    def numpy(self, Q: Array, K: Array, V: Array, table: Array, position: Array | None = None) -> Array:
        repeat = Q.shape[2] // K.shape[2]
        q, k, v = centred(Q, self.q_zero), centred(K, self.k_zero), centred(V, self.v_zero)
        scores = self.score(exact_matmul(heads_first(q), heads_first(k, repeat).swapaxes(-1, -2)))
        mask = self.shown(Q.shape[1], K.shape[1], position).astype(np.uint8)
        shares = centred(self.softmax.numpy(scores, mask, table), self.softmax.requant.zero_point)
        return tokens_first(self.mix(exact_matmul(shares, heads_first(v, repeat))))
