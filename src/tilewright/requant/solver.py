"""The shortest form of a requantisation that an instruction set has, and that gives the same result for every total.

A target says as data which forms its kernels and engines know, the shortest first: what arithmetic each is, and the
limits within which none of its words overflows. `least_arithmetic` says what a requantisation needs at least; the first
form that computes it, with all limits kept, is the answer. `proof.py` holds answers to the requantisation itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import ALL, Rounding, names
from tilewright.ir.types import Array, limits
from tilewright.records import dataclass
from tilewright.requant.arithmetic import Arithmetic, least_arithmetic, right_shifts
from tilewright.requant.spec import INT32, RequantSpec

Name = TypeVar("Name")
Clips = Mapping[str, tuple[int, int] | None]
"""By types of results, what they are clipped to; None where the form takes any limits."""


def whole(*dtypes: str) -> Clips:
    """Clipped to all of their type."""
    return {dtype: limits(dtype) for dtype in dtypes}


class Zero(Enum):
    """Where the zero point comes in."""

    WITH_HALF = "added with one half, before the shift"
    FROM_LOW = "added with one half, less the lowest result, which is added to results"
    LAST = "added to results, behind the shift"


class ClippedTotals(Enum):
    """Whether totals are clipped where products would leave 32 bits: what lies beyond has the first or last result."""

    NEVER = "no"
    ALIKE = "to one bound for all filters"
    EACH = "to a bound for each filter, which is where the first and the last result come from"


@dataclass(frozen=True)
class Form(Generic[Name]):
    name: Name
    """As the target's kernels call it."""
    computes: frozenset[Arithmetic]
    clips: Clips
    roundings: frozenset[Rounding] = ALL
    shifts: tuple[int, int] = (0, 62)
    """By how many bits products are shifted to the right in all: at least, and at most."""
    left_out: int = 0
    """Bits of products that are gone before one half and the zero point are added."""
    zero: Zero = Zero.WITH_HALF
    addend: float = math.inf
    """Above one half and the zero point, where they are added."""
    middle: float = math.inf
    """Above what is left of products, with one half."""
    upper: float = math.inf
    """Above what is left of products, with one half and the zero point."""
    product: float = math.inf
    """Above products with their summands, one half and the zero point."""
    product_wraps: bool = False
    """Whether products may leave their word as long as their sums do not."""
    total: float = math.inf
    """Above totals."""
    clipped_totals: ClippedTotals = ClippedTotals.NEVER
    result: float = math.inf
    """The largest result without its zero point."""
    factors: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest."""
    one_factor: bool = False
    """For all filters."""
    reduced: int | None = None
    """Factors and shift lose the powers of two that they have in common, until this shift is left."""
    lift: int = 0
    """Bits by which totals may be made larger, so that products are shifted by enough."""
    spare: int = 0
    """Bits below a result that lifted totals should have: fewer of them look like ties."""

    def takes(self, spec: RequantSpec) -> bool:
        return self.unsupported_reason(spec) is None

    def unsupported_reason(self, spec: RequantSpec) -> str | None:
        """Why a requantisation cannot be computed so, with its numbers."""
        least = least_arithmetic(spec.requant, spec.mul, spec.add, spec.largest)
        return next(self._reasons(spec, least), None)

    def reason_of(self, requant: Requant) -> str | None:
        """The same, where factors are known at run time only."""
        return next(self._reasons_of(requant), None)

    def _reasons(self, spec: RequantSpec, least: Arithmetic) -> Iterator[str]:
        yield from self._reasons_of(spec.requant)
        if least not in self.computes:
            yield f"rounded {spec.requant.rounding}, it takes {least.value}"
        small, moved = self.without_zeros(spec)[0], self.lifted(spec)
        yield from self._reasons_of_factors(spec, small.mul)
        if moved > self.lift or (spec.largest.max() << moved) > INT32[1]:
            yield f"totals have no room for {moved} bits more"
        yield from self._reasons_of_shifts(right_shifts(small.requant, small.mul, small.add) + moved)
        yield from self._reasons_of_room(small, moved)

    def _reasons_of(self, requant: Requant) -> Iterator[str]:
        if requant.rounding not in self.roundings and not (requant.shift == 0 and not requant.has_exponents):
            yield f"its rounding is {requant.rounding}, only {names(self.roundings)} is possible"
        if requant.dtype not in self.clips:
            yield f"results are {requant.dtype}, only {', '.join(self.clips)} are possible"
        elif self.clips[requant.dtype] not in (None, (requant.low, requant.high)):
            yield f"results are clipped to {requant.low} and {requant.high}"
        if not requant.has_exponents and self.reduced is None and not self.lift:
            yield from self._reasons_of_shifts(np.array([requant.shift]))

    def _reasons_of_shifts(self, shifts: Array) -> Iterator[str]:
        least, most = self.shifts
        for shift in shifts[(shifts < least) | (shifts > most)]:
            yield f"it is shifted by {shift} bits, only {least} to {most} are possible"

    def _reasons_of_factors(self, spec: RequantSpec, mul: Array) -> Iterator[str]:
        """Of the factors of a requantisation, less what they have in common with its shift."""
        if self.one_factor and len(np.unique(spec.mul)) != 1:
            yield "its channels have different factors, only one for all is possible"
        for own, left in zip(spec.mul.tolist(), mul.tolist(), strict=True):
            if left < self.factors[0]:
                yield f"a factor is {own}, only {self.factors[0]:g} and more is possible"
            if left > self.factors[1]:
                odd = f"has the odd part {left}," if left != own else "is"
                yield f"its factor {own} {odd} above {self.factors[1]:g}"

    def _reasons_of_room(self, spec: RequantSpec, lifted: int) -> Iterator[str]:
        """Whether anything on the way is too large."""
        shifts = right_shifts(spec.requant, spec.mul, spec.add) + lifted
        products = (spec.largest << lifted) * np.ldexp(np.abs(spec.mul), -self.left_out)
        left = shifts - self.left_out
        half = np.ldexp(0.5, left)
        zero = abs(2 * self._zero(spec.requant) + 1) * half
        if not (
            bool((zero < self.addend).all())
            and bool((products + half < self.middle).all())
            and bool((products + zero < self.upper).all())
            and bool((np.ldexp(products, -left) <= self.result).all())
            and bool((spec.largest < self.total).all())
        ):
            yield "what is added to products, or what they are, is too large"
        if self.clipped_totals != ClippedTotals.NEVER and not self._clips_rightly(spec):
            yield "totals beyond those whose products fit have other results than the first and the last"
        if self.product < math.inf and self._reach(spec, shifts) >= self.product:
            reach, bits = self._reach(spec, shifts).bit_length() - 1, int(self.product).bit_length()
            yield f"products of up to 2^{reach} do not fit {bits} bits"

    def _reach(self, spec: RequantSpec, shifts: Array) -> int:
        """The largest product with all that is added to it."""
        summand = self.summand(spec, shifts)
        if self.product_wraps:
            return int(max(np.abs(end * spec.mul + summand).max() for end in (spec.low, spec.high)))
        return int((spec.largest * np.abs(spec.mul) + np.abs(summand)).max())

    def _clips_rightly(self, spec: RequantSpec) -> bool:
        """Whether no total that is clipped has another result than the first or the last."""
        bounds = self.bounds(spec)
        is_never = self.clipped_totals == ClippedTotals.ALIKE and bool((bounds >= spec.largest).all())
        return bool((bounds >= 1).all()) and (is_never or self._saturates(spec, bounds))

    # ---- what kernels are given -------------------------------------------------------------------------------------

    def without_zeros(self, spec: RequantSpec) -> tuple[RequantSpec, int]:
        """Without the powers of two that factors and shift have in common, and how many these were. What summands have
        below them is never reached."""
        requant = spec.requant
        if self.reduced is None or requant.has_exponents:
            return spec, 0
        used = int(np.bitwise_or.reduce(spec.mul))
        zeros = (used & -used).bit_length() - 1 if used else 0
        lost = max(0, min(requant.shift - self.reduced, zeros))
        half = (
            (1 << requant.shift) >> 1 if requant.shift == lost else 0
        )  # where no shift is left, they are rounded here
        add = None if spec.add is None else (spec.add + half) >> lost
        return replace(spec, requant=replace(requant, shift=requant.shift - lost), mul=spec.mul >> lost, add=add), lost

    def lifted(self, spec: RequantSpec) -> int:
        """Bits by which totals are to be larger."""
        if not self.lift:
            return 0
        shift = int(right_shifts(spec.requant, spec.mul, spec.add).min())
        room = min(self.lift, INT32[1].bit_length() - int(spec.largest.max()).bit_length())
        return max(0, self.shifts[0] - shift, min(room, self.shifts[0] - 1 + self.spare - shift))

    def summand(self, spec: RequantSpec, shifts: Array) -> Array:
        """What is added to a product before all of its shift: its summand, one half and the zero point."""
        own = np.zeros_like(spec.mul) if spec.add is None or spec.requant.has_exponents else spec.add
        return np.asarray(own + (np.int64(1) << shifts >> 1) + (self._zero(spec.requant) << shifts))

    def bounds(self, spec: RequantSpec) -> Array:
        """[filters]: how far from 0 totals may be for their products to fit."""
        shifts = right_shifts(spec.requant, spec.mul, spec.add)
        room, mul = INT32[1] - np.abs(self.summand(spec, shifts)), np.maximum(np.abs(spec.mul), 1)
        if self.clipped_totals == ClippedTotals.ALIKE:
            return np.full_like(spec.mul, min(int(room.min()) // int(mul.max()) - 1, INT32[1]))
        return np.asarray(room // mul)

    def _zero(self, requant: Requant) -> int:
        match self.zero:
            case Zero.WITH_HALF:
                return requant.zero_point
            case Zero.FROM_LOW:
                return requant.zero_point - requant.low
        return 0

    def _saturates(self, spec: RequantSpec, bounds: Array) -> bool:
        """Whether all totals from the bounds on give the largest or the smallest result."""
        shifts = right_shifts(spec.requant, spec.mul, spec.add)
        ends, summand = (bounds * spec.mul, (-bounds - 1) * spec.mul), self.summand(spec, shifts)
        if np.any(spec.mul <= 0) or np.any(ends[1] < INT32[0]):
            return False
        zero = spec.requant.zero_point - self._zero(spec.requant)
        high, low = (((end + summand) >> shifts) + zero for end in ends)
        return bool((high >= spec.requant.high).all() and (low <= spec.requant.low).all())


def shortest_form(spec: RequantSpec, forms: Sequence[Form[Name]]) -> Form[Name] | None:
    """The first form that gives the same for every total; None where there is none."""
    least = least_arithmetic(spec.requant, spec.mul, spec.add, spec.largest)
    return next((form for form in forms if least in form.computes and form.takes(spec)), None)


def shortest(spec: RequantSpec, forms: Sequence[Form[Name]]) -> Name | None:
    found = shortest_form(spec, forms)
    return None if found is None else found.name
