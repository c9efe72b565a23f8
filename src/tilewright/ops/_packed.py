"""Weights of few bits in bytes: codes from 0 up, to which the least weight is added.

A row of them begins at a word of four bytes. Four neighbours are in the lowest bits of a word's bytes, the next four in
the bits above, so that one mask makes bytes of them.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

WIDTHS = (2, 4)
"""Bits of a stored code; weights of 3 bits take 4."""
WORD = 4


def fields(bits: int) -> int:
    """Codes in a byte."""
    return 8 // bits


def row_bytes(length: int, bits: int) -> int:
    return WORD * -(-length // (WORD * fields(bits)))


def width_of(span: int) -> int | None:
    """The bits for codes from 0 to `span`, or None where a byte is needed anyway."""
    return next((bits for bits in WIDTHS if span < 2**bits), None)


def packed_rows(codes: Array, bits: int) -> Array:
    """Codes [rows, length] as bytes [rows, ...]."""
    rows, length = codes.shape
    filled = np.pad(codes, [(0, 0), (0, row_bytes(length, bits) * fields(bits) - length)])
    parts = filled.reshape(rows, -1, fields(bits), WORD).astype(np.uint8)
    shifts = (bits * np.arange(fields(bits), dtype=np.uint8))[:, None]
    return np.ascontiguousarray((parts << shifts).sum(2, dtype=np.uint8).reshape(rows, -1))


def unpacked_rows(packed: Array, length: int, bits: int) -> Array:
    """Codes [rows, length] as int32."""
    words = packed.reshape(len(packed), -1, 1, WORD)
    shifts = (bits * np.arange(fields(bits), dtype=np.uint8))[:, None]
    codes = (words >> shifts) & np.uint8(2**bits - 1)
    return codes.reshape(len(packed), -1)[:, :length].astype(np.int32)
