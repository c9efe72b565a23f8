"""Quantised operators: their meaning is ONNX's, or that of real numbers rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.checks import check_import, check_onnx, imported, one_node_model
from tests.support.examples import examples
from tilewright.errors import CompileError, Refusal
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits, type_of
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import UNIT_BITS, QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.quantizelinear import QuantizeLinear

pytestmark = pytest.mark.fast

NARROW = st.sampled_from(["int8", "uint8", "int16", "uint16"])
BYTE = st.sampled_from(["int8", "uint8"])
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
SEEDS = st.integers(0, 2**32 - 1)
COMMON = examples(30)


def integers(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    low, high = limits(dtype)
    return random.integers(low, high, shape, endpoint=True).astype(dtype)


def constants(random: np.random.Generator, dtype: str, shape: tuple[int, ...], axis: int | None) -> list[Array]:
    """A scale and a zero point, per tensor or per axis."""
    size = () if axis is None else (shape[axis],)
    return [random.uniform(0.01, 0.2, size).astype(np.float32), integers(random, dtype, size)]


@COMMON
@given(SHAPES, NARROW, SEEDS, st.data())
def test_quantizelinear(shape: tuple[int, ...], dtype: str, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    axis = data.draw(st.sampled_from([None, *range(len(shape))]), label="axis")
    x = (random.standard_normal(shape) * 20).astype(np.float32)
    scale, zero = constants(random, dtype, shape, axis)
    op = QuantizeLinear(axis or 0)
    check_onnx(op, [x, scale, zero], "QuantizeLinear", axis=axis or 0)


@pytest.mark.parametrize("kind", ["QuantizeLinear", "DequantizeLinear"])
def test_channels_are_on_axis_1_unless_said(kind: str) -> None:
    x = np.arange(18).reshape(3, 3, 2).astype(np.float32 if kind == "QuantizeLinear" else np.int8)
    constants = {"scale": np.array([0.5, 1, 2], np.float32), "zero": np.array([1, 2, 3], np.int8)}
    check_import(kind, x, dict(constants))
    check_import(kind, x, dict(constants), axis=0)


def test_quantizelinear_rounds_ties_to_even_and_saturates() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    found = QuantizeLinear().numpy(x, np.float32(1), np.int8(3))
    assert found.tolist() == [3, 5, 5, 3, 1, 127, -128, 127, -128, -128]


@COMMON
@given(SHAPES, NARROW | st.just("int32"), SEEDS, st.data())
def test_dequantizelinear(shape: tuple[int, ...], dtype: str, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    axis = data.draw(st.sampled_from([None, *range(len(shape))]), label="axis")
    x = integers(random, dtype, shape)
    scale, zero = constants(random, dtype, shape, axis)
    zero = np.zeros_like(zero) if dtype == "int32" else zero
    op = DequantizeLinear(axis or 0)
    check_onnx(op, [x, scale, zero], "DequantizeLinear", axis=axis or 0)


def test_lookup_starts_at_the_lowest_value() -> None:
    table = np.arange(256).astype(np.int32)
    assert Lookup().numpy(np.array([-128, 0, 127], np.int8), table).tolist() == [0, 128, 255]
    assert Lookup().numpy(np.array([0, 255], np.uint8), table).tolist() == [0, 255]


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = draw(SHAPES)
    other = tuple(size if draw(st.booleans()) else 1 for size in shape)[draw(st.integers(0, len(shape))) :]
    return draw(st.permutations([shape, other]).map(tuple))


@COMMON
@given(broadcastable(), BYTE, BYTE, NARROW, SEEDS)
def test_qlinearadd(shapes: tuple[tuple[int, ...], ...], a: str, b: str, to: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    muls = [int(random.integers(-(2**20), 2**20)) for _ in range(2)]
    op = QLinearAdd(*muls, int(random.integers(-(2**28), 2**28)), full_range(20, to, 3, "half_even"))
    arrays = [integers(random, dtype, shape) for dtype, shape in zip((a, b), shapes, strict=True)]
    real = sum(x.astype(float) * m for x, m in zip(arrays, muls, strict=True)) + op.offset
    wanted = np.clip(np.rint(real / 2**20) + 3, *limits(to))
    np.testing.assert_array_equal(op.numpy(*arrays), wanted)


def test_qlinearadd_refuses_sums_that_may_overflow() -> None:
    byte, word = type_of(np.zeros(2, np.int8)), type_of(np.zeros(2, np.int16))
    with pytest.raises(Refusal, match="overflow 32 bits"):
        QLinearAdd(2**24, 1).infer({"A": byte, "B": byte})
    QLinearAdd(2**24, 1).infer({"A": byte, "B": word})


@COMMON
@given(broadcastable(), NARROW, NARROW, NARROW, SEEDS)
def test_qlinearmul(shapes: tuple[tuple[int, ...], ...], a: str, b: str, to: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    op = QLinearMul(int(random.integers(0, 9)), int(random.integers(0, 9)), 12345, full_range(25, to, 1, "half_even"))
    arrays = [integers(random, dtype, shape) for dtype, shape in zip((a, b), shapes, strict=True)]
    real = (arrays[0].astype(float) - op.a_zero) * (arrays[1].astype(float) - op.b_zero) * 12345 / 2**25
    np.testing.assert_array_equal(op.numpy(*arrays), np.clip(np.rint(real) + 1, *limits(to)))


@COMMON
@given(SHAPES, NARROW, st.booleans(), SEEDS, st.data())
def test_qlinearreducemean(shape: tuple[int, ...], dtype: str, keep: bool, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(lambda s: tuple(sorted(s))), label="axes")
    op = QLinearReduceMean(axes, keep, 2, 2**24, full_range(24, dtype, 2, "half_even"))
    x = integers(random, dtype, shape)
    np.testing.assert_allclose(op.numpy(x), x.astype(float).mean(axes, keepdims=keep), atol=0.51)


def test_qlinearaveragepool_counts_only_what_is_inside() -> None:
    op = QLinearAveragePool((1, 1), (1, 1), (1, 1, 1, 1), (3, 3), 0, 2**24, full_range(24, "uint8"))
    assert (op.numpy(np.full((1, 1, 3, 3), 9, np.uint8)) == 9).all()


def test_means_round_ties_to_even() -> None:
    op = QLinearReduceMean((1,), False, 0, 2**24, full_range(24, "int8"))
    x = np.array([[3, 0, 0, 0, 0, 0], [9, 0, 0, 0, 0, 0], [-3, 0, 0, 0, 0, 0], [-9, 0, 0, 0, 0, 0]], np.int8)
    assert op.numpy(x).tolist() == [0, 2, 0, -2]


@COMMON
@given(SHAPES, BYTE, BYTE, SEEDS, st.data())
def test_qlinearsoftmax(shape: tuple[int, ...], dtype: str, to: str, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    axis = data.draw(st.integers(0, len(shape) - 1), label="axis")
    low, high = limits(to)
    op = QLinearSoftmax(axis, 2**60, Requant(52, to, low, high, low, "half_even"))
    table = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)
    x = integers(random, dtype, shape)
    powers = np.exp(0.05 * (x.astype(float) - x.max(axis, keepdims=True)))
    wanted = powers / powers.sum(axis, keepdims=True) * 256 + low
    np.testing.assert_allclose(op.numpy(x, table), np.minimum(wanted, high), atol=0.51)


@COMMON
@given(SHAPES, BYTE, BYTE, SEEDS)
def test_qlinearmaskedsoftmax(shape: tuple[int, ...], dtype: str, to: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    low, high = limits(to)
    op = QLinearMaskedSoftmax(2**60, Requant(52, to, low, high, low, "half_even"))
    table = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)
    x, mask = integers(random, dtype, shape), random.integers(0, 2, shape[-1:]).astype(np.uint8)
    mask[random.integers(0, shape[-1])] = 1
    powers = np.exp(0.05 * x.astype(float)) * mask
    wanted = powers / powers.sum(-1, keepdims=True) * 256 + low
    np.testing.assert_allclose(op.numpy(x, mask, table), np.minimum(wanted, high), atol=0.51)


@COMMON
@given(SHAPES, st.sampled_from(["int8", "uint8", "int16"]), st.booleans(), SEEDS)
def test_qlinearrotate(shape: tuple[int, ...], dtype: str, interleaved: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, zero = integers(random, dtype, (*shape, 6)), 5
    angle = random.uniform(-4, 4, (shape[-1], 6))
    unit = 2**15 - 1
    op = QLinearRotate(interleaved, zero, 2**20, full_range(35, "int16", 1, "half_even"))
    others = [1, 0, 3, 2, 5, 4] if interleaved else [3, 4, 5, 0, 1, 2]
    real = x.astype(float) - zero
    wanted = (real * np.cos(angle) + real[..., others] * np.sin(angle)) * unit / 2**15 + 1
    tables = (np.rint(function(angle) * unit).astype(np.int16) for function in (np.cos, np.sin))
    # The tables' own rounding moves what is 2**15 by one half, twice.
    allowed = 0.51 + np.abs(real).max(initial=0.0) / 2**15
    np.testing.assert_allclose(op.numpy(x, *tables), np.clip(wanted, *limits("int16")), atol=allowed)


@COMMON
@given(SHAPES, NARROW, BYTE, st.booleans(), SEEDS, st.data())
def test_qlinearrownorm(
    shape: tuple[int, ...], dtype: str, to: str, centred: bool, seed: int, data: st.DataObject
) -> None:
    random = np.random.default_rng(seed)
    axis = data.draw(st.integers(0, len(shape) - 1), label="axis")
    row, over = shape[axis:], tuple(range(axis, len(shape)))
    scale, bias = random.uniform(-50, 50, (2, *(1,) * axis, *row))
    mul, add = np.rint(scale * 2**20).astype(np.int32), np.rint(bias * 2**20).astype(np.int32)
    requant = full_range(20 + UNIT_BITS, to, 7, "half_even")
    op = QLinearRowNorm(axis, centred, 3, int(0.25 * np.prod(row) ** 2 * 2**8), 8, UNIT_BITS, requant)
    x = integers(random, dtype, shape)
    real = x.astype(float) - (x.mean(over, keepdims=True) if centred else 3)
    unit = real / np.sqrt((real**2).mean(over, keepdims=True) + 0.25)
    wanted = np.clip(unit * scale + bias + 7, *limits(to))
    np.testing.assert_allclose(op.numpy(x, mul, add), wanted, atol=0.51)


@COMMON
@given(SHAPES, NARROW, NARROW, SEEDS, st.data())
def test_qlinearresize(shape: tuple[int, ...], dtype: str, to: str, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    axis = data.draw(st.integers(0, len(shape) - 1), label="axis")
    matrix = random.uniform(-0.4, 0.6, (7, shape[axis]))
    taps = np.broadcast_to(np.arange(shape[axis], dtype=np.int32), matrix.shape)
    x = integers(random, dtype, shape)
    weight = np.rint(matrix * 2**24).astype(np.int32)
    found = QLinearResize(axis, 3, full_range(24, to, 2, "half_even")).numpy(x, taps, weight)
    real = np.moveaxis(np.tensordot(matrix, x.astype(float) - 3, (1, axis)), 0, axis)
    np.testing.assert_allclose(found, np.clip(real + 2, *limits(to)), atol=0.51)


def test_qlinearfunction_is_linear_between_the_values_of_its_table() -> None:
    table = np.array([-100, 0, 0, 200, 1000], np.int32)
    x = np.array([-32768, -24576, -16384, -1, 0, 8192, 16383, 16384, 32767], np.int16)
    found = QLinearFunction(full_range(14, "int16", 1, "half_even")).numpy(x, table)
    assert found.tolist() == [-99, -49, 1, 1, 1, 101, 201, 201, 1001]


def test_qlinearsteps_is_the_same_for_neighbours() -> None:
    table = np.array([-7, 3, 0, 100], np.int8)
    x = np.array([-32768, -16385, -16384, -1, 0, 16383, 16384, 32767], np.int16)
    assert QLinearSteps().numpy(x, table).tolist() == [-7, -7, 3, 3, 0, 0, 100, 100]


@pytest.mark.parametrize("kind", ["QLinearFunction", "QLinearResize", "QLinearRowNorm", "QLinearSteps"])
def test_operators_of_passes_are_not_read_from_files(kind: str) -> None:
    x, constants = np.zeros(3, np.int8), {"a": np.zeros((3, 1), np.int32), "b": np.zeros((3, 1), np.int32)}
    with pytest.raises(CompileError, match=f"{kind} is not an ONNX operator"):
        imported(one_node_model(kind, {"x": x}, constants=constants), {"x": x})


def test_normalising_a_constant_row_gives_the_bias() -> None:
    op = QLinearRowNorm(0, requant=full_range(UNIT_BITS, "int8", 1, "half_even"), lift=UNIT_BITS)
    x, mul, add = np.full(3, 100, np.int8), np.full(3, 2**20, np.int32), np.array([-5, 0, 7], np.int32)
    assert op.numpy(x, mul, add).tolist() == [-4, 1, 8]


@pytest.mark.parametrize(
    ("op", "arrays", "message"),
    [
        (QuantizeLinear(1), [np.zeros((2, 3), "f"), np.ones(2, "f"), np.zeros(2, "b")], "does not fit axis 1"),
        (QuantizeLinear(0), [np.zeros((2, 3), "f"), np.ones(2, "f"), np.zeros((), "b")], "2 scales, but 1 zero"),
        (QuantizeLinear(0), [np.zeros((2, 3), "f"), np.ones((), "f"), np.zeros((), "i8")], "quantises to int64"),
        (DequantizeLinear(0), [np.zeros((2, 3), "i8"), np.ones((), "f"), np.zeros((), "i8")], "X is int64"),
        (Lookup(), [np.zeros(3, "i2"), np.zeros(256, "b")], "needs int8 or uint8"),
        (Lookup(), [np.zeros(3, "b"), np.zeros(255, "b")], "last axis should be 256"),
        (QLinearMul(mul=2**31), [np.zeros(3, "u2"), np.zeros(3, "u2")], "overflow 64 bits"),
        (QLinearFunction(), [np.zeros(3, "i1"), np.zeros(5, "i4")], "int32 for int16 is expected"),
        (QLinearFunction(), [np.zeros(3, "i2"), np.zeros(6, "i4")], "a power of two and one more"),
        (QLinearFunction(), [np.zeros(3, "i2"), np.zeros((), "i4")], "a power of two and one more"),
        (QLinearFunction(), [np.zeros(3, "i2"), np.zeros(2**17 + 1, "i4")], "a power of two and one more"),
        (QLinearSteps(), [np.zeros(3, "i1"), np.zeros(4, "i1")], "bytes for int16 are expected"),
        (QLinearSteps(), [np.zeros(3, "i2"), np.zeros(4, "i2")], "bytes for int16 are expected"),
        (QLinearSteps(), [np.zeros(3, "i2"), np.zeros(5, "i1")], "a power of two is expected"),
        (QLinearSteps(), [np.zeros(3, "i2"), np.zeros(1, "i1")], "a power of two is expected"),
        (QLinearResize(0), [np.zeros(3, "i4"), *[np.zeros((3, 1), "i4")] * 2], "X is int32; supported"),
        (QLinearRowNorm(1), [np.zeros(3, "i1"), *[np.zeros(3, "i4")] * 2], "outside a tensor of rank 1"),
        (QLinearRowNorm(0), [np.zeros(3, "i1"), *[np.zeros(2, "i4")] * 2], r"mul is i32\[2\]"),
        (QLinearRowNorm(1), [np.zeros((2, 3), "i1"), *[np.zeros((2, 2), "i4")] * 2], "i32.2x3. expected"),
        (QLinearRowNorm(0), [np.zeros(3, "f4"), *[np.zeros(3, "i4")] * 2], "X is float32; supported"),
        (QLinearRowNorm(0), [np.zeros(3, "i4"), *[np.zeros(3, "i4")] * 2], "overflow 64 bits"),
        (QLinearRowNorm(0), [np.zeros(2**15, "i2"), *[np.zeros(2**15, "i4")] * 2], "overflow 64 bits"),
        (QLinearRowNorm(0, fraction=60), [np.zeros(3, "i1"), *[np.zeros(3, "i4")] * 2], "epsilon 0 / 2"),
        (QLinearSoftmax(0), [np.zeros(3, "i2"), np.zeros(256, "i4")], "needs int8 or uint8"),
        (QLinearMaskedSoftmax(), [np.zeros(3, "i4"), np.zeros(3, "u1"), np.zeros(256, "i4")], "are for int8"),
        (
            QLinearMaskedSoftmax(),
            [np.zeros(3, "i2"), np.zeros(3, "u1"), np.zeros(256, "i4")],
            "for 0 bits",
        ),
        (
            QLinearMaskedSoftmax(bits=4),
            [np.zeros(3, "i2"), np.zeros(3, "u1"), np.zeros(16, "i4")],
            "at least 17",
        ),
        (QLinearMaskedSoftmax(), [np.zeros(3, "i1"), np.zeros(1, "u1"), np.zeros(256, "i4")], "rows of uint8"),
        (QLinearMaskedSoftmax(), [np.zeros(3, "i1"), np.zeros((2, 3), "u1"), np.zeros(256, "i4")], "a mask of shape"),
        (QLinearRotate(), [np.zeros(3, "i1"), np.zeros(3, "i2"), np.zeros(3, "i2")], "no pairs"),
        (QLinearRotate(), [np.zeros(4, "i1"), np.zeros(4, "i2"), np.zeros(4, "i4")], "rows of int16"),
        (QLinearRotate(mul=2**31), [np.zeros(4, "i2"), np.zeros(4, "i2"), np.zeros(4, "i2")], "overflow 64 bits"),
    ],
)
def test_refusals(op: QuantizeLinear, arrays: list[Array], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        op.infer(op.bind([type_of(array) for array in arrays]))
