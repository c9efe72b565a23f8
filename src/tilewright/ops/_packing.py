"""Arrays in the order in which kernels and devices read them: axes split, filled up and permuted, codes bit by bit.

An order is a nest of loops, the outermost first. `f/16 k f:16` has blocks of 16 filters, in each of them all k, and the
filters of a block innermost; `k:16/4` are the fours of a block of 16. Loops in brackets are one axis of what is stored:
`(t c:28)*256` is filled up to a multiple of 256. `#` are the bits of a code, the lowest first.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

BITS = "#"
BYTE = 8
WORD = re.compile(r"(?P<axis>\w+|#)(?::(?P<outer>\d+))?(?:/(?P<inner>\d+))?")
TERM = re.compile(r"\((?P<loops>[^()]*)\)(?:\*(?P<multiple>\d+))?|(?P<loop>[^\s()*]+)")


@dataclass(frozen=True)
class Digit:
    """Of an index along an axis: what is left of it by `outer`, divided by `inner`; all of it where `outer` is 0."""

    axis: str
    outer: int = 0
    inner: int = 1

    def size(self, extent: int) -> int:
        return (self.outer or -(-extent // self.inner) * self.inner) // self.inner


@dataclass(frozen=True)
class StoredAxis:
    digits: tuple[Digit, ...]
    multiple: int = 1
    """That it is filled up to."""


@dataclass(frozen=True)
class Packing:
    axes: str = ""
    """Of the plain array, by name."""
    order: str = ""
    bits: int = 0
    """Of a code, which is a value of the plain array; 0 where values are stored as they are."""

    def pack(self, array: Array) -> Array:
        plan = _plan(self, array.shape)
        filled = _filled(array, plan.filled)
        parts = (_bits_of(filled, self.bits) if self.bits else filled).reshape(plan.sizes).transpose(plan.places)
        stored = _filled(parts.reshape([math.prod(nest) for nest in plan.nests]), plan.stored)
        return np.packbits(stored, axis=-1, bitorder="little") if self.bits else np.ascontiguousarray(stored)

    def unpack(self, stored: Array, shape: Shape) -> Array:
        """The plain array of that shape; codes are not negative."""
        plan = _plan(self, shape)
        plain = (np.unpackbits(stored, bitorder="little") if self.bits else stored).reshape(plan.stored)
        cut = plain[tuple(slice(math.prod(nest)) for nest in plan.nests)]
        parts = cut.reshape([size for nest in plan.nests for size in nest]).transpose(np.argsort(plan.places))
        values = _codes_of(parts) if self.bits else parts
        return np.ascontiguousarray(values.reshape(plan.filled)[tuple(map(slice, shape))])

    def stored_shape(self, shape: Shape) -> Shape:
        """Of a plain array of that shape."""
        *outer, last = _plan(self, shape).stored
        return (*outer, last // BYTE if self.bits else last)


def pack_rows(order: str, rows: Array, groups: int = 1) -> Array:
    """Rows of weights [groups * filters, length], with loops g, f and k."""
    return Packing("g f k", order).pack(rows.reshape(groups, -1, rows.shape[1]))


def unpack_rows(order: str, stored: Array, groups: int, filters: int, length: int) -> Array:
    """As many filters in each group."""
    return Packing("g f k", order).unpack(stored, (groups, filters, length)).reshape(-1, length)


def pack_values(order: str, values: Array, groups: int = 1) -> Array:
    """A value for each filter, with loops g and f."""
    return Packing("g f", order).pack(values.reshape(groups, -1))


def unpack_values(order: str, stored: Array, groups: int, filters: int) -> Array:
    """As many filters in each group."""
    return Packing("g f", order).unpack(stored, (groups, filters)).reshape(-1)


def check_order(order: str, axes: Sequence[str]) -> None:
    """Every axis once, as a whole or as digits of which each goes on where the one before ends. Raises `Refusal`."""
    digits = [digit for axis in stored_axes(order) for digit in axis.digits]
    for axis in dict.fromkeys([*axes, *(digit.axis for digit in digits)]):
        if axis not in axes:
            raise Refusal(f"the operand has no loop '{axis}'", f"it has {', '.join(axes)}")
        own = sorted((digit.outer or math.inf, digit.inner) for digit in digits if digit.axis == axis)
        ends = [1, *(outer for outer, _ in own)]
        if ends[-1] != math.inf or [inner for _, inner in own] != ends[:-1]:
            raise Refusal(f"loop '{axis}' must be there once", f"'{axis}', or '{axis}/16' and '{axis}:16'")


@functools.cache
def stored_axes(order: str) -> tuple[StoredAxis, ...]:
    """Raises `Refusal` for what is no order."""
    if rest := TERM.sub("", order).strip():
        raise Refusal(f"'{rest}' is no loop of an order", "for example 'f/16 k f:16'")
    return tuple(
        StoredAxis(tuple(map(_digit, (found["loop"] or found["loops"]).split())), int(found["multiple"] or 1))
        for found in TERM.finditer(order)
    )


def _digit(word: str) -> Digit:
    found = WORD.fullmatch(word)
    parts = [] if found is None else [int(part) for part in (found["outer"], found["inner"]) if part is not None]
    if found is None or any(part < 2 for part in parts) or (len(parts) == 2 and parts[0] % parts[1]):
        axis, sign = re.match(r"([^:/]*)(.?)", word).groups()  # type: ignore[union-attr]  # it matches every text
        raise Refusal(f"'{word}' has no block of at least 2", f"for example '{axis}{sign}16'")
    return Digit(found["axis"], int(found["outer"] or 0), int(found["inner"] or 1))


@dataclass(frozen=True)
class _Plan:
    """Of a packing, for one shape of the plain array."""

    filled: Shape
    """The array's shape, with what fills up its axes."""
    sizes: Shape
    """Of all digits: those of the first axis first, of each axis the highest first; then of the bits."""
    places: Shape
    """Among these, of each loop of the order."""
    nests: tuple[Shape, ...]
    """The sizes of the loops of each axis that is stored."""
    stored: Shape
    """What is stored, with what fills it up; in bits where codes have some."""


@functools.cache
def _plan(packing: Packing, shape: Shape) -> _Plan:
    stored = stored_axes(packing.order)
    loops = [digit for axis in stored for digit in axis.digits]
    extents = dict(zip([*packing.axes.split(), BITS], (*shape, packing.bits), strict=True))
    digits = sorted(loops, key=lambda digit: (list(extents).index(digit.axis), -digit.inner))
    sizes = {digit: digit.size(extents[digit.axis]) for digit in digits}
    filled = tuple(math.prod(sizes[digit] for digit in digits if digit.axis == axis) for axis in packing.axes.split())
    nests = tuple(tuple(sizes[digit] for digit in axis.digits) for axis in stored)
    up = (-(-math.prod(nest) // axis.multiple) * axis.multiple for nest, axis in zip(nests, stored, strict=True))
    return _Plan(filled, tuple(sizes.values()), tuple(map(digits.index, loops)), nests, tuple(up))


def _filled(array: Array, shape: Shape) -> Array:
    """With zeros behind every axis."""
    fill = [(0, size - own) for size, own in zip(shape, array.shape, strict=True)]
    return np.pad(array, fill) if any(more for _, more in fill) else array


def _bits_of(codes: Array, bits: int) -> Array:
    """One more axis: the lowest bits of each code."""
    as_bytes = codes.astype(f"<i{4 if bits > BYTE else 1}")[..., None].view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, count=bits, bitorder="little")


def _codes_of(bits: Array) -> Array:
    return (bits.astype(np.int32) << np.arange(bits.shape[-1])).sum(-1, dtype=np.int32)
