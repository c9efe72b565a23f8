"""Operators whose requantisation N-EUREKA does twice, from below and from above; the cores do it where the two differ.

Where both results are the same, they are the layer's: `requant/brackets.py` finds the lines and proves it. For
the others the cores sum up the products again, from the image and from weights in plain bytes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import present
from tilewright.ir.affine import Affine, whole
from tilewright.ir.op import Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._windows import pair
from tilewright.records import dataclass
from tilewright.requant.brackets import Brackets, brackets
from tilewright.requant.spec import RequantSpec
from tilewright.targets.hwpe.conv import EDGELESS, NeurekaConv
from tilewright.targets.hwpe.finish import SCALED, Finish
from tilewright.targets.hwpe.gathered import NeurekaGathered
from tilewright.targets.hwpe.jobs import POINTWISE, Result
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.op import Neureka
from tilewright.targets.hwpe.sums import Sums

BRACKETED = "bracketed"
"""How results are made, besides those of `op.py`."""
LOWER, UPPER, EXACT = range(3)
"""Rows of the bias."""
FOURTH = 4
"""Results are compared in words."""


@dataclass(frozen=True)
class Bracketed(Neureka):
    """`scale`, `bias` and `shifts` are those of two lines, `bias` has the exact one besides; `add` has the factors and
    exponents of the requantisation, `plain` the weights of each filter, tap by tap."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "scale", "bias", "add", "shifts", "plain")
    expected: float = 0.0
    """Of results: how many differ."""

    def constants_index(self, filters: Affine, words: Affine, shapes: Shapes) -> dict[str, tuple[Affine, ...]]:
        rows = {name: (whole(shapes[name][0]), filters) for name in ("scale", "bias", "add")}
        plain = filters, whole(shapes["plain"][1])
        return {"W": (words, whole(shapes["W"][1])), **rows, "shifts": (filters,), "plain": plain}

    def npu_result(self, types: Mapping[str, TensorType]) -> Result:
        return Result(8, self.dtype != "uint8", True, 16, has_shifts=True)

    def numpy(
        self, X: Array, W: Array, scale: Array | None = None, bias: Array | None = None, add: Array | None = None,
        shifts: Array | None = None, plain: Array | None = None,
    ) -> Array:  # fmt: skip
        factors = present(add, "N-EUREKA", "totals have no factors")
        totals = self.totals(X, W) + present(bias, "N-EUREKA", "totals have no bias")[EXACT]
        return self.requantising(totals << self.requantising.lift, *factors)

    @property
    def requantising(self) -> Finish:
        return present(self.finishing, "N-EUREKA", "results have no requantisation")

    def bracket_params(self, types: Mapping[str, TensorType]) -> Params:
        """Where the cores find results of both lines, and what a total is made of."""
        finish = self.requantising
        low, high = finish.requant.low, finish.requant.high
        return {
            **self.geometry(types), "made": self.made_bytes(types), "less": finish.bound, "summand": finish.summand,
            "halves": finish.shift, "top_result": high - low, "low": low,
        }  # fmt: skip

    def made_bytes(self, types: Mapping[str, TensorType]) -> int:
        """Of one line."""
        last = self.jobs(types, True)[-1]
        return self.batch(types) * (last.y_at + last.out_bytes)

    def geometry(self, types: Mapping[str, TensorType]) -> Params:
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True)
class BracketedLinear(Bracketed, NeurekaLinear):
    def geometry(self, types: Mapping[str, TensorType]) -> Params:
        pixels, filters = math.prod(types["Y"].shape[:-1]), types["Y"].shape[-1]
        channels = types["X"].shape[-1]
        return {
            "images": 1, "rows": 1, "columns": pixels, "filters": filters, "source_image": 0,
            "source_row": pixels * filters, "source_pixel": filters, "x_first": 0, "x_image": 0, "x_row": 0,
            "x_column": channels, **run_of_bytes(channels),
        }  # fmt: skip


def run_of_bytes(channels: int) -> Params:
    """A window that lies in one piece, as if it were one tap."""
    return {
        "height": 1, "width": 1, "pixel": channels, "channels": channels, "taps_h": 1, "taps_w": 1, "step_h": 1,
        "step_w": 1, "top": 0, "left": 0, "fill": 0,
    }  # fmt: skip


@dataclass(frozen=True)
class BracketedConv(Bracketed, NeurekaConv):
    def geometry(self, types: Mapping[str, TensorType]) -> Params:
        (rows, columns), filters = pair(self.spatial(types["Y"].shape)), types["Y"].shape[-1]
        (height, width), (made_h, made_w) = self.sides(types)
        (step_h, step_w), (top, left) = pair(self.strides), pair(self.padding[: self.rank], 0)
        kept = (1, 1) if self.mode == POINTWISE else (step_h, step_w)
        pixel, (taps_h, taps_w) = types["X"].shape[-1], pair(self.kernel)
        return {
            "images": self.batch(types), "rows": rows, "columns": columns, "filters": filters,
            "source_image": made_h * made_w * filters, "source_row": kept[0] * made_w * filters,
            "source_pixel": kept[1] * filters, "x_first": -(top * width + left) * pixel,
            "x_image": height * width * pixel, "x_row": step_h * width * pixel, "x_column": step_w * pixel,
            "height": height, "width": width, "pixel": pixel, "channels": 1 if self.is_depthwise else pixel,
            "taps_h": taps_h, "taps_w": taps_w, "step_h": step_h, "step_w": step_w, "top": top, "left": left,
            "fill": self.pad_value,
        }  # fmt: skip


@dataclass(frozen=True)
class BracketedGathered(BracketedConv, NeurekaGathered):
    def geometry(self, types: Mapping[str, TensorType]) -> Params:
        """Windows lie in strips."""
        (rows, columns), filters, strips = (
            pair(self.spatial(types["Y"].shape)),
            types["Y"].shape[-1],
            self.strips(types),
        )
        return {
            "images": self.batch(types), "rows": rows, "columns": columns, "filters": filters,
            "source_image": rows * columns * filters, "source_row": columns * filters, "source_pixel": filters,
            "x_first": 0, "x_image": strips.image_bytes, "x_row": pair(self.strides)[0] * strips.run,
            "x_column": strips.rows * strips.run, **run_of_bytes(pair(self.kernel)[0] * strips.run),
        }  # fmt: skip


KINDS: Mapping[type[Neureka], type[Bracketed]] = {
    NeurekaLinear: BracketedLinear, NeurekaConv: BracketedConv, NeurekaGathered: BracketedGathered,
}  # fmt: skip


def bracketed(sums: Sums, op: Neureka, constants: Mapping[str, Array]) -> tuple[Bracketed, dict[str, Array]] | None:
    """An operator that the cores finish, and its constants, with lines of N-EUREKA instead; None where there are none,
    or where weights with their zero point are not bytes."""
    kind, finish = KINDS.get(type(op)), op.finishing
    if kind is None or finish is None or finish.mode != SCALED or len(constants["bias"]) > EDGELESS:
        return None
    weights = sums.weights
    if len(weights) % FOURTH or np.any(weights != weights.astype(np.int8)):
        return None
    found = _brackets(sums)
    if found is None:
        return None
    fields = {field.name: getattr(op, field.name) for field in dataclasses.fields(op)}
    made = replace(kind(**fields), made=BRACKETED, expected=found.expected)
    return made, {"W": constants["W"], **_constants(sums, found, constants)}


def _brackets(sums: Sums) -> Brackets | None:
    if sums.requant is None or sums.mul is None:
        return None
    totals = sums.totals
    ends = totals.low + totals.bias, totals.high + totals.bias
    return brackets(RequantSpec(sums.requant, sums.mul, sums.add, *ends), totals.bias)


def _constants(sums: Sums, found: Brackets, finished: Mapping[str, Array]) -> dict[str, Array]:
    bias, weights = sums.totals.bias, sums.weights.astype(np.int8)
    return {
        "scale": found.mul.astype(np.uint16), "shifts": found.shift.astype(np.uint8),
        "bias": np.concatenate([found.summand + bias * found.mul, bias[None]]).astype(np.int32),
        "add": np.stack([finished["scale"], finished["add"]]),
        "plain": np.ascontiguousarray(weights.transpose(0, 2, 1)).reshape(len(weights), -1),
    }  # fmt: skip
