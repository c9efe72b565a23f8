"""Kernels on vectors of 16 bytes, in QEMU: layers of bytes in every rounding, equal to numpy to the bit."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.emulator.test_qemu import needs_qemu
from tests.support.checks import Case
from tests.targets.cortex_m.test_elements import norm
from tests.targets.rv32.machine import LARGE, kernels, run_on_board
from tests.targets.rv32.test_kernels import KINDS, computed_product, conv, product, requant, some_bytes
from tilewright import targets
from tilewright.errors import instance, present
from tilewright.ir.graph import Builder
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits, type_of
from tilewright.ops._scaling import Scaling
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.isnan import IsNaN
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.min import Min
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.relu import Relu
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sign import Sign
from tilewright.ops.softmax import Softmax
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.run import kernel_bench
from tilewright.targets.cortex_m import vector_forms as forms
from tilewright.targets.cortex_m import vector_offers

pytestmark = pytest.mark.in_turns(8)

GCC = "arm-none-eabi-gcc"


def run(cases: Sequence[Case], inputs: int = 1) -> set[str]:
    compiled, _ = run_on_board(cases, LARGE, inputs, target="cortex-m55")
    return set(kernels(compiled))


def channels_last(case: Case) -> Case:
    op, arrays = case
    images = [np.moveaxis(present(array, "case", "has no image"), 1, -1).copy() for array in arrays[:2]]
    return replace(instance(op, Conv), channels_last=True), [*images, *arrays[2:]]


def depthwise(random: Generator, kind: str, channels: int) -> Case:
    """One filter for each channel; weights of -128 are left out, of which two do not fit."""
    x_type = "uint8" if kind == "half_up" else "int8"
    x = some_bytes(random, x_type, 1, int(random.integers(3, 8)), int(random.integers(3, 8)), channels)
    w = np.maximum(some_bytes(random, "int8", channels, *map(int, random.integers(1, 4, 2)), 1), -127)
    bias = random.integers(-5000, 5000, channels).astype(np.int32)
    pads, strides = (tuple(int(n) for n in random.integers(0, 3, count)) for count in (4, 2))
    op = Conv((strides[0] + 1, strides[1] + 1), (1, 1), pads, channels, 3 - 5 * (x_type == "int8"), channels_last=True)
    if kind == "none":
        return op, [x, w, bias]
    scaling, mul, add = requant(random, channels, kind, "int8")
    return replace(op, requant=scaling), [x, w, bias, mul, add]


@pytest.mark.fast
def test_arrangements_are_undone() -> None:
    random = default_rng(2)
    for channels in (1, 8, 9, 16, 20, 40):
        form, rows = forms.VectorDepthwise(channels, (3, 3)), some_bytes(random, "int8", channels, 9)
        form = replace(form, conv=replace(form.conv, groups=channels))
        np.testing.assert_array_equal(form.plain_weights(form.packed_weights(rows), 1), rows)
        np.testing.assert_array_equal(form.plain_values(form.packed_values(np.arange(channels))), np.arange(channels))


@pytest.mark.fast
def test_forms_mean_what_they_stand_for() -> None:
    random = default_rng(11)
    convolutions = [channels_last(conv(random, kind)) for kind in KINDS]
    for op, arrays in [*convolutions, *(depthwise(random, kind, 11) for kind in KINDS)]:
        builder = Builder("one")
        names = [builder.input("x", type_of(present(arrays[0], "case", "has no image")))]
        names += ["" if array is None else builder.constant(array, f"c{n}") for n, array in enumerate(arrays[1:])]
        builder.output(*builder.add(op, names, name="layer"))
        graph = builder.build()
        (offer,) = vector_offers.forms(graph, graph.nodes[0])
        constants = [offer.constants[name] for name in offer.inputs[1:]]
        np.testing.assert_array_equal(offer.op.numpy(arrays[0], *constants), op.numpy(*arrays), err_msg=str(op))


@needs_qemu
def test_convolutions() -> None:
    random = default_rng(1)
    assert run([channels_last(conv(random, kind)) for kind in KINDS * 4]) == {"conv_mve"}


@needs_qemu
def test_what_is_no_number() -> None:
    x = np.asarray([1.5, np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40], np.float32)
    run_on_board([(IsNaN(), [x]), (IsNaN(), [np.tile(x, 5)])], LARGE, target="cortex-m55")


@needs_qemu
def test_what_is_no_number_stays_so() -> None:
    """Clang's vectors take it for smaller than a number that all elements are compared with."""
    x = np.tile(np.asarray([[1.5, np.nan, -np.nan, -3, 0.25]], np.float32), (2, 5))
    pixels = np.tile(x[:, :, None, None], (1, 1, 3, 3))
    weights = default_rng(0).standard_normal((25, 20)).astype(np.float32)
    cases: list[Case] = [
        *((op, [x]) for op in (Relu(), Sign(), HardSigmoid(), Softmax(), Clip(0.0, 6.0), ReduceMax((0,)))),
        *((op, [x, np.roll(x, 2)]) for op in (Max(), Min())),
        (MaxPool(kernel=(2, 2)), [pixels]), (MatMul(activation=Relu()), [np.ones((3, 25), np.float32), weights]),
        (MatMul(activation=Relu()), [np.vstack([x, np.ones((1, 25), np.float32)]), weights]),
    ]  # fmt: skip
    run_on_board(cases, LARGE, target="cortex-m55")


@needs_qemu
def test_depthwise_convolutions() -> None:
    random = default_rng(7)
    sizes = (3, 8, 11, 16, 35)
    assert run([depthwise(random, kind, size) for kind in KINDS for size in sizes]) == {"depthwise_mve"}


@needs_qemu
def test_products() -> None:
    random = default_rng(3)
    assert run([product(random, kind) for kind in KINDS * 3]) == {"conv_mve"}


@needs_qemu
def test_products_of_what_is_computed() -> None:
    random = default_rng(5)
    wide = (MatMul(), [some_bytes(random, "int8", 5, 700), some_bytes(random, "int8", 700, 30)])
    used = run([*(computed_product(random, kind) for kind in KINDS * 2), wide], inputs=2)
    assert used >= {"matmul_mve"}


@needs_qemu
def test_sums() -> None:
    random, cases = default_rng(6), list[Case]()
    for shift, rounding in ((16, "half_up"), (34, "half_even"), (20, "half_away"), (36, "half_up")):
        mul = random.integers(1, 1 << (shift - 8), 3)
        first, second = (Scaling(int(mul[n]), 40 * n, full_range(shift - 4, "int16")) for n in range(2))
        out = Scaling(int(mul[2]), 0 if shift > 32 else 77, full_range(shift, "int8", -5, rounding))
        shapes = ((6, 23), (1, 23)) if shift == 34 else ((139,), (139,))
        cases.append((RequantizedAdd(first, second, out), [some_bytes(random, "int8", *shape) for shape in shapes]))
    assert run(cases, inputs=2) == {"requantizedadd_mve"}


@needs_qemu
def test_sums_of_tensorflow() -> None:
    """Of 16 bits: those of bytes become sums with one rounding where they can."""
    random, cases = default_rng(4), list[Case]()
    for exponent, columns in ((-2, 33), (0, 1)):
        mul = random.integers(1 << 30, 2**31, 3)
        first, second = (Summand(0, int(mul[n]), -2 * n) for n in range(2))
        op = TfliteAdd(15, first, second, int(mul[2]), exponent - 14, full_range(0, "int16", 0, "double"))
        cases.append((op, [some_bytes(random, "int16", 7, 33), some_bytes(random, "int16", 7, columns)]))
    assert run(cases, inputs=2) == {"tfliteadd_mve"}


def wide_totals(random: Generator, shape: tuple[int, ...]) -> Array:
    return random.integers(-(2**31), 2**31, shape, np.int32) >> random.integers(0, 20, shape).astype(np.int32)


@needs_qemu
def test_requantisations() -> None:
    random, cases = default_rng(8), list[Case]()
    for shift, rounding in ((2, "half_up"), (16, "half_up"), (31, "half_away"), (12, "half_even"), (32, "half_even")):
        for axis, channels in ((-1, 1), (1, 6), (2, 5)):
            mul = random.integers(-(1 << 20), 1 << 20, channels).astype(np.int32)
            add = random.integers(-(1 << 30), 1 << 30, channels).astype(np.int32)
            op = RequantShift(full_range(shift, "int8", 0, rounding), axis)
            cases.append((op, [wide_totals(random, (2, 6, 5)), mul, add]))
    assert run(cases) == {"requantshift_mve"}


@needs_qemu
def test_means() -> None:
    random = default_rng(5)
    op = QLinearReduceMean((1, 2), False, 3, 5, full_range(2, "int8", -4, "half_even"))
    cases = [(op, [some_bytes(random, "int8", 2, 5, 4, channels)]) for channels in (4, 7)]
    assert run(cases) == {"qlinearreducemean_mve"}


@needs_qemu
def test_ties_of_wide_totals() -> None:
    """Totals near 2**30, and halves of either sign in each rounding."""
    values = np.array([[-128, 127, -1, 0, 1, 64, -64, 2]], np.int8)
    weights = np.array([[n] for n in (1, -1, 3, 127)], np.int8)
    bias = np.array([0, -4, (1 << 29) - 7, -(1 << 29)], np.int32)
    cases: list[Case] = []
    for rounding in ("half_even", "half_up", "half_away"):
        op = Conv((1,), (1,), (0, 0), requant=full_range(35, "int8", 3, rounding), channels_last=True)
        cases.append((op, [values[:, :, None], weights[:, :, None], bias, np.array([1 << 29], np.int32)]))
    assert run(cases) == {"conv_mve"}


@pytest.mark.skipif(shutil.which(GCC) is None, reason=f"{GCC} is not installed")
@pytest.mark.parametrize("kernel", ["depthwise_mve", "requantshift_mve"])
def test_gcc_takes_kernels(tmp_path: Path, kernel: str) -> None:
    folder = Path(vector_offers.__file__).parent
    places = folder / "mve/kernels", folder / "kernels", folder.parent / "generic/kernels"
    source = str(folder / f"mve/kernels/{kernel}.c")
    subprocess.run(
        [
            GCC,
            "-mcpu=cortex-m55",
            "-mfloat-abi=hard",
            "-O2",
            "-S",
            "-o",
            str(tmp_path / "s"),
            *(f"-I{place}" for place in places),
            source,
        ],
        check=True,
    )


@needs_qemu
def test_kernels_are_measured_in_qemu() -> None:
    """By asking for the cycles before and behind two calls."""
    target = targets.find("cortex-m55")
    (kernel,) = (one for one in target.engines[0].kernels if one.op is TfliteAdd and one.source == "tfliteadd_mve.c")
    x = [np.arange(-size, size, 2, np.int8) for size in (32, 128)]
    halved = Summand(0, 1 << 30, 0)
    op = TfliteAdd(
        first=halved, second=halved, mul=1 << 30, exponent=-18, requant=full_range(0, "int8", 0, Rounding.DOUBLE)
    )
    short, long = kernel_bench.measure([kernel_bench.Case(kernel, op, [one, one]) for one in x], target)
    assert np.array_equal(long.results[0], op.numpy(x[1], x[1]))
    assert short.cycles < long.cycles < 4 * short.cycles
    assert long.cycles == long.cold


@needs_qemu
def test_sums_that_32_bits_hold() -> None:
    random, cases = default_rng(8), list[Case]()
    for kinds, shift, rounding in (
        (("int16", "int8"), 15, "half_up"),
        (("int8", "int8"), 16, "half_even"),
        (("int16", "int16"), 14, "half_even"),
        (("int8", "int16"), 0, "half_up"),
    ):
        reach = [128 if kind == "int8" else 1 << 15 for kind in kinds]
        mul = [int(random.integers(1, (1 << 29) // size)) >> (0 if shift else 14) for size in reach]
        op = QLinearAdd(mul[0], -mul[1], 12345, full_range(shift, "int16", 3, rounding))
        shape = (5, 37) if shift == 15 else (139,)
        x = [random.integers(-size, size, shape).astype(kind) for size, kind in zip(reach, kinds, strict=True)]
        cases.append((op, x))
    halved = QLinearAdd(1 << 13, 1 << 13, 0, full_range(14, "int16", 3, "half_even"))
    cases.append((halved, [some_bytes(random, "int8", 61) for _ in range(2)]))
    assert run(cases, inputs=2) == {"qlinearadd_mve"}


@needs_qemu
def test_norms() -> None:
    random = default_rng(44)
    types = (("int8", "int8"), ("uint8", "uint8"), ("int16", "int8"), ("int8", "int16"), ("uint16", "uint8"))
    assert run([norm(random, *pair) for pair in types * 12], inputs=1) == {"qlinearrownorm_mve"}


def softmax(random: Generator, x_type: str, rounding: str, count: int) -> Case:
    """Any exponentials and factors."""
    x = random.integers(*limits(x_type), (3, count), x_type)
    table = np.round(2.0**24 * np.exp(-np.arange(256) / random.integers(3, 60))).astype(np.int32)
    shift = int(random.integers(40, 56))
    numerator = int(random.integers(1 << 40, 1 << min(shift + 8, 60)))
    return QLinearSoftmax(1, numerator, full_range(shift, "int8", -128, rounding)), [x, table]


def halves(rounding: str, count: int) -> Case:
    """The same exponential for all elements, whose results lie in the middle between two numbers."""
    x, table = np.zeros((1, count), np.int8), np.full(256, 1 << 24, np.int32)
    return QLinearSoftmax(1, (4 * count + 1) * count << 43, full_range(44, "int8", -128, rounding)), [x, table]


@needs_qemu
def test_softmax() -> None:
    random = default_rng(9)
    kinds = [(kind, rounding) for kind in ("int8", "uint8") for rounding in ("half_up", "half_even")]
    cases = [softmax(random, *kind, count) for kind in kinds for count in (1, 2, 7, 16, 64)]
    cases += [halves(rounding, count) for rounding in ("half_up", "half_even") for count in (3, 12)]
    assert run(cases) == {"qlinearsoftmax_mve"}
