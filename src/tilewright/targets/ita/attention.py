"""Attention on ITA: its softmax alone, scores and values, a whole head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import SOFTMAX, Head, Scale, Softmax, attend
from tilewright.targets.ita.arithmetic import attention as attended
from tilewright.targets.ita.jobs import ATTENTION, SINGLE_ATTENTION, ItaLayer, layer_words
from tilewright.targets.ita.layout import BIAS_BYTES, SIDE, as_matrix, as_tiles, unpacked_bias
from tilewright.targets.ita.linear import CUBE
from tilewright.targets.ita.op import TILE, Ita, batch_of, check_alike, check_biases, check_tiles, leading


@dataclass(frozen=True)
class ItaSoftmax(Internal):
    """Shares of rows as ITA makes them, 0 to 255: a value is halved for each 2**bits below the largest."""

    softmax: Softmax = SOFTMAX

    def index(self, shapes: Shapes) -> Index:
        rows = (*axis_loops(len(shapes["X"]) - 1), whole(shapes["X"][-1]))
        return {"X": rows, "Y": rows}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "int8" or not types["X"].shape:
            raise Refusal(f"X is {types['X']}, rows of int8 are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("uint8",)

    def numpy(self, X: Array) -> Array:
        return self.softmax(X)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        *before, length = types["X"].shape
        softmax = self.softmax
        return {
            "rows": math.prod(before), "length": length, "bits": softmax.bits, "one": softmax.one,
            "numerator": softmax.numerator,
        }  # fmt: skip


@dataclass(frozen=True)
class ItaAttend(Ita):
    """mixed(softmax(scores(Q @ K')) @ V), head by head: Q[..., s, h * width], K[..., t, h * width] and V transposed,
    V[..., h * width, t], in tiles."""

    operands: ClassVar[tuple[str, ...]] = ("Q", "K", "V")
    scores: Scale = field(default_factory=Scale)
    mixed: Scale = field(default_factory=Scale)
    softmax: Softmax = SOFTMAX
    width: int = 1
    """Tiles of a head."""

    def index(self, shapes: Shapes) -> Index:
        """Of 64 rows ITA needs all keys and values of a head, one block of rows after the other."""
        before, (h, s) = leading(shapes["Q"]), loops("h s")
        p, t = h * self.width + whole(self.width), whole(shapes["K"][-4])
        return {
            "Q": (*before, s, p, *TILE), "K": (*before, t, p, *TILE), "V": (*before, p, t, *TILE),
            "Y": (*before, s, p, *TILE),
        }  # fmt: skip

    def macs(self, shapes: Shapes) -> int:
        return 2 * math.prod(shapes["Q"][:-2]) * shapes["K"][-4] * CUBE

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "Q", "K", "V")
        q, k, v = (types[name].shape for name in self.operands)
        check_alike("rows of queries, of keys and of values", q[-3], k[-3], v[-4])
        check_alike("keys and values", k[-4], v[-3])
        if not q[:-4] == k[:-4] == v[:-4]:
            raise Refusal(f"heads are {q[:-4]}, {k[:-4]} and {v[:-4]}")
        if q[-3] % self.width:
            raise Refusal(f"rows of {q[-3]} tiles are no whole heads of {self.width}")

    def numpy(self, Q: Array, K: Array, V: Array) -> Array:
        q, k, v = (self._heads(as_matrix(tiles)) for tiles in (Q, K, V.swapaxes(-4, -3).swapaxes(-2, -1)))
        rows = attend(q, k, v, self.scores, self.mixed, self.softmax)[1].swapaxes(-3, -2)
        return as_tiles(rows.reshape(*rows.shape[:-2], -1))

    def _heads(self, rows: Array) -> Array:
        """[..., rows, heads * columns] as [..., heads, rows, columns]."""
        return rows.reshape(*rows.shape[:-1], -1, self.width * SIDE).swapaxes(-3, -2)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        (queries, across), keys = types["Q"].shape[-4:-2], types["K"].shape[-4]
        layer = ItaLayer(SINGLE_ATTENTION, keys, 1, self.width, scales=[*[Scale()] * 3, self.scores, self.mixed])
        return {
            "batch": batch_of(types["Q"]), "heads": across // self.width, "queries": queries, "keys": keys,
            "width": self.width, "layer": layer_words(layer),
        }  # fmt: skip


@dataclass(frozen=True)
class ItaHead(Ita):
    """An attention head from its inputs to its part of the output: queries X[s, e], keys and values Y[s, e], weights
    with a row for each column, all in tiles. Heads are summed by others."""

    operands: ClassVar[tuple[str, ...]] = ("X", "Y", "Wq", "Wk", "Wv", "Wo", "bq", "bk", "bv", "bo")
    results: ClassVar[tuple[str, ...]] = ("Z",)
    scales: tuple[Scale, ...] = (Scale(),) * 6
    softmax: Softmax = SOFTMAX

    def index(self, shapes: Shapes) -> Index:
        s, e, p = whole(shapes["X"][0]), whole(shapes["X"][1]), whole(shapes["Wq"][0])
        rows, inwards, outwards = (s, e, *TILE), (p, e, *TILE), (e, p, *TILE)
        narrow, wide = (p, whole(BIAS_BYTES)), (e, whole(BIAS_BYTES))
        return {
            "X": rows, "Y": rows, "Wq": inwards, "Wk": inwards, "Wv": inwards, "Wo": outwards, "bq": narrow,
            "bk": narrow, "bv": narrow, "bo": wide, "Z": rows,
        }  # fmt: skip

    def macs(self, shapes: Shapes) -> int:
        (s, e), p = shapes["X"][:2], shapes["Wq"][0]
        return (4 * s * e * p + 2 * s * s * p) * CUBE

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, *self.operands[:6])
        s, e, p = *types["X"].shape[:2], types["Wq"].shape[0]
        wanted = {"X": (s, e), "Y": (s, e), "Wq": (p, e), "Wk": (p, e), "Wv": (p, e), "Wo": (e, p)}
        for name, tiles in wanted.items():
            if types[name].shape != (*tiles, SIDE, SIDE):
                raise Refusal(f"{name} is {types[name]}, tiles {tiles} are expected")
        check_biases(types, {"bq": p, "bk": p, "bv": p, "bo": e})

    def numpy(self, X: Array, Y: Array, *constants: Array) -> Array:
        wq, wk, wv, wo = (as_matrix(w).T for w in constants[:4])
        bq, bk, bv, bo = map(unpacked_bias, constants[4:])
        head = Head(wq, wk, wv, wo, bq, bk, bv, bo, self.scales)
        return as_tiles(attended(as_matrix(X), as_matrix(Y), head, self.softmax).out)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        (s, e), p = types["X"].shape[:2], types["Wq"].shape[0]
        words = layer_words(ItaLayer(ATTENTION, s, e, p, scales=list(self.scales)))
        return {"s": s, "e": e, "p": p, "layer": words}
