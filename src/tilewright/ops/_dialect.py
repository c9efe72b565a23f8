"""What the operators of the QuantLab-style integer dialect share.

Their exporters store attributes as integers, floats or one-element tensors, and integers in FLOAT tensors. Arithmetic
is 32 bits wide and wraps around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, field
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shapes, TensorType, limits, narrowest
from tilewright.ops._scaling import Scaling
from tilewright.ops.cast import Cast
from tilewright.records import dataclass

INTEGERS = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
"""Element types whose values are all 32-bit integers."""

MAX_SHIFT = 62
"""The sum in a requantisation has 64 bits."""


# ---- attributes ---------------------------------------------------------------------------------------------------


def number(node: OnnxNode, name: str, default: Any = MISSING) -> float:
    """An attribute that may be an integer, a float or a tensor of one element."""
    values = np.asarray(node.attribute(name, default)).reshape(-1)
    if values.size != 1 or values.dtype.kind not in "iufb":
        raise Refusal(f"attribute '{name}' has {values.size} elements, one number expected")
    if not np.isfinite(values[0]):
        raise Refusal(f"attribute '{name}' is {values[0]}")
    return values[0].item()


def whole_number(node: OnnxNode, name: str, default: Any = MISSING, low: int = -(2**31), high: int = 2**31 - 1) -> int:
    """Such an attribute without a fraction, inside a range."""
    value = number(node, name, default)
    if value != round(value):
        raise Refusal(f"attribute '{name}' is {value}; a whole number is expected")
    if not low <= value <= high:
        raise Refusal(f"attribute '{name}' is {value}; {low} to {high} is supported")
    return round(value)


def shift_of(node: OnnxNode, name: str, high: int = MAX_SHIFT) -> int:
    """s for an attribute that is 2**s."""
    value = whole_number(node, name, low=1, high=2**high)
    if value & (value - 1):
        raise Refusal(
            f"attribute '{name}' is {value}, which is not a power of two", "export with power-of-two divisors"
        )
    return value.bit_length() - 1


def check_levels(node: OnnxNode) -> None:
    """For operators that always give int8."""
    if (levels := whole_number(node, "n_levels", 256)) != 256:
        raise Refusal(f"n_levels is {levels}; only 256 is supported", "put a RequantShift after it")


def requant_of(node: OnnxNode, prefix: str = "") -> Requant:
    """The requantisation that attributes div (or shift, of which it is the power of two), n_levels (or n_levels_out)
    and signed describe."""
    shift = _divisor(node, f"{prefix}div", f"{prefix}shift")
    levels_name = f"{prefix}n_levels_out" if f"{prefix}n_levels_out" in node.attributes else f"{prefix}n_levels"
    levels = whole_number(node, levels_name, low=2, high=2**32)
    node.ignore(f"{prefix}n_levels", f"{prefix}n_levels_out")
    signed = bool(number(node, f"{prefix}signed"))
    low, high = (-(levels // 2), levels // 2 - 1) if signed else (0, levels - 1)
    return Requant(shift, narrowest_dtype(low, high), low, high)


def _divisor(node: OnnxNode, div: str, shift: str) -> int:
    """The shift that either attribute says; both may stand there if they say the same."""
    if shift not in node.attributes:
        return shift_of(node, div)
    found = whole_number(node, shift, low=0, high=MAX_SHIFT)
    if div in node.attributes and shift_of(node, div) != found:
        raise Refusal(f"attributes '{div}' and '{shift}' contradict each other: {number(node, div):g} and {found}")
    return found


def narrowest_dtype(low: int, high: int) -> str:
    """The smallest of the usual types that holds a range."""
    found = narrowest(low, high, ("int8", "uint8", "int16", "uint16", "int32"))
    if found is None:
        raise Refusal(f"results from {low} to {high} do not fit int32", "use fewer levels")
    return found


# ---- operands -----------------------------------------------------------------------------------------------------


def as_int32(node: OnnxNode, emit: Emit, position: int) -> str:
    """An operand; types that are wider than the arithmetic are cut to 32 bits."""
    kind = node.type(position)
    if kind.dtype in ("uint32", "int64", "uint64"):
        return emit(Cast("int32"), [node.inputs[position]])[0]
    return node.inputs[position]


def int32_constant(node: OnnxNode, position: int, meaning: str) -> Array:
    """The value of a constant input as int32; whole numbers only."""
    values = node.constant(position, meaning)
    if values is None:
        raise Refusal(f"{meaning} (input {position}) is missing")
    wide = values.astype(np.float64) if values.dtype.kind == "f" else values.astype(np.int64)
    low, high = limits("int32")
    if values.size and not (np.all(wide == np.round(wide)) and wide.min() >= low and wide.max() <= high):
        raise Refusal(f"{meaning} must hold integers of at most 32 bits")
    return wide.astype(np.int32)


def per_column(node: OnnxNode, emit: Emit, position: int, meaning: str) -> str:
    """A constant input with one value for each element of a row, whatever ones its shape has."""
    values, length = int32_constant(node, position, meaning), node.type(0).shape[-1] if node.rank() else 1
    if values.size not in (1, length):
        raise Refusal(f"{meaning} has {values.size} values for rows of {length}")
    return emit.constant(np.broadcast_to(values.reshape(-1), (length,)).copy(), node.inputs[position])


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def divide(a: Array, b: Array | int) -> Array:
    """a / b in 64 bits, truncated toward zero as in C; 0 where b is 0."""
    by = np.asarray(b, np.int64)
    safe = np.where(by == 0, 1, by)
    whole = a.astype(np.int64) - np.fmod(a.astype(np.int64), safe)
    return np.where(by == 0, 0, whole // safe)


def int32(a: Array) -> Array:
    return a.astype(np.int32)


def root(a: Array) -> Array:
    """The floor of the square root of non-negative integers, as int32."""
    guess = np.sqrt(a.astype(np.float64)).astype(np.uint64)
    guess -= guess * guess > a.astype(np.uint64)
    guess += (guess + 1) * (guess + 1) <= a.astype(np.uint64)
    return guess.astype(np.int32)


# ---- bases --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntegerRows(Op):
    """Each row (the last axis) on its own; W and B have one value per column."""

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, **{name: loops[-1:] for name in ("W", "B") if name in shapes}, "Y": loops}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({f"d{len(shapes['X']) - 1}"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if not types["X"].shape:
            raise Refusal("X is a scalar; it needs an axis to work along")
        check_integers(types)
        for name in ("W", "B"):
            if name in types and types[name].shape != types["X"].shape[-1:]:
                raise Refusal(f"{name} has shape {types[name].shape} for rows of {types['X'].shape[-1]}")


@dataclass(frozen=True)
class IntegerSoftmax(IntegerRows):
    """Shares of a row, from 0 to `top`; `out` requantises them."""

    elementwise: ClassVar[bool] = False
    n_levels: int = 256
    out: Scaling | None = field(default=None, kw_only=True)

    @property
    def top(self) -> int:
        return self.n_levels - 1

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.out.requant.dtype if self.out else narrowest_dtype(0, self.top),)

    def shares(self, X: Array) -> Array:
        """Integers from 0 to `top`; X has elements."""
        raise NotImplementedError(type(self).__name__)

    def numpy(self, X: Array) -> Array:
        shares = self.shares(X) if X.size else np.zeros(X.shape, np.int32)
        return self.out(shares) if self.out else shares.astype(narrowest_dtype(0, self.top))


def check_integers(types: Mapping[str, TensorType]) -> None:
    for name, kind in types.items():
        if kind.dtype not in INTEGERS:
            raise Refusal(
                f"{name} is {kind.dtype}; supported: {', '.join(sorted(INTEGERS))}", "insert a Cast or a Quant"
            )
