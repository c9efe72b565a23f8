"""Random operands in TensorFlow Lite's roundings."""

from __future__ import annotations

import numpy as np

from tests.targets.pulp.random_cases import Draw
from tilewright.frontends.tflite.words import logistic_table, softmax_tables
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import SCALED, Rounding
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ir.types import Array, limits
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16


class ScaledDraw(Draw):
    """Draws requantisations with a scale of its own for each channel."""

    def requant(self, dtype: str, products: int, *shapes: tuple[int, ...]) -> tuple[Requant, list[Array | None]]:
        low, high = limits(dtype)
        shape = shapes[int(self.random.integers(len(shapes)))]
        rounding = str(self.one_of("double", *(one for one in Rounding if one in SCALED)))
        zero = int(self.random.integers(low, high))
        requant = Requant(0, dtype, zero if self.flag() else low, high, zero, rounding)
        scale = 400.0 / (6000.0 * products**0.5)
        if rounding == "float":
            scales = (scale * self.random.uniform(0.2, 1.0, shape)).astype(np.float32)
            return requant, [scales.view(np.int32), None]
        power = int(np.floor(np.log2(scale))) + 1
        exponents = self.between(power - 3, power, *shape) if self.size(5) > 1 else self.between(-31, 1, *shape)
        return requant, [self.between(2**30, 2**31 - 1, *shape), exponents]


def scaled_add(draw: Draw) -> tuple[TfliteAdd, list[Array | None]]:
    """A sum of two tensors of bytes, broadcast along some axes."""
    shape = [draw.size(13) for _ in range(draw.size(3))]
    other = [size if draw.size(3) > 1 else 1 for size in shape][draw.size(len(shape)) - 1 :]
    a, b = draw.array(draw.byte(), *shape), draw.array(draw.byte(), *other)
    scales = draw.random.uniform(0.01, 0.2, 3)
    twice = 2 * max(scales[:2])
    zeros = [draw.zero(array.dtype.name) for array in (a, b)]
    summands = [Summand(zero, *multiplier(scale / twice)) for zero, scale in zip(zeros, scales[:2], strict=True)]
    dtype = draw.byte()
    low, high = limits(dtype)
    zero = int(draw.random.integers(low, high))
    rounding = str(draw.one_of("double", "double_up", "single"))
    requant = Requant(0, dtype, zero if draw.flag() else low, high, zero, rounding)
    return TfliteAdd(20, *summands, *multiplier(twice / (2**20 * scales[2])), requant), [a, b]


def fixed_softmax(draw: Draw) -> tuple[TfliteSoftmax, list[Array | None]]:
    """Rows of bytes; exponentials that reach 0 early or late."""
    shape = [draw.size(9) for _ in range(draw.size(4))]
    table = np.exp(-draw.random.uniform(0.01, 0.5) * np.arange(ENTRIES)) * (2**31 - 1)
    return TfliteSoftmax(str(draw.one_of("int8", "int16"))), [draw.array(draw.byte(), *shape), table.astype(np.int32)]


def row_lengths(draw: Draw) -> tuple[TfliteL2Norm, list[Array | None]]:
    shape = [draw.size(9) for _ in range(draw.size(4))]
    return TfliteL2Norm(int(draw.random.integers(-128, 128))), [draw.array("int8", *shape)]


def word_softmax(draw: Draw) -> tuple[TfliteSoftmax16, list[Array | None]]:
    shape = [draw.size(9) for _ in range(draw.size(4))]
    op = TfliteSoftmax16(
        *multiplier(float(np.exp(draw.random.uniform(-9, 6)))), Rounding(draw.one_of("double", "single"))
    )
    return op, [draw.array("int16", *shape), *softmax_tables()]


def word_sigmoid(draw: Draw) -> tuple[TfliteSigmoid, list[Array | None]]:
    shape = [draw.size(9) for _ in range(draw.size(4))]
    mul, shift = (int(draw.random.integers(2**14, 2**15)), draw.size(20)) if draw.flag() else (3 * draw.size(2), 0)
    return TfliteSigmoid(mul, shift, draw.flag()), [draw.array("int16", *shape), logistic_table()]
