"""The function that stands for a table of words in a TensorFlow Lite file: an exponential, one for each table."""

from __future__ import annotations

import math
from zlib import crc32

import numpy as np

from tilewright.ir.types import Array

ENTRIES = 512
STEP = 128
"""Numbers between two entries."""
LOWEST, HIGHEST = -(2**15), 2**15 - 1
LEVELS = (8000.0, 1000.0)
"""Which of the results each exponential has at a place of its own; the second where the first is too near to 1."""
NEAREST_PLACE, PLACES = 8192, 16384
LEAST_LOGARITHM = 1.0


def scale_of_words(table: Array, result: float) -> float:
    """Of the operand, where results have a scale: the digest of a table says at which number the result is a level."""
    place = NEAREST_PLACE + crc32(np.ascontiguousarray(table).tobytes()) % PLACES
    logarithms = [math.log(level * result) for level in LEVELS]
    far = next((one for one in logarithms if abs(one) >= LEAST_LOGARITHM), max(logarithms))
    return float(np.float32(abs(far) / place))


def exponential(scale: float, result: float) -> Array:
    """What a file's operator gives at each entry."""
    numbers = LOWEST + STEP * np.arange(ENTRIES)
    exponents = np.minimum(scale * numbers - math.log(result), math.log(2.0 * HIGHEST))
    return np.asarray(np.clip(np.rint(np.exp(exponents)), LOWEST, HIGHEST), np.int32)
