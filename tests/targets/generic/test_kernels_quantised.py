"""The C of quantised operators equals their meaning, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.test_quantised import integers
from tests.support.checks import Case, check_kernels
from tests.support.quantised import MAKERS
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import limits
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.quantizelinear import QuantizeLinear

RANDOM = np.random.default_rng(7)
NARROW = ("int8", "uint8", "int16", "uint16")
SPECIAL = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-30, -0.0], np.float32)


def to_and_from_floats() -> list[Case]:
    cases: list[Case] = []
    for dtype in NARROW:
        scale, zero = RANDOM.uniform(0.01, 0.2, 3).astype(np.float32), integers(RANDOM, dtype, (3,))
        x = (RANDOM.standard_normal((2, 3, 5)) * 30).astype(np.float32)
        cases.append((QuantizeLinear(1), [x, scale, zero]))
        cases.append((QuantizeLinear(), [SPECIAL, np.float32(1).reshape(1), zero[:1]]))
        cases.append((QuantizeLinear(), [x[:0], scale[0].reshape(()), zero[0].reshape(())]))
        cases.append((DequantizeLinear(2), [integers(RANDOM, dtype, (2, 4, 3)), scale, zero]))
    extremes = np.array([-(2**31), 2**31 - 1, 0, 5], np.int32)
    cases.append((DequantizeLinear(), [extremes, np.float32(0.1).reshape(1), np.array([7], np.int32)]))
    return cases


def tables() -> list[Case]:
    return [
        case
        for dtype in ("int8", "uint8")
        for to in (*NARROW, "int32")
        for case in (
            (Lookup(), [integers(RANDOM, dtype, (300,)), integers(RANDOM, to, (256,))]),
            (Lookup(1), [integers(RANDOM, dtype, (2, 3, 9)), integers(RANDOM, to, (3, 256))]),
        )
    ]


def two_operands() -> list[Case]:
    shapes = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (2, 1, 5)), ((), (7,)), ((0, 3), (3,)), ((5,), (1,))]
    cases: list[Case] = []
    for a, b in [
        ("int8", "int8"),
        ("uint8", "int8"),
        ("uint8", "uint8"),
        ("int16", "int8"),
        ("int32", "uint8"),
        ("uint16", "uint16"),
    ]:
        for left, right in shapes:
            arrays = [integers(RANDOM, a, left), integers(RANDOM, b, right)]
            shift = 20 if "32" not in a else 36
            cases.append((QLinearAdd(-300000, 700000, -12345678, full_range(shift, a, 3, "half_even")), arrays))
            cases.append((QLinearAdd(3, 5, 1, full_range(1, "int8", 0, "half_even")), arrays))
            if "32" not in a:
                cases.append((QLinearMul(3, 100, 2**27 + 12345, full_range(36, a, 9, "half_even"), -(2**30)), arrays))
    return cases


def averages() -> list[Case]:
    cases: list[Case] = []
    for dtype in NARROW:
        x = integers(RANDOM, dtype, (2, 3, 6, 5))
        for axes, keep in [((2, 3), True), ((1,), False), ((0, 2), True), ((0, 1, 2, 3), False), ((3,), False)]:
            op = QLinearReduceMean(axes, keep, 11, 11184811, full_range(24, dtype, 11, "half_even"))
            cases.append((op, [x]))
        for strides, dilations, pads, kernel in [
            ((1, 1), (1, 1), (0, 0, 0, 0), (6, 5)), ((2, 1), (1, 1), (1, 1, 1, 1), (3, 3)),
            ((1, 2), (2, 2), (2, 1, 3, 4), (2, 3)), ((1, 1), (1, 1), (4, 4, 4, 4), (2, 2)),
        ]:  # fmt: skip
            requant = full_range(24, dtype, 11, "half_even")
            pool = QLinearAveragePool(strides, dilations, pads, kernel, 11, 2**24, requant)
            cases += [(pool, [x]), (replace(pool, channels_last=True), [np.ascontiguousarray(x.transpose(0, 2, 3, 1))])]
        line = QLinearAveragePool((2,), (1,), (1, 1), (3,), 11, 12345678, full_range(24, dtype, 11, "half_even"))
        cases.append((line, [integers(RANDOM, dtype, (1, 3, 7))]))
    return cases


def softmaxes() -> list[Case]:
    table = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)
    return [
        (QLinearSoftmax(axis, 2**60, Requant(52, to, *limits(to), limits(to)[0], "half_even")), [x, table])
        for dtype in ("int8", "uint8")
        for to in ("int8", "uint8")
        for axis, x in [(1, integers(RANDOM, dtype, (3, 10))), (1, integers(RANDOM, dtype, (2, 4, 3)))]
    ]


def normalisations() -> list[Case]:
    cases: list[Case] = []
    for dtype in NARROW:
        for shape, axis in [((3, 40), 1), ((2, 3, 4, 5), 2), ((7, 2), 1), ((2, 1), 1), ((0, 3), 1), ((300,), 0)]:
            own = (1,) * axis + shape[axis:]
            mul, add = (RANDOM.integers(-(2**30), 2**30, own).astype(np.int32) for _ in range(2))
            for centred, epsilon, fraction, lift in [(True, 12345, 8, 15), (False, 0, 0, 0), (True, 0, 24, 20)]:
                fraction = fraction if "8" in dtype else 0
                requant = full_range(45, dtype, 3, "half_even")
                op = QLinearRowNorm(axis, centred, 5, epsilon, fraction, lift, requant)
                cases.append((op, [integers(RANDOM, dtype, shape), mul, add]))
                cases.append((op, [np.full(shape, 100, dtype), mul, add]))
        wide = QLinearRowNorm(1, True, 0, 99, 0, 15, full_range(45, dtype, 3, "half_even"), 2**23)
        columns = [RANDOM.integers(-(2**30), 2**30, (1, 60)).astype(np.int32) for _ in range(2)]
        cases.append((wide, [RANDOM.integers(-(2**23), 2**23, (4, 60)).astype(np.int32), *columns]))
        for own in [(1, 3, 2, 1), (1, 3, 1, 1), (2, 3, 1, 1), (1, 1, 1, 1), (1, 3, 2, 5)]:
            mul, add = (RANDOM.integers(-(2**30), 2**30, own).astype(np.int32) for _ in range(2))
            op = QLinearRowNorm(2, True, 5, 99, 0, 15, full_range(45, dtype, 3, "half_even"))
            cases.append((op, [integers(RANDOM, dtype, (2, 3, 2, 5)), mul, add]))
    return cases


def attentions() -> list[Case]:
    """Masked softmaxes and rotations, with masks and angles for all rows or for each of them; rows looked up."""
    random = np.random.default_rng(11)
    return [
        MAKERS[kind](random) for kind in ("QLinearMaskedSoftmax", "QLinearRotate", "QLinearGather") for _ in range(40)
    ]


def interpolations() -> list[Case]:
    cases: list[Case] = []
    for dtype in NARROW:
        for shape, axis in [((3, 4, 5), 1), ((2, 7), 1), ((4, 3), 0), ((2, 0, 3), 0)]:
            taps = RANDOM.integers(0, shape[axis], (9, 2)).astype(np.int32)
            weight = RANDOM.integers(-(2**13), 2**13, (9, 2)).astype(np.int32)
            x = integers(RANDOM, dtype, shape)
            cases.append((QLinearResize(axis, 3, full_range(13, dtype, 3, "half_even")), [x, taps, weight]))
    return cases


def functions() -> list[Case]:
    x = np.concatenate([integers(RANDOM, "int16", (300,)), np.array([-(2**15), 2**15 - 1, 0, -1], np.int16)])
    return [
        (QLinearFunction(full_range(21, to, 3, "half_even")), [x, RANDOM.integers(-top, top, 2**size + 1, np.int32)])
        for to in NARROW
        for size, top in [(0, 2**13), (6, 2**19), (9, 2**22), (16, 2**29)]
    ] + [(QLinearSteps(), [x, integers(RANDOM, to, (2**size,))]) for to in ("int8", "uint8") for size in (1, 7, 12, 16)]


@pytest.mark.in_turns(6)
def test_kernels() -> None:
    check_kernels(
        [
            *to_and_from_floats(),
            *tables(),
            *two_operands(),
            *averages(),
            *softmaxes(),
            *normalisations(),
            *interpolations(),
            *functions(),
            *attentions(),
        ]
    )
