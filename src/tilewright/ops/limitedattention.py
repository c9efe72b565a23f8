from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ir.value import Value
from tilewright.ops.fusedattention import FusedAttention
from tilewright.records import dataclass


@dataclass(frozen=True)
class LimitedAttention(FusedAttention):
    """Attention whose queries see no more than the last `window` keys, their own included, and whose scores s become
    cap * tanh(s / cap); 0 is no limit."""

    window: int = 0
    cap: float = 0.0

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if self.window < 0 or self.cap < 0 or (self.window and not self.causal):
            raise Refusal(f"a window of {self.window} keys, a cap of {self.cap}; positive ones, causal, are expected")

    def keys_seen(self, shapes: Shapes) -> float:
        seen = super().keys_seen(shapes)
        return min(seen, self.window) if self.window else seen

    def shown(self, queries: int, keys: int, position: Array | None) -> Array:
        seen = super().shown(queries, keys, position)
        if not self.window:
            return seen
        return seen & (np.arange(keys)[None, :] > seen.sum(1, keepdims=True) - 1 - self.window)

    def bent(self, scores: Array) -> Array:
        cap = np.float32(self.cap)
        return np.asarray(cap * np.tanh(scores / cap)) if self.cap else scores

    def bent_with_slope(self, scores: Value) -> tuple[Value, Value | None]:
        if not self.cap:
            return scores, None
        bend = (scores / self.cap).tanh()
        return bend * self.cap, 1.0 - bend.squared()
