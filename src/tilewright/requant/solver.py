"""The shortest form of a requantisation that an instruction set has, and that gives the same result for every total.

A target says as data which forms its kernels know, the shortest first: what arithmetic each is, and the limits within
which none of its words overflows. `least_arithmetic` says what a requantisation needs at least; the first form that
computes it, with all limits kept, is the answer. `proof.py` holds answers to the requantisation itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from tilewright.ir.rounding import ALL, Rounding
from tilewright.ir.types import Array, limits
from tilewright.requant.arithmetic import Arithmetic, least_arithmetic, right_shifts
from tilewright.requant.spec import RequantSpec

Name = TypeVar("Name")
Clips = Mapping[str, tuple[int, int] | None]
"""By types of results, what they are clipped to; None where the form takes any limits."""


def whole(*dtypes: str) -> Clips:
    """Clipped to all of their type."""
    return {dtype: limits(dtype) for dtype in dtypes}


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
    addend: float = math.inf
    """Above one half and the zero point, where they are added."""
    middle: float = math.inf
    """Above what is left of products, with one half."""
    product: float = math.inf
    """Above products with their summands, one half and the zero point."""
    total: float = math.inf
    """Above totals."""
    result: float = math.inf
    """The largest result without its zero point."""
    has_positive_factors: bool = False

    def takes(self, spec: RequantSpec) -> bool:
        requant, mul = spec.requant, spec.mul
        shifts = right_shifts(requant, mul, spec.add)
        is_shifted = bool(((shifts >= self.shifts[0]) & (shifts <= self.shifts[1])).all())
        if requant.rounding not in self.roundings or not self._clips(spec) or not is_shifted:
            return False
        if self.has_positive_factors and not bool(mul.min() > 0):
            return False
        return self._has_room(spec, shifts)

    def _clips(self, spec: RequantSpec) -> bool:
        requant = spec.requant
        return requant.dtype in self.clips and self.clips[requant.dtype] in (None, (requant.low, requant.high))

    def _has_room(self, spec: RequantSpec, shifts: Array) -> bool:
        """Whether nothing on the way is too large."""
        products, left = spec.largest * np.ldexp(np.abs(spec.mul), -self.left_out), shifts - self.left_out
        half, zero = np.ldexp(0.5, left), abs(2 * spec.requant.zero_point + 1)
        return (
            bool((zero * half < self.addend).all())
            and bool((products + half < self.middle).all())
            and bool((np.ldexp(products, -left) <= self.result).all())
            and bool((spec.largest < self.total).all())
            and (self.product == math.inf or bool((self._sums(spec, shifts) < self.product).all()))
        )

    def _sums(self, spec: RequantSpec, shifts: Array) -> Array:
        return np.asarray(spec.largest * np.abs(spec.mul) + np.abs(whole_addend(spec, shifts)))


def whole_addend(spec: RequantSpec, shifts: Array) -> Array:
    """What is added to a product before all of its shift: its summand, one half and the zero point."""
    own = np.zeros_like(spec.mul) if spec.add is None or spec.requant.has_exponents else spec.add
    return np.asarray(own + (np.int64(1) << shifts >> 1) + (spec.requant.zero_point << shifts))


def shortest(spec: RequantSpec, forms: Sequence[Form[Name]]) -> Name | None:
    """The first form that gives the same for every total; None where there is none."""
    least = least_arithmetic(spec.requant, spec.mul, spec.add, spec.largest)
    return next((form.name for form in forms if least in form.computes and form.takes(spec)), None)
