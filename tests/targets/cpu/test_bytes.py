"""Kernels of bytes on processors with and without an instruction for them, in every rounding, equal to numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case
from tests.targets.cpu.machine import LIKE, MATRICES, PROCESSORS_TESTED, needs, run_graph, run_on
from tests.targets.rv32.test_kernels import KINDS, computed_product, conv, product, requant, some_bytes
from tilewright import pipeline
from tilewright.errors import instance, present
from tilewright.ir.graph import Builder
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.target.processors import NATIVE, Dot, vectors_of
from tilewright.targets.cpu import packed_forms as forms
from tilewright.targets.cpu import packed_offers

pytestmark = pytest.mark.in_turns(8)

EXTREMES = (-128, 127)


def kinds_of(processor: str) -> tuple[str, ...]:
    """All of them here; elsewhere those of one combination of types: each is compiled anew."""
    if processor == MATRICES:
        return ("half_even",)
    return KINDS if processor == NATIVE else ("half_even", "double", "double_up")


def channels_last(case: Case) -> Case:
    op, arrays = case
    images = [np.moveaxis(present(array, "case", "has no image"), 1, -1).copy() for array in arrays[:2]]
    return replace(instance(op, Conv), channels_last=True), [*images, *arrays[2:]]


def large_conv(random: Generator, kind: str, channels: int, filters: int) -> Case:
    """Whole blocks of pixels and filters and some more; weights and pixels at the ends of their range."""
    x = random.choice(EXTREMES, (1, 9, 10, channels)).astype(np.int8)
    w = random.choice(EXTREMES, (filters, 3, 3, channels)).astype(np.int8)
    op = Conv((1, 1), (1, 1), (1, 0, 2, 1), 1, -128, channels_last=True)
    bias = random.integers(-5000, 5000, filters).astype(np.int32)
    scaling, mul, add = requant(random, filters, kind, "int8")
    return replace(op, requant=scaling), [x, w, bias, mul, add]


def in_the_padding(random: Generator) -> Case:
    """A window that does not reach the image."""
    op = Conv((4, 4), (1, 1), (0, 3, 0, 0), 1, 5, channels_last=True, requant=full_range(34, "int8", 1))
    factor = np.array([123456789], np.int32)
    x, w = some_bytes(random, "int8", 1, 1, 2, 16), some_bytes(random, "int8", 8, 1, 2, 16)
    return op, [x, w, np.zeros(8, np.int32), factor]


def depthwise(random: Generator, kind: str, channels: int) -> Case:
    x_type = "uint8" if kind == "half_up" else "int8"
    height, width = (3, 3) if random.integers(2) else map(int, random.integers(1, 6, 2))
    x = some_bytes(random, x_type, 1, int(random.integers(6, 9)), int(random.integers(6, 12)), channels)
    w = some_bytes(random, "int8", channels, height, width, 1)
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
    for channels in (1, 7, 8, 12, 16, 20, 24, 31, 40):
        for kernel in ((3, 3), (1, 5), (4, 2), (5, 5), (7,)):
            rows = some_bytes(random, "int8", channels, int(np.prod(kernel)))
            wide = forms.LaneDepthwise(channels, kernel, block=forms.Block(32))
            for form in (forms.PackedDepthwise(channels, kernel), wide, forms.TapDepthwise(channels, kernel)):
                np.testing.assert_array_equal(form.plain_weights(form.packed_weights(rows), 1), rows)
                values = form.packed_values(np.arange(channels))
                np.testing.assert_array_equal(form.plain_values(values), np.arange(channels))


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
        for columns in (8, 32):
            (offer,) = packed_offers.offers(forms.Block(columns), graph, graph.nodes[0])
            constants = [offer.constants[name] for name in offer.inputs[1:]]
            np.testing.assert_array_equal(offer.op.numpy(arrays[0], *constants), op.numpy(*arrays), err_msg=str(op))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("processor", [*PROCESSORS_TESTED, MATRICES])
def test_products_and_convolutions(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All kinds in one program: a compiler takes longer than they do."""
    needs(processor)
    random, kinds = default_rng(1), kinds_of(processor)
    cases = [channels_last(conv(random, kind)) for kind in kinds for _ in range(4)]
    cases += [large_conv(random, kind, *sizes) for kind in kinds[:1] for sizes in ((16, 19), (24, 8))]
    cases.append(in_the_padding(random))
    cases += [depthwise(random, kind, size) for kind in kinds for size in (3, 8, 13, 16, 35)]
    cases += [product(random, kind) for kind in kinds for _ in range(4)]
    assert run_on(cases, processor, monkeypatch) == {"conv_dot", depthwise_kernel(processor)}


def test_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole tiles of rows and of bytes and parts of them, windows that are read where they are and copied ones."""
    random, cases = default_rng(23), list[Case]()
    for kind, rows, inner, columns in (("half_even", 32, 64, 32), ("half_up", 70, 130, 40), ("double", 17, 200, 5)):
        dtype = "uint8" if kind == "half_up" else "int8"
        x = some_bytes(random, dtype, rows, inner)
        w = random.choice(EXTREMES, (inner, columns)).astype(np.int8)
        bias = random.integers(-5000, 5000, columns).astype(np.int32)
        scaling, mul, add = requant(random, columns, kind, "int8")
        cases.append((MatMul(a_zero=7, requant=scaling), [x, w, bias, mul, add]))
        cases.append((MatMul(a_zero=7), [x, w, bias]))
    cases += [large_conv(random, "half_even", *sizes) for sizes in ((16, 19), (24, 64), (8, 33))]
    used = run_on(cases, f"{LIKE}x86-64-v4+amx", monkeypatch)
    assert used == {"conv_dot"}


def depthwise_kernel(processor: str) -> str:
    """The one of this processor's vectors."""
    dot = vectors_of(processor.removeprefix(LIKE)).dot
    by_dot = {Dot.VNNI: "depthwise_lanes", Dot.MADDUBS: "depthwise_lanes", Dot.WIDENING: "depthwise_widening"}
    return by_dot.get(dot, "depthwise_dot")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_depthwise_windows_at_their_limits(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pixel, a column, rows shorter than a vector, windows that see padding only, wide strides and dilations, several
    images, and more channels than are computed at a time."""
    needs(processor)
    random, cases = default_rng(21), list[Case]()
    shapes = ((1, 1, 1), (1, 9, 1), (2, 1, 7), (3, 5, 4), (1, 3, 40))
    windows = (
        ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
        ((3, 3), (2, 2), (1, 1), (0, 0, 1, 1)),
        ((1, 3), (1, 3), (1, 2), (0, 4, 0, 2)),
        ((5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
        ((2, 2), (2, 1), (2, 1), (2, 0, 0, 1)),
        ((4, 1), (3, 1), (1, 1), (3, 0, 0, 0)),
        ((7, 3), (1, 2), (1, 1), (3, 0, 3, 2)),
    )
    for number, (channels, shape) in enumerate((c, s) for c in (2, 5, 8, 16, 17, 24, 72) for s in shapes):
        kernel, strides, dilations, pads = windows[number % len(windows)]
        reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        if any(size + pads[at] + pads[at + 2] < reach[at] for at, size in enumerate(shape[1:])):
            pads = (reach[0], reach[1], 0, 0)
        x = random.choice(EXTREMES, (*shape, channels)).astype(np.int8)
        w = random.choice(EXTREMES, (channels, *kernel, 1)).astype(np.int8)
        scaling, mul, add = requant(random, channels, "half_even", "int8")
        op = Conv(strides, dilations, pads, channels, -7, requant=scaling, channels_last=True)
        cases.append((op, [x, w, random.integers(-5000, 5000, channels).astype(np.int32), mul, add]))
    assert run_on(cases, processor, monkeypatch) == {depthwise_kernel(processor)}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("processor", [*PROCESSORS_TESTED, MATRICES])
def test_products_of_what_is_computed(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(processor)
    random = default_rng(5)
    wide = (MatMul(), [some_bytes(random, "int8", 5, 700), some_bytes(random, "int8", 700, 130)])
    cases = [*(computed_product(random, kind) for kind in kinds_of(processor)[:2] for _ in range(8)), wide]
    cases += [one_row(random, *sizes) for sizes in ((48, 257), (257, 48), (19, 33), (3, 7), (64, 8))]
    assert run_on(cases, processor, monkeypatch, inputs=2) >= {"matmul_dot"}


def one_row(random: Generator, inner: int, columns: int) -> Case:
    """Times a matrix, its columns or its rows side by side."""
    is_transposed = bool(random.integers(2))
    a = some_bytes(random, "int8", 3, 1, inner)
    b = some_bytes(
        random, "uint8" if inner == 19 else "int8", 3, *((columns, inner) if is_transposed else (inner, columns))
    )
    op = MatMul(trans_b=is_transposed, a_zero=-128 if inner > 19 else 0, b_zero=7)
    return replace(op, requant=full_range(38, "int8", -9, "half_even")), [
        a,
        b,
        None,
        np.array([(1 << 26) + 1], np.int32),
    ]


def followed(
    builder: Builder, random: Generator, dtype: str, op: Conv | MatMul, x: str, w: Array, is_sum: bool
) -> None:
    """A product or convolution in one of the roundings, and one more requantisation, or the sum with another tensor."""
    filters = w.shape[-1] if isinstance(op, MatMul) else len(w)
    constants = [w, random.integers(-5000, 5000, filters).astype(np.int32), np.full(filters, (1 << 28) + 1, np.int32)]
    requantised = full_range(40, dtype, 3, "half_even")
    if isinstance(op, Conv) and filters != 24:
        requantised = full_range(0, dtype, 3, "double" if filters == 19 else "double_up")
        constants.append(random.integers(-9, -6, filters).astype(np.int32))
    names = [builder.constant(array, "c") for array in constants]
    (made,) = builder.add(replace(op, requant=requantised), [x, *names])
    shape = builder.type_of(made).shape
    if is_sum:
        more = builder.input(f"r{len(builder.inputs)}", TensorType(dtype, shape))
        add = QLinearAdd(1927407, 702549, 12345, full_range(21, dtype, 9, "half_even"))
        builder.output(builder.add(add, [more, made])[0])
        return
    factors = [random.integers(1 << 23, 1 << 24, filters), random.integers(-(1 << 29), 1 << 29, filters)]
    requantised = Requant(23, dtype, 10, 120, 11, "half_even")
    axis = len(shape) - 1
    given = [made, *(builder.constant(array.astype(np.int32), "f") for array in factors)]
    builder.output(builder.add(RequantShift(requantised, axis), given)[0])


@pytest.mark.fast
@pytest.mark.parametrize(("shift", "factor", "joined"), [(0, 1, False), (3, 8, True)])
def test_sums_that_are_not_shifted_stay(shift: int, factor: int, joined: bool) -> None:
    """Half a unit is a shift by one bit less."""
    builder = Builder("sum")
    x, more = (builder.input(name, TensorType("int8", (4, 16))) for name in ("x", "more"))
    arrays = some_bytes(default_rng(1), "int8", 16, 16), np.zeros(16, np.int32), np.full(16, (1 << 28) + 1, np.int32)
    constants = [builder.constant(array, "c") for array in arrays]
    (made,) = builder.add(MatMul(requant=full_range(40, "int8", 3, "half_even")), [x, *constants])
    builder.output(builder.add(QLinearAdd(factor, factor, 0, full_range(shift, "int8")), [more, made])[0])
    nodes = pipeline.stage(builder.build(), "cpu", "lowered").nodes
    assert any(isinstance(node.op, QLinearAdd) for node in nodes) != joined


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_what_follows_is_computed_with_it(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole blocks of pixels and filters and parts of them, and a single pixel."""
    needs(processor)
    random, builder = default_rng(12), Builder("followed")
    for dtype in ("int8", "uint8") if processor == NATIVE else ("int8",):
        for is_sum in (False, True):
            for height, channels, filters, kernel in ((5, 16, 24, 3), (7, 8, 19, 1), (3, 3, 9, 3)):
                x = builder.input(f"x{len(builder.inputs)}", TensorType(dtype, (1, height, 9, channels)))
                op = Conv(padding=(kernel // 2,) * 4, x_zero=-5 if dtype == "int8" else 5, channels_last=True)
                w = some_bytes(random, "int8", filters, kernel, kernel, channels)
                followed(builder, random, dtype, op, x, w, is_sum)
            for rows, length, columns in ((1, 64, 44), (9, 20, 16)):
                x = builder.input(f"x{len(builder.inputs)}", TensorType(dtype, (rows, length)))
                followed(builder, random, dtype, MatMul(), x, some_bytes(random, "int8", length, columns), is_sum)
    graph = builder.build()
    feeds = {name: some_bytes(random, graph.types[name].dtype, *graph.types[name].shape) for name in graph.inputs}
    assert run_graph(graph, feeds, processor, monkeypatch) == {"conv_dot_twice", "conv_dot_sum"}


def test_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ties and without, of bytes and of wider integers, broadcast and not."""
    random, cases = default_rng(6), list[Case]()
    for rounding in ("half_even", "half_up"):
        for mul in ((4324321, 75475), (1 << 21, 1 << 20), (3145729, -812345)):
            for y_type, shift in (("int8", 22), ("uint8", 22), ("int32", 9)):
                a, b = some_bytes(random, "int8", 5, 37), some_bytes(random, "uint8", 5, 37)
                op = QLinearAdd(*mul, -13878663, full_range(shift, y_type, 3, rounding))
                cases.append((op, [a, b]))
                cases.append((op, [a, some_bytes(random, "int8", 1, 37)]))
        wide = random.integers(-(1 << 20), 1 << 20, (5, 37)).astype(np.int32)
        op = QLinearAdd(12345, 4324321, 99, full_range(9, "int32", 0, rounding))
        cases.append((op, [wide, some_bytes(random, "int8", 5, 37)]))
    used = run_on(cases, NATIVE, monkeypatch, inputs=2)
    assert used == {"qlinearadd_wide", "qlinearadd_bytes"}


def test_sums_of_tensorflow_lite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that no single rounding gives: in vectors where the shapes are one, else as everywhere."""
    random, cases = default_rng(8), list[Case]()
    for a, b, y in (("int8", "int8", "int8"), ("uint8", "int8", "uint8"), ("int8", "uint8", "int8")):
        for zero, exponent in ((3, -18), (40, -19)):
            first, second = Summand(zero, 5 << 28, -1), Summand(7, 7 << 28, 0)
            op = TfliteAdd(20, first, second, 1 << 30, exponent, full_range(0, y, 5, "double"))
            x = some_bytes(random, a, 3, 337)
            cases += [(op, [x, some_bytes(random, b, 3, size)]) for size in (337, 1)]
    used = run_on(cases, NATIVE, monkeypatch, inputs=2)
    has_own = vectors_of(NATIVE).dot in (Dot.SDOT, Dot.SMMLA)
    assert used == {"tfliteadd", *(["tfliteadd_bytes"] if has_own else [])}


@pytest.mark.parametrize("processor", [NATIVE, "x86-64-v3"])
def test_sums_of_any_two_bytes(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sum of MLPerf Tiny's ResNet, which no sum in 32 bits with one rounding gives."""
    needs(processor)
    every = np.arange(-128, 128).astype(np.int8)
    a, b = (side.copy() for side in np.meshgrid(every, every))
    first, second = Summand(-128, 1623821475, -2), Summand(4, 1 << 30, 0)
    op = TfliteAdd(20, first, second, 1098017566, -17, full_range(0, "int8", -128, "double"))
    assert run_on([(op, [a, b])], processor, monkeypatch, inputs=2) == {"qlinearadd_bytes"}


def test_means_planes_and_norms(monkeypatch: pytest.MonkeyPatch) -> None:
    random, cases = default_rng(8), list[Case]()
    for x_type, columns in (("int8", 70), ("uint8", 3)):
        requantised = full_range(27, "int8", -5, "half_even")
        mean = QLinearReduceMean(axes=(1, 2), x_zero=-7, mul=134217728, requant=requantised)
        cases.append((mean, [some_bytes(random, x_type, 2, 13, 11, columns)]))
    cases += [(Transpose((0, 2, 3, 1)), [some_bytes(random, "int8", 2, planes, 5, 7)]) for planes in (2, 3, 4)]
    for dtype, reach in (("int8", 127), ("int32", 2097151)):
        x = random.integers(-reach, reach, (6, 40)).astype(dtype)
        x[1] = x[1, 0]
        mul, add = (random.integers(-(1 << 22), 1 << 22, (1, 40)).astype(np.int32) for _ in range(2))
        requantised = Requant(44, "int8", -128, 127, 2, "half_even")
        for centred in (True, False):
            norm = QLinearRowNorm(1, centred, 0, 1 << 20, 2, 14, requantised, reach)
            cases.append((norm, [x, mul, add]))
    used = run_on(cases, NATIVE, monkeypatch)
    assert used == {"qlinearreducemean_last", "interleave", "qlinearrownorm_rows"}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantised_floats(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties, what is nearly one, and what is no number; scales whose digits are all ones, or too small to invert."""
    random, cases = default_rng(9), list[Case]()
    zero = np.array(-3 if dtype == "int8" else 100, dtype)
    for scale in (0.1, 1 / 3, 0.0078125, float(np.nextafter(np.float32(2), np.float32(0))), 1e-38, 7.3e5):
        step = np.float32(scale)
        ties = (np.arange(-300, 300) + np.float32(0.5)).astype(np.float32) * step
        near = np.concatenate([np.nextafter(ties, np.float32(bound)) for bound in (np.inf, -np.inf)])
        odd = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 0.0, -0.0, 1e-45], np.float32)
        x = np.concatenate([ties, near, random.normal(0, 200, 500).astype(np.float32) * step, odd, odd[::-1]])
        cases.append((QuantizeLinear(), [x.astype(np.float32), np.array(step), zero]))
    run_on(cases, NATIVE, monkeypatch)


def test_quantised_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One layer's part of stacked caches and what is new, read where they are."""
    random, builder = default_rng(10), Builder("caches")
    for dtype, zero in (("int8", -3), ("uint8", 128)):
        cache = builder.input(f"cache_{dtype}", TensorType("float32", (3, 2, 37, 5)))
        new = builder.input(f"new_{dtype}", TensorType("float32", (2, 1, 5)))
        (part,) = builder.add(Slice((1, 0, 0, 0), (1, 1, 1, 1), (1, 2, 37, 5)), [cache])
        (joined,) = builder.add(Concat(1), [builder.add(Reshape((2, 37, 5)), [part])[0], new])
        scale = [
            builder.constant(np.array(0.037, np.float32), "scale"),
            builder.constant(np.array(zero, dtype), "zero"),
        ]
        builder.output(builder.add(QuantizeLinear(), [joined, *scale])[0])
    graph = builder.build()
    feeds = {name: random.normal(0, 3, graph.types[name].shape).astype(np.float32) for name in graph.inputs}
    feeds["cache_int8"][1, 0, :4, 0] = [np.nan, np.inf, -np.inf, 3e38]
    assert run_graph(graph, feeds, NATIVE, monkeypatch) == {"quantised_concat"}
