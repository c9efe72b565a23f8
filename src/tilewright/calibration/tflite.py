"""Samples of operators that compute as TensorFlow Lite does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.calibration.rows import SHAPES
from tilewright.calibration.values import Sample, values
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import ENTRIES as SIGMOID_ENTRIES
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.ops.tflitesoftmax16 import ENTRIES as SOFTMAX_ENTRIES
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16


def sums() -> Iterator[Sample]:
    requant = Requant(0, "int8", -128, 127, -3, Rounding.DOUBLE)
    summand = Summand(5, *multiplier(0.4))
    for rows, columns in SHAPES:
        for length in (rows, 8 * rows):
            x = values("int8", length, columns)
            yield TfliteAdd(20, summand, summand, *multiplier(1.3e-6), requant), [x, x]


def softmaxes() -> Iterator[Sample]:
    bytes_table = (np.exp(-0.05 * np.arange(ENTRIES)) * (2**31 - 1)).astype(np.int32)
    falling = np.linspace(32767, 0, SOFTMAX_ENTRIES).astype(np.int16)
    for shape in SHAPES:
        yield TfliteSoftmax(), [values("int8", *shape), bytes_table]
        yield TfliteL2Norm(3), [values("int8", *shape)]
        yield TfliteSoftmax16(*multiplier(0.5), Rounding.DOUBLE), [values("int16", *shape), falling, falling]


def sigmoids() -> Iterator[Sample]:
    table = np.linspace(0, 65535, SIGMOID_ENTRIES).astype(np.uint16)
    for shape in SHAPES:
        for is_tanh in (False, True):
            yield TfliteSigmoid(3, 0, is_tanh), [values("int16", *shape), table]


OTHERS = (sums, softmaxes, sigmoids)
