"""Fixed-point requantisation: from a wide integer to a narrow one, without floats.

    y = clamp(round((x * mul + add) / 2**shift) + zero_point, low, high)

`mul` and `add` are int32 tensors (one value, or one per channel); everything else is part of the type below.
The product is 64 bits wide. TensorFlow Lite's roundings scale by `mul` and a power of two of each channel, which `add`
holds; `shift` is then 0, and what would be added is part of the total.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir import tflite_rounding
from tilewright.ir.rounding import PLAIN, SCALED, UP, Rounding
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass


@dataclass(frozen=True)
class Requant:
    shift: int
    dtype: str
    low: int
    high: int
    zero_point: int = 0
    rounding: Rounding = Rounding.HALF_UP

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounding", Rounding(self.rounding))

    @property
    def has_exponents(self) -> bool:
        """Whether it is one of TensorFlow Lite's: `add` holds exponents."""
        return self.rounding in SCALED

    @property
    def clips_to_type(self) -> bool:
        """Whether every number of its type is a result."""
        return (self.low, self.high) == limits(self.dtype)

    def __call__(self, total: Array, mul: Array, add: Array | None = None) -> Array:
        if self.has_exponents:
            value = tflite_rounding.scaled(total, mul, add, self.rounding) + self.zero_point
            return np.clip(value, self.low, self.high).astype(self.dtype)
        wide = total.astype(np.int64) * mul.astype(np.int64)
        if add is not None:
            wide = wide + add.astype(np.int64)
        value = shift_right(wide, self.shift, self.rounding) + self.zero_point
        return np.clip(value, self.low, self.high).astype(self.dtype)

    def __str__(self) -> str:
        if self.has_exponents:
            return f"{self.dtype}[{self.low},{self.high}] {self.rounding} + {self.zero_point}"
        zero = f" + {self.zero_point}" if self.zero_point else ""
        return f"{self.dtype}[{self.low},{self.high}] >> {self.shift} {self.rounding}{zero}"


NO_CHANGE = Requant(0, "int8", -128, 127)
"""The requantisation that an operator has before a pass gives it one."""
TIES_TO_EVEN = dataclasses.replace(NO_CHANGE, rounding=Rounding.HALF_EVEN)
"""The requantisation that an exact mean has before a pass gives it one."""


def requants_of(op: object) -> list[Requant]:
    """The requantisations in the fields of an operator, and in what its fields are made of."""
    found: list[Requant] = []
    for field in dataclasses.fields(op) if dataclasses.is_dataclass(op) else ():
        value = getattr(op, field.name)
        found += [value] if isinstance(value, Requant) else requants_of(value)
    return found


def roundings_of(op: object) -> frozenset[Rounding]:
    """Those of an operator's requantisations, and its own where it has one."""
    own = getattr(op, "rounding", None)
    found = {requant.rounding for requant in requants_of(op)}
    return frozenset(found | {own} if isinstance(own, Rounding) else found)


def shift_right(value: Array, shift: int, rounding: Rounding) -> Array:
    """value / 2**shift, in one of the roundings of PLAIN."""
    if rounding not in PLAIN:
        raise InternalError("a shift to the right", f"is rounded {rounding}, which takes a scale")
    if shift == 0:
        return value
    if rounding in UP:
        return (value + (1 << (shift - 1))) >> shift
    if rounding == Rounding.HALF_AWAY:
        return (value + (1 << (shift - 1)) - (value < 0)) >> shift
    # Half minus one, plus one where the quotient is odd: a tie then rounds up only from an odd quotient.
    odd = (value >> shift) & 1
    return (value + ((1 << (shift - 1)) - 1) + odd) >> shift


def full_range(shift: int, dtype: str, zero_point: int = 0, rounding: Rounding = Rounding.HALF_UP) -> Requant:
    """A requantisation that clamps to all of its type."""
    low, high = limits(dtype)
    return Requant(shift, dtype, low, high, zero_point, rounding)


EXACT = 1e-4
"""Of a unit: scales that are so close to a multiplier are meant to be it."""


def fixed_point(scale: Array | float, bits: int = 30, rounds_to_odd: bool = False) -> tuple[Array, int]:
    """`mul` (int32, below 2**bits) and `shift` with mul / 2**shift close to each scale; one shift for all.

    What lies between two multipliers is the even or odd one that is nearer; or the odd one, which has no ties that the
    scale has not: the more zeros a multiplier ends with, the more totals are halfway between two results.
    """
    scales = np.atleast_1d(np.asarray(scale, np.float64))
    largest = float(np.max(np.abs(scales)))
    if not np.isfinite(largest) or largest == 0.0:
        return np.zeros(scales.shape, np.int32), 0
    shift = bits - int(np.floor(np.log2(largest))) - 1
    shift = int(np.clip(shift, 0, 62))
    wanted = scales * 2.0**shift
    nearest = np.round(wanted)
    if rounds_to_odd:
        odd = 2 * np.floor(wanted / 2) + 1
        nearest = np.where(np.abs(wanted - nearest) < EXACT, nearest, odd)
    return nearest.astype(np.int32), shift
