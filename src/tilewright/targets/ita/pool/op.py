"""Attention heads as ITAPool has them: from rows to rows, weights packed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, axis_loops, loops, whole
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import POOL_SOFTMAX, Scale, attention
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.pool.block import LONGEST, RECORD, back_bytes, front_bytes, unpacked

STEPS = 8
"""Scales of a record."""
FLIPPED = np.uint8(0x80)


def signed(rows: Array) -> Array:
    """Bytes without a sign less 128."""
    return (rows ^ FLIPPED).view(np.int8) if rows.dtype == np.uint8 else rows


def record(scales: Sequence[Scale]) -> Params:
    """Of Q, K, V, QK, AV and the output, in the front end's order."""
    ordered = [*(scales[i] for i in RECORD), *[Scale()] * (STEPS - len(RECORD))]
    return {
        "multipliers": _words([scale.multiplier for scale in ordered]),
        "shifts": _words([scale.shift for scale in ordered]), "adds": tuple(scale.add for scale in ordered),
    }  # fmt: skip


def _words(values: Sequence[int]) -> tuple[int, ...]:
    """Bytes, four to a word, the first one lowest."""
    return tuple(int(word) for word in np.array(values, np.uint8).view("<i4"))


@dataclass(frozen=True)
class PoolHeads(Internal):
    """Attention heads of queries X[..., s, e] and of keys and values Y[..., t, e], which are X where there is no Y. The
    results of heads lie side by side in Z[..., s, h * columns]. Bytes without a sign lose 128 on the way in."""

    operands: ClassVar[tuple[str, ...]] = ("X", "front", "back", "Y?")
    results: ClassVar[tuple[str, ...]] = ("Z",)
    multiplies: ClassVar[bool] = True

    scales: tuple[Scale, ...] = (Scale(),) * 6
    """Of Q, K, V, QK, AV and the output."""
    inner: int = SIDE
    """Columns of inputs, with zeros up to a multiple of 64."""
    width: int = SIDE
    """Columns of a head, likewise."""
    columns: int = SIDE
    """Of a head's results."""
    projects: bool = False
    """Whether these come out of a product with weights, and not of the head as they are."""

    def index(self, shapes: Shapes) -> Index:
        before, (h,) = axis_loops(len(shapes["X"]) - 2), loops("h")
        rows = whole(shapes["X"][-2])
        maps: dict[str, tuple[Affine, ...]] = {
            "X": (*before, rows, whole(shapes["X"][-1])),
            "front": (h, whole(shapes["front"][-1])),
            "back": (h, whole(shapes["back"][-1])),
            "Z": (*before, rows, h * self.columns + whole(self.columns)),
        }
        if "Y" in shapes:
            maps["Y"] = (*before, whole(shapes["Y"][-2]), whole(shapes["Y"][-1]))
        return maps

    def macs(self, shapes: Shapes) -> int:
        (*before, s, e), t, heads = shapes["X"], shapes.get("Y", shapes["X"])[-2], shapes["front"][0]
        p = self.width if self.projects else self.columns
        one = (s + 2 * t) * e * p + 2 * s * t * p + s * p * self.columns * self.projects
        return math.prod(before) * heads * one

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, y = types["X"], types.get("Y", types["X"])
        if {x.dtype, y.dtype} - {"int8", "uint8"} or len(x.shape) < 2:
            raise Refusal(f"X is {x} and Y {y}, rows of bytes are expected")
        if x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-1] or x.shape[-2] > y.shape[-2]:
            raise Refusal(f"X is {x} and Y {y}: ITAPool has no more queries than keys, of as many elements")
        if y.shape[-2] % SIDE or y.shape[-2] > LONGEST:
            raise Refusal(f"there are {y.shape[-2]} keys, multiples of {SIDE} up to {LONGEST} are expected")
        heads = types["front"].shape[0]
        sizes = {"front": front_bytes(self.inner, self.width), "back": back_bytes(self.inner, self.width)}
        for name, size in sizes.items():
            if types[name] != TensorType("int8", (heads, size)):
                raise Refusal(f"{name} is {types[name]}, {heads} times {size} bytes are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array, front: Array, back: Array, Y: Array | None = None) -> Array:
        keys = X if Y is None else Y
        x, y = (self._padded(rows, keys.shape[-2]) for rows in (X, keys))
        *before, rows, inner = x.shape
        made = np.empty((math.prod(before), len(front), rows, self.columns), np.int8)
        for matrix, (queries, values) in enumerate(zip(*(m.reshape(-1, rows, inner) for m in (x, y)), strict=True)):
            for head in range(len(front)):
                one = unpacked(front[head], back[head], self.inner, self.width, self.scales)
                made[matrix, head] = attention(queries, values, one, POOL_SOFTMAX).out[:, : self.columns]
        side_by_side = made.swapaxes(1, 2)[:, : X.shape[-2]]
        return np.ascontiguousarray(side_by_side).reshape(*X.shape[:-1], -1)

    def _padded(self, rows: Array, count: int) -> Array:
        missing = count - rows.shape[-2], self.inner - rows.shape[-1]
        return np.pad(signed(rows), [*[(0, 0)] * (rows.ndim - 2), *((0, size) for size in missing)])

    def params(self, types: Mapping[str, TensorType]) -> Params:
        x, y, heads = types["X"], types.get("Y", types["X"]), types["front"].shape[0]
        return {
            "batch": math.prod(x.shape[:-2]), "heads": heads, "columns": self.columns, "queries": x.shape[-2],
            "keys": y.shape[-2], "elements": x.shape[-1], "inner": self.inner, "width": self.width,
            "flips_x": int(x.dtype == "uint8"), "flips_y": int(y.dtype == "uint8"),
            **record(self.scales),
        }  # fmt: skip
