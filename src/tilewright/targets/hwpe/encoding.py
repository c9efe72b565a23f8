"""Weights in the form that N-EUREKA reads: unsigned codes, bit by bit in words of 32 bytes.

A code plus the offset of a layer is a weight. A filter with one tap has one word for 32 channels; a filter with a
window has one word for each bit of a code, for 28 channels of nine taps. Channels that are missing in the last word are
zero.
"""

from __future__ import annotations

from tilewright.ir.types import Array
from tilewright.ops._packing import Packing

WORD = 32
"""Bytes."""
NARROW = 32
"""Channels in a word of filters with one tap."""
WIDE = 28
"""Channels in a word of filters with a window."""
TAPS = 9
ONE_TAP = Packing("f c", "f (c/32 c:32/4 # c:4)", 8)
"""Codes [filters, channels]."""


def window_words(codes: Array, bits: int) -> Array:
    """Codes [filters, channels, 9] as bytes [filters, ...]."""
    return _windows(bits).pack(codes).reshape(len(codes), -1)


def window_codes(words: Array, channels: int, bits: int) -> Array:
    return _windows(bits).unpack(words, (len(words), channels, TAPS))


def depthwise_words(codes: Array, bits: int) -> Array:
    """Codes [channels, 9] as bytes [groups of 28 channels, ...]."""
    return _channels(bits).pack(codes).reshape(-1, WORD * bits)


def depthwise_codes(words: Array, channels: int, bits: int) -> Array:
    return _channels(bits).unpack(words, (channels, TAPS))


def _windows(bits: int) -> Packing:
    return Packing("f c t", "f c/28 # (t c:28)*256", bits)


def _channels(bits: int) -> Packing:
    return Packing("c t", "c/28 # (t c:28)*256", bits)
