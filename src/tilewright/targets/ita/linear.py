"""Matrix products on ITA, one or two in a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from tilewright.ir.affine import loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import Activation, Scale, linear
from tilewright.targets.ita.jobs import FEED_FORWARD, LINEAR, ItaLayer, layer_words
from tilewright.targets.ita.layout import BIAS_BYTES, SIDE, as_matrix, as_tiles, unpacked_bias
from tilewright.targets.ita.op import TILE, Ita, batch_of, check_alike, check_biases, check_tiles, leading

CUBE = SIDE**3


@dataclass(frozen=True)
class ItaLinear(Ita):
    """curve(scale(X @ W' + bias)): X[..., r, k] and W[c, k] in tiles, where W has a row for each column; the result is
    Y[..., r, c], or transposed if it is turned."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "bias?")
    scale: Scale = field(default_factory=Scale)
    curve: Activation = field(default_factory=Activation)
    turned: bool = False

    def index(self, shapes: Shapes) -> Index:
        before = leading(shapes["X"])
        r, c, k = loops("r c k")
        bias = {"bias": (c, whole(BIAS_BYTES))} if "bias" in shapes else {}
        result = (c, r) if self.turned else (r, c)
        return {"X": (*before, r, k, *TILE), "W": (c, k, *TILE), **bias, "Y": (*before, *result, *TILE)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        """ITA keeps partial sums of one tile, and nobody else sees them."""
        return frozenset({"k"})

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"][:-2]) * shapes["W"][0] * CUBE

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "X", "W")
        check_alike("rows of X and W", types["X"].shape[-3], types["W"].shape[-3])
        check_biases(types, {"bias": types["W"].shape[0]})

    def numpy(self, X: Array, W: Array, bias: Array | None = None) -> Array:
        b = None if bias is None else unpacked_bias(bias)
        made = linear(as_matrix(X), as_matrix(W).T, b, self.scale, self.curve)
        return as_tiles(made.swapaxes(-1, -2) if self.turned else made)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        rows, inner = types["X"].shape[-4:-2]
        columns = types["W"].shape[0]
        sides = (columns, inner, rows) if self.turned else (rows, inner, columns)
        words = layer_words(ItaLayer(LINEAR, *sides, scales=[self.scale], activation=self.curve))
        return {
            "batch": batch_of(types["X"]), "rows": rows, "columns": columns, "inner": inner, "turned": int(self.turned),
            "layer": words,
        }  # fmt: skip


@dataclass(frozen=True)
class ItaFeedForward(Ita):
    """second(curve(first(X @ V' + b)) @ W' + c): X[..., r, e], V[f, e], W[e, f] in tiles."""

    operands: ClassVar[tuple[str, ...]] = ("X", "V", "b", "W", "c")
    first: Scale = field(default_factory=Scale)
    curve: Activation = field(default_factory=Activation)
    second: Scale = field(default_factory=Scale)

    def index(self, shapes: Shapes) -> Index:
        """What lies between the products is not seen: a tile has all of it."""
        before, (r,), e, f = leading(shapes["X"]), loops("r"), whole(shapes["X"][-3]), whole(shapes["V"][0])
        return {
            "X": (*before, r, e, *TILE), "V": (f, e, *TILE), "b": (f, whole(BIAS_BYTES)), "W": (e, f, *TILE),
            "c": (e, whole(BIAS_BYTES)), "Y": (*before, r, e, *TILE),
        }  # fmt: skip

    def macs(self, shapes: Shapes) -> int:
        return 2 * math.prod(shapes["X"][:-2]) * shapes["V"][0] * CUBE

    def check(self, types: Mapping[str, TensorType]) -> None:
        check_tiles(types, "X", "V", "W")
        x, v, w = (types[name].shape for name in ("X", "V", "W"))
        check_alike("rows of X and V, and those of the result", x[-3], v[1], w[0])
        check_alike("rows between the products", v[0], w[1])
        check_biases(types, {"b": types["V"].shape[0], "c": types["W"].shape[0]})

    def numpy(self, X: Array, V: Array, b: Array, W: Array, c: Array) -> Array:
        hidden = linear(as_matrix(X), as_matrix(V).T, unpacked_bias(b), self.first, self.curve)
        return as_tiles(linear(hidden, as_matrix(W).T, unpacked_bias(c), self.second))

    def params(self, types: Mapping[str, TensorType]) -> Params:
        (rows, inner), hidden = types["X"].shape[-4:-2], types["V"].shape[0]
        scales = [*[Scale()] * 6, self.first, self.second]
        layer = ItaLayer(FEED_FORWARD, rows, inner, f=hidden, scales=scales, activation=self.curve)
        words = layer_words(layer)
        return {"batch": batch_of(types["X"]), "rows": rows, "inner": inner, "hidden": hidden, "layer": words}
