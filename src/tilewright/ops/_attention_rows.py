"""What fused attention operators share: tokens first, heads that share keys and values, and which keys a query sees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, Box, loops
from tilewright.ir.op import Index, Limit, Op, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass


@dataclass(frozen=True)
class AttentionRows(Internal):
    """softmax(scores(Q[b, t, h, d], K[b, s, g, d])) mixes V[b, s, g, e] into Y[b, t, h, e]; h is a multiple of g.

    Causal: query t sees the keys s <= first + t, and with `position` (int32 [1]), where K and V are a cache of s rows
    that is filled up to the last query, s <= position + first + t. What is not seen is neither computed nor read.
    """

    operands: ClassVar[tuple[str, ...]] = ("Q", "K", "V", "position?")
    causal: bool = False
    first: int = 0
    """How many keys are before the first query's own; a tile of later queries has more."""

    def index(self, shapes: Shapes) -> Index:
        b, t, g, r, s, d, e = loops("b t g r s d e")
        head = g * repeats(shapes) + r
        others = {name: (FIRST,) for name in ("position",) if name in shapes}
        return {"Q": (b, t, head, d), "K": (b, s, g, d), "V": (b, s, g, e), **others, "Y": (b, t, head, e)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        batch, queries, _, length = shapes["Q"]
        _, keys, groups, width = shapes["V"]
        return {
            "b": batch, "t": queries, "g": groups, "r": repeats(shapes), "s": keys, "d": length, "e": width,
        }  # fmt: skip

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset("rsde")

    def limits(self, shapes: Shapes) -> Mapping[str, Limit]:
        """Of a cache, the rows up to that of the last query are there."""
        if "position" not in shapes:
            return {}
        return dict.fromkeys("KV", Limit(1, "position", self.first + shapes["Q"][1]))

    def at(self, shapes: Shapes, box: Box) -> Op:
        return replace(self, first=self.first + box["t"][0]) if self.causal else self

    def macs(self, shapes: Shapes) -> int:
        """Of both products, with the keys that are seen on average; all where that is known at run time only."""
        found = self.extents(shapes)
        rows = math.prod(found[loop] for loop in "btgr")
        return round(rows * self.keys_seen(shapes) * (found["d"] + found["e"]))

    def keys_seen(self, shapes: Shapes) -> float:
        """How many a query sees on average, and at most with a position."""
        queries, keys = shapes["Q"][1], shapes["K"][1]
        if not self.causal or "position" in shapes:
            return keys
        return min(keys, self.first + (queries + 1) / 2)

    def check(self, types: Mapping[str, TensorType]) -> None:
        q, k, v = (types[name].shape for name in "QKV")
        if not len(q) == len(k) == len(v) == 4:
            raise Refusal(f"Q {q}, K {k} and V {v}; [batch, token, head, channel] is expected")
        if k[:3] != v[:3] or q[0] != k[0] or q[3] != k[3]:
            raise Refusal(f"queries of shape {q} with keys of shape {k} and values of shape {v}")
        if not q[2] or not k[2] or q[2] % k[2]:
            raise Refusal(f"{q[2]} query heads cannot be divided evenly among {k[2]} KV heads")
        if not k[1]:
            raise Refusal("there are no keys")
        if self.causal and (self.first < 0 or self.first + q[1] > k[1]):
            raise Refusal(f"{q[1]} queries after {self.first} earlier ones see {k[1]} keys")
        if "position" in types and (types["position"] != TensorType("int32", (1,)) or not self.causal):
            raise Refusal(f"a position {types['position']}; one int32 and a causal attention are expected")

    def shown(self, queries: int, keys: int, position: Array | None) -> Array:
        """Which keys each query sees: [t, s]."""
        if not self.causal:
            return np.ones((queries, keys), bool)
        own = self.first + np.arange(queries)[:, None] + (0 if position is None else int(position[0]))
        return np.arange(keys)[None, :] <= np.maximum(own, 0)

    def geometry(self, types: Mapping[str, TensorType]) -> Params:
        """The fields of tw_attention_rows in C."""
        batch, queries, _, length = types["Q"].shape
        _, keys, groups, width = types["V"].shape
        repeat = types["Q"].shape[2] // groups
        return {
            "batch": batch, "queries": queries, "keys": keys, "groups": groups, "repeat": repeat, "length": length,
            "width": width, "causal": int(self.causal), "first": self.first,
        }  # fmt: skip


def repeats(shapes: Shapes) -> int:
    """How many heads share keys and values."""
    return shapes["Q"][2] // max(shapes["K"][2], 1)


def heads_first(values: Array, repeat: int = 1) -> Array:
    """[b, s, g, d] as [b, h, s, d], each group as often as heads share it."""
    return np.repeat(values.transpose(0, 2, 1, 3), repeat, axis=1)


def tokens_first(values: Array) -> Array:
    return np.ascontiguousarray(values.transpose(0, 2, 1, 3))
