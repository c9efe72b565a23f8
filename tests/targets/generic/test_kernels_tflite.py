"""The C of TensorFlow Lite's roundings and operators equals their meaning, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.test_quantised import integers
from tests.support.checks import Case, check_kernels
from tests.support.tflite_draws import ScaledDraw, scaled_add, word_sigmoid, word_softmax
from tests.targets.pulp.random_cases import Draw
from tilewright.frontends.tflite.rules.rows import exponentials
from tilewright.frontends.tflite.words import logistic_table, softmax_tables
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import SCALED, Rounding
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16

RANDOM = np.random.default_rng(11)


def linear(seed: int) -> list[Case]:
    """Convolutions in both layouts, depthwise and transposed, and products, of 8 and of 16 bits."""
    draw = ScaledDraw(seed)
    x_type = str(draw.one_of("int8", "uint8", "int16"))
    channels, filters, zero = draw.size(5), draw.size(7), 0 if x_type == "int16" else draw.zero(x_type)
    requant, rest = draw.requant(draw.byte(), 9 * channels, (filters,), (1,))
    bias = draw.between(-2000, 2000, filters)
    x, w = draw.array(x_type, 1, channels, 6, 5), draw.array("int8", filters, channels, 3, 3)
    last = [np.ascontiguousarray(array.transpose(0, 2, 3, 1)) for array in (x, w)]
    conv = Conv((1, 2), (1, 1), (1, 0, 1, 1), 1, zero, 0, requant)
    own, per_channel = draw.requant(draw.byte(), 9, (channels,))
    window, sides = draw.array("int8", channels, 1, 3, 3), (1, 1, 1, 1)
    turned = ConvTranspose(1, zero, 0, requant, strides=(2, 2), before=(1, 1), spatial=(11, 9))
    rows, columns = draw.array(x_type, 4, 11), draw.array("int8", filters, 11)
    return [
        (conv, [x, w, bias, *rest]),
        (Conv((1, 2), (1, 1), (1, 0, 1, 1), 1, zero, 0, requant, channels_last=True), [*last, bias, *rest]),
        (Conv((1, 1), (1, 1), sides, channels, zero, 0, own), [x, window, None, *per_channel]),
        (turned, [x, np.ascontiguousarray(w.transpose(1, 0, 2, 3)), bias, *rest]),
        (MatMul(trans_b=True, a_zero=zero, requant=requant), [rows, columns, bias, *rest]),
    ]


@pytest.mark.in_turns(3)
def test_sums_of_products() -> None:
    check_kernels([case for seed in range(24) for case in linear(seed)])


@pytest.mark.in_turns(5)
def test_requantisations() -> None:
    """Every rounding, of totals at the ends of 32 bits too, by exponents from one end to the other."""
    edges = np.array([-(2**31), 2**31 - 1, 0, 1, -1, 2, -2, 3, -3], np.int32)
    cases: list[Case] = []
    for rounding in (one for one in Rounding if one in SCALED):
        for exponent in (-31, -20, -8, -3, -2, -1, 0):
            x = np.concatenate([edges, RANDOM.integers(-(2**20), 2**20, 200)]).astype(np.int32)
            mul = np.array([int(RANDOM.integers(2**30, 2**31))], np.int32)
            if rounding == "float":
                mul = np.array([2.0**exponent / 3], np.float32).view(np.int32)
            for dtype, zero in (("int8", -5), ("int16", 0), ("uint8", 128)):
                requant = full_range(0, dtype, zero, rounding)
                cases.append((RequantShift(requant), [x, mul, np.array([exponent], np.int32)]))
    check_kernels(cases)


@pytest.mark.in_turns(3)
def test_sums_products_and_means() -> None:
    cases: list[Case] = [scaled_add(Draw(seed)) for seed in range(40)]
    for rounding in (Rounding.DOUBLE, Rounding.DOUBLE_UP, Rounding.SINGLE):
        for dtype in ("int8", "int16"):
            arrays: list[Array | None] = [integers(RANDOM, dtype, (3, 40)), integers(RANDOM, dtype, (40,))]
            mul, exponent = multiplier(0.004 if dtype == "int8" else 0.00003)
            requant = full_range(0, dtype, 3 if dtype == "int8" else 0, rounding)
            cases.append((QLinearMul(0, 0, mul, requant, exponent), arrays))
    away = Requant(0, "int8", -128, 120, 0, "half_away")
    x = integers(RANDOM, "int8", (1, 6, 6, 9))
    cases.append((QLinearReduceMean((1, 2), True, 0, 1, away), [x]))
    cases.append((QLinearAveragePool((1, 2), (1, 1), (0, 1, 0, 1), (2, 2), 0, 1, away, channels_last=True), [x]))
    check_kernels(cases)


@pytest.mark.in_turns(3)
def test_softmax() -> None:
    cases: list[Case] = []
    for scale in (0.01, 0.07, 0.3, 1.5):
        table = exponentials(*multiplier(scale * 2.0**26))
        for dtype in ("int8", "uint8"):
            for to in ("int8", "int16"):
                cases.append((TfliteSoftmax(to), [integers(RANDOM, dtype, (5, 37)), table]))
                cases.append((TfliteSoftmax(to), [integers(RANDOM, dtype, (2, 3, 1)), table]))
    check_kernels(cases)


def test_lengths_of_rows() -> None:
    """Rows of zeros, of one element that is not, short ones and long ones."""
    still, lonely = np.full((2, 9), 5, np.int8), np.full((3, 40), 5, np.int8)
    lonely[:, 7] = [6, 7, -128]
    drawn = [integers(RANDOM, "int8", shape) for shape in ((5, 37), (2, 3, 1), (2, 8000))]
    check_kernels([(TfliteL2Norm(zero), [x]) for zero in (5, -128, 127) for x in (still, lonely, *drawn)])


@pytest.mark.in_turns(3)
def test_functions_of_words() -> None:
    """Every 16-bit number, and rows of any length."""
    every = np.arange(-(2**15), 2**15).astype(np.int16)
    cases: list[Case] = [make(Draw(seed)) for seed in range(20) for make in (word_sigmoid, word_softmax)]
    for mul, shift in ((3, 0), (6, 0), (32767, 0), (32767, 13), (20000, 31)):
        cases += [(TfliteSigmoid(mul, shift, is_tanh), [every, logistic_table()]) for is_tanh in (False, True)]
    for scale in (0.01, 1.0, 70.0):
        cases.append((TfliteSoftmax16(*multiplier(scale)), [every[::2].reshape(1, -1), *softmax_tables()]))
    check_kernels(cases)
