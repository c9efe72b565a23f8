"""Kernels with packed instructions on MemPool's small kin, against the operators' numpy meaning: words and what is left
of them, operands that begin between words, rows that are fewer than cores and more."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.lookup import Lookup
from tilewright.ops.max import Max
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.min import Min
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.relu import Relu
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sub import Sub
from tilewright.run.kernel_bench import Case, check

pytestmark = pytest.mark.in_turns(6)

MINPOOL = targets.find("minpool")
RNG = np.random.default_rng(31)
EVEN = full_range(20, "int8", -3, "half_even")


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def case(source: str, op: Op, *arrays: Array, skew: int = 0) -> Case:
    """On the kernel of this name, which takes it."""
    kernel = next(one for one in MINPOOL.engines[0].kernels if one.source == source)
    found = Case(kernel, op, list(arrays), skew)
    assert kernel.takes(op, found.types)
    return found


# ---- element by element -----------------------------------------------------------------------------------------


def sums(dtype: str, other: str, result: str) -> list[Case]:
    half, up = Scaling(32768, 0, full_range(16, dtype)), Scaling(90000, 77, full_range(16, result, 2))
    together = RequantizedAdd(half, UNCHANGED, up)
    add = QLinearAdd(1686958, -1103908, 4227786, full_range(20, result, -9 if result == "int8" else 9))
    mul = QLinearMul(3, -7, 773, full_range(16, result), 5)
    return [
        case(source, op, integers(dtype, *a), integers(other, *b), skew=skew)
        for source, op in (
            ("requantizedadd_lanes.c", together),
            ("qlinearadd_lanes.c", add),
            ("qlinearmul_lanes.c", mul),
        )
        for a, b, skew in (((9, 37), (9, 37), 0), ((5, 3, 8), (3, 8), 0), ((6, 20), (6, 1), 0), ((75,), (75,), 1))
    ]


@pytest.mark.parametrize(
    ("dtype", "other", "result", "cores"), [("int8", "int8", "int8", 16), ("uint8", "int8", "uint8", 5)]
)
def test_requantised_pairs(dtype: str, other: str, result: str, cores: int) -> None:
    """Broadcast along rows and columns."""
    check(sums(dtype, other, result), MINPOOL, cores)


def test_ties_to_even() -> None:
    halves = Scaling(1 << 19, 0, EVEN)
    cases = [
        case("requantizedadd_lanes.c", RequantizedAdd(halves, halves, halves), *(integers("int8", 70) for _ in "ab")),
        case("qlinearadd_lanes.c", QLinearAdd(1 << 18, 1 << 19, 0, EVEN), *(integers("int8", 70) for _ in "ab")),
        case("qlinearmul_lanes.c", QLinearMul(0, 0, 1 << 13, EVEN), *(integers("int8", 70) for _ in "ab")),
    ]
    check(cases, MINPOOL, 16)


def test_plain_pairs_and_bounds() -> None:
    """Of bytes and of words; integers wrap around."""
    pairs = {"add_lanes.c": Add(), "sub_lanes.c": Sub(), "max_lanes.c": Max(), "min_lanes.c": Min()}
    shapes = (((7, 33), (7, 33), 0), ((7, 12), (12,), 0), ((60,), (1,), 1))
    cases = [
        case(source, op, integers(dtype, *a), integers(dtype, *b), skew=skew)
        for source, op in pairs.items()
        for dtype in ("int8", "uint8", "int32")
        for a, b, skew in shapes
    ]
    for dtype in ("int8", "uint8", "int32"):
        for skew in (0, 1):
            cases += [case("relu_lanes.c", Relu(), integers(dtype, 130), skew=skew)]
            cases += [case("clip_lanes.c", Clip(3.0, 100.0), integers(dtype, 77), skew=skew)]
    check(cases, MINPOOL, 16)


def test_lookups() -> None:
    """By tables that are copied first, and not."""
    cases = [
        case("lookup_local.c", Lookup(), integers(dtype, elements), integers(result, 256), skew=skew)
        for dtype, result in (("int8", "int8"), ("uint8", "int8"))
        for elements, skew in ((70, 0), (3001, 0), (3000, 1))
    ]
    check(cases, MINPOOL, 16)


@pytest.mark.parametrize("rounding", ["half_up", "half_even", "native"])
def test_requantisations(rounding: str) -> None:
    """Per tensor, per channel and with channels last; of products beyond 32 bits unless all fit."""
    small = rounding == "native"
    requant = Requant(12 if small else 30, "int8", -120, 127, -5, rounding)
    shapes = (((2, 3, 21), 1, 3), ((50, 6), 1, 6), ((1, 130), 0, 1))
    cases = []
    for shape, axis, channels in shapes:
        x = integers("int32", *shape) // (2**20 if small else 1)
        mul, add = RNG.integers(-99, 99, channels), RNG.integers(-9999, 9999, channels)
        operands = [x, mul.astype(np.int32), add.astype(np.int32)]
        cases.append(case("requantshift_lanes.c", RequantShift(requant, axis), *operands))
    check(cases, MINPOOL, 16)


def near_ties(scale: float) -> Array:
    """Floats whose quotient lies between two integers, their neighbours, and such as are none or too large."""
    middle = ((np.arange(-140, 140, dtype=np.float32) + np.float32(0.5)) * np.float32(scale)).astype(np.float32)
    around = [np.nextafter(middle, np.float32(side) * np.inf) for side in (-1, 1)]
    odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-39, 3e38, -3e38], np.float32)
    usual = (RNG.standard_normal(200) * 60 * scale).astype(np.float32)
    return np.concatenate([middle, *around, odd, usual])


def test_floats_to_bytes() -> None:
    """Exactly, without a floating-point unit."""
    cases = []
    for scale, dtype, zero in ((0.0371, "int8", -3), (0.25, "uint8", 128), (1.9999999, "int8", 0), (1e-40, "int8", 5)):
        operands = near_ties(scale), np.array(scale, np.float32), np.array(zero, dtype)
        cases.append(case("quantizelinear_words.c", QuantizeLinear(), *operands))
    with np.errstate(over="ignore", invalid="ignore"):
        check(cases, MINPOOL, 16)


# ---- rows, windows and columns ----------------------------------------------------------------------------------

ROWS = (((1, 64), 0), ((3, 37), 0), ((40, 12), 0), ((20, 33), 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_normalisations(dtype: str) -> None:
    """Of rows that are the same everywhere too; factors as large as there are."""
    cases = []
    for shape, skew in ROWS:
        row = shape[1:]
        for x in (integers(dtype, *shape), np.full(shape, np.iinfo(dtype).max, dtype)):
            w, b = integers("int32", *row), integers("int32", *row) // 2**12
            cases.append(case("ilayernorm_lanes.c", iLayerNorm(14), x, w, b, skew=skew))
            cases.append(case("ilayernorm_lanes.c", iLayerNorm(3), x, w // 2**20, b // 2**10, skew=skew))
            cases.append(case("irmsnorm_lanes.c", iRMSNorm(16), x, w, skew=skew))
    check(cases, MINPOOL, 16)


def test_normalisation_without_statistics() -> None:
    op, narrow = iNoNorm(425, 16), integers("int8", 128, 21)
    cases = [
        case("inonorm_shared.c", op, integers("int8", 2, 9, 21), narrow[:9], integers("int16", 21)),
        case("inonorm_shared.c", op, integers("uint8", 50, 3), narrow[0, :1], integers("int32", 50, 1)),
    ]
    check(cases, MINPOOL, 16)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_softmaxes(dtype: str) -> None:
    out = Scaling(100000, 0, full_range(16, "int8"))
    cases = []
    for shape, skew in ROWS:
        x = integers(dtype, *shape)
        slow, fast = iSoftmax(ln2=63, b=85, c=3770, out=out), iSoftmax(ln2=14, b=19, c=192, out=out)
        cases += [case("isoftmax_lanes.c", op, x, skew=skew) for op in (slow, fast)]
        cases.append(case("itamax_lanes.c", ITAMax(), x, skew=skew))
        cases.append(case("itamax_lanes.c", ITAMax(out=out), x, skew=skew))
        cases.append(case("itapartialmax_lanes.c", ITAPartialMax(256, 16), x, skew=skew))
        cases.append(case("itapartialmax_lanes.c", ITAPartialMax(256, 5), x, skew=skew))
    check(cases, MINPOOL, 16)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_pools(dtype: str) -> None:
    """Windows inside and outside the image, of channels that fill words and that do not."""
    cases = []
    for op in (
        MaxPool((2, 2), channels_last=True, kernel=(3, 3)),
        MaxPool((1, 2), (2, 1), (1, 2, 1, 0), channels_last=True, kernel=(2, 3)),
    ):
        for shape, skew in (((1, 7, 6, 24), 0), ((2, 5, 5, 5), 0), ((1, 5, 5, 8), 1)):
            cases.append(case("maxpool_lanes.c", op, integers(dtype, *shape), skew=skew))
        cases.append(case("maxpool_lanes.c", op, integers("int32", 1, 5, 6, 3)))
    mean = QLinearAveragePool(
        (2, 1),
        padding=(1, 0, 0, 1),
        channels_last=True,
        kernel=(2, 2),
        x_zero=3,
        mul=99999,
        requant=full_range(17, dtype, 5, "half_even"),
    )
    for shape, skew in (((1, 7, 6, 12), 0), ((2, 5, 5, 5), 0), ((1, 5, 5, 8), 1)):
        cases.append(case("qlinearaveragepool_lanes.c", mean, integers(dtype, *shape), skew=skew))
    check(cases, MINPOOL, 16)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_columns(dtype: str) -> None:
    mean = QLinearReduceMean((1, 2), x_zero=-4, mul=77777, requant=full_range(17, dtype, 5, "half_even"))
    cases = []
    for shape, skew in (((1, 5, 3, 24), 0), ((3, 4, 4, 7), 0), ((2, 3, 3, 16), 1)):
        x = integers(dtype, *shape)
        cases.append(case("reducemax_lanes.c", ReduceMax((1, 2)), x, skew=skew))
        cases.append(case("reducemean_lanes.c", ReduceMean((1, 2)), x, skew=skew))
        cases.append(case("reducemean_lanes.c", ReduceMean((1, 2), integer=True), x, skew=skew))
        cases.append(case("qlinearreducemean_lanes.c", mean, x, skew=skew))
    cases.append(case("reducemax_lanes.c", ReduceMax((0, 2)), integers(dtype, 3, 4, 4, 8)))
    check(cases, MINPOOL, 16)
