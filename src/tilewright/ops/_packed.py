"""Weights of few bits in bytes: codes from 0 up, to which the least weight is added."""

from __future__ import annotations

from tilewright.ops._packing import Packing

WIDTHS = (2, 4)
"""Bits of a stored code; weights of 3 bits take 4."""


def few_bits(bits: int) -> Packing:
    """Rows of codes, which begin at a word of four bytes. Four neighbours are in the lowest bits of a word's bytes, the
    next four in the bits above, so that one mask makes bytes of them."""
    word = 32 // bits
    return Packing("r k", f"r (k/{word} k:4 k:{word}/4 #)", bits)


def row_bytes(length: int, bits: int) -> int:
    return few_bits(bits).stored_shape((1, length))[1]


def width_of(span: int) -> int | None:
    """The bits for codes from 0 to `span`, or None where a byte is needed anyway."""
    return next((bits for bits in WIDTHS if span < 2**bits), None)
