"""Weights in the form that N-EUREKA reads: unsigned codes, bit by bit in words of 32 bytes.

A code plus the offset of a layer is a weight. A filter with one tap has one word for 32 channels; a filter with a
window has one word for each bit of a code, for 28 channels of nine taps. Channels that are missing in the last word are
zero.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

WORD = 32
"""Bytes."""
NARROW = 32
"""Channels in a word of filters with one tap."""
WIDE = 28
"""Channels in a word of filters with a window."""
TAPS = 9


def pointwise_words(codes: Array) -> Array:
    """Codes [filters, channels] as bytes [filters, ...]."""
    quads = _filled(codes, NARROW).reshape(len(codes), -1, 8, 4)
    bits = _bits(quads, 8).transpose(0, 1, 2, 4, 3)
    return _packed(bits.reshape(len(codes), -1, 8 * WORD)).reshape(len(codes), -1)


def pointwise_codes(words: Array, channels: int) -> Array:
    bits = np.unpackbits(words, bitorder="little").reshape(len(words), -1, 8, 8, 4)
    return _joined(bits.transpose(0, 1, 2, 4, 3)).reshape(len(words), -1)[:, :channels]


def window_words(codes: Array, bits: int) -> Array:
    """Codes [filters, channels, 9] as bytes [filters, ...]."""
    filled = _filled(codes.transpose(0, 2, 1), WIDE).reshape(len(codes), TAPS, -1, WIDE)
    planes = _bits(filled.transpose(0, 2, 1, 3), bits).transpose(0, 1, 4, 2, 3)
    return _packed(planes.reshape(len(codes), -1, bits, TAPS * WIDE)).reshape(len(codes), -1)


def window_codes(words: Array, channels: int, bits: int) -> Array:
    planes = np.unpackbits(words, bitorder="little").reshape(len(words), -1, bits, 8 * WORD)[..., : TAPS * WIDE]
    codes = _joined(planes.transpose(0, 1, 3, 2)).reshape(len(words), -1, TAPS, WIDE)
    return codes.transpose(0, 1, 3, 2).reshape(len(words), -1, TAPS)[:, :channels]


def depthwise_words(codes: Array, bits: int) -> Array:
    """Codes [channels, 9] as bytes [groups of 28 channels, ...]."""
    groups = _filled(codes.T, WIDE).reshape(TAPS, -1, WIDE)
    return window_words(groups.transpose(1, 2, 0), bits)


def depthwise_codes(words: Array, channels: int, bits: int) -> Array:
    return window_codes(words, WIDE, bits).reshape(-1, TAPS)[:channels]


def _filled(codes: Array, unit: int) -> Array:
    """With zeros behind the last axis, up to whole units."""
    missing = -codes.shape[-1] % unit
    return np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, missing)])


def _bits(codes: Array, count: int) -> Array:
    """One more axis, with the bits of each code from the lowest up."""
    return codes[..., None] >> np.arange(count) & 1


def _joined(bits: Array) -> Array:
    return (bits.astype(np.int32) << np.arange(bits.shape[-1])).sum(-1, dtype=np.int32)


def _packed(bits: Array) -> Array:
    filled = _filled(bits, 8 * WORD)
    return np.packbits(filled.astype(np.uint8), axis=-1, bitorder="little")
