"""Operands for measurements: always the same, and neither special nor all alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array

Sample = tuple[Op, Sequence[Array | None]]
"""An operator with its operands."""

TO_BYTES = full_range(16, "int8")
"""A requantisation as networks have it."""


MEANS = replace(TO_BYTES, rounding=Rounding.HALF_EVEN)
"""The same of a mean, which rounds exactly."""


NATIVELY = replace(TO_BYTES, rounding=Rounding.NATIVE)
"""The same as hardware does it."""


TO_BYTES_IN_64_BITS = full_range(36, "int8", -3, Rounding.HALF_EVEN)
"""The same as quantised ONNX has it."""


TFLITES = full_range(0, "int8", -3, Rounding.DOUBLE)
"""The same as TensorFlow Lite has it, with exponents among the operands."""


TO_HALVES = full_range(31, "int16", 0, Rounding.HALF_EVEN)
"""Results of 16 bits, as decoders have them."""


def values(dtype: str, *shape: int) -> Array:
    """Numbers of both signs where the type has them, small enough for any function to be finite."""
    random = np.random.default_rng(len(shape) + sum(shape))
    if dtype == "float32":
        return random.uniform(0.25, 2.0, shape).astype(np.float32)
    low = 0 if dtype.startswith(("u", "b")) else -50
    return random.integers(low, 2 if dtype == "bool" else 50, shape).astype(dtype)


def factors(*shape: int) -> Array:
    """Multipliers of a requantisation."""
    return np.full(shape, 1171, np.int32)


def large_factors(*shape: int) -> Array:
    """For a shift by 36 bits. Odd, as most are in networks: their products are no ties."""
    return np.full(shape, (1171 << 20) + 1, np.int32)


def summands(*shape: int) -> Array:
    return np.full(shape, 1000, np.int32)


def exponents(*shape: int) -> Array:
    """Powers of two of TensorFlow Lite's requantisation."""
    return np.full(shape, -7, np.int32)
