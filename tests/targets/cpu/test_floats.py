"""Kernels of floats for vectors of every width, as this machine computes them, against the operators' meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case, same
from tests.support.quickly import quickly
from tilewright import pipeline
from tilewright.codegen.network import Writer
from tilewright.errors import present
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops.clip import Clip
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.elu import Elu
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.gelu import Gelu
from tilewright.ops.gridsample import GridSample
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.mish import Mish
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.selu import Selu
from tilewright.ops.slice import Slice
from tilewright.ops.softmax import Softmax
from tilewright.ops.softplus import Softplus
from tilewright.ops.transpose import Transpose
from tilewright.run.host import HostProgram
from tilewright.target.processors import NATIVE, Dot, Vectors, vectors_of
from tilewright.target.settings import Settings
from tilewright.target.target import Offer
from tilewright.targets.cpu import float_forms, floats
from tilewright.targets.cpu import target as cpu
from tilewright.targets.cpu.concat_slices import READ_SLICES, ConcatSlices, all_read
from tilewright.targets.cpu.deep_groups import WIDEN_GROUPS, all_widened
from tilewright.targets.cpu.read_transposed import READ_TRANSPOSED

pytestmark = pytest.mark.in_turns(8)

WIDTHS = (16, 32, 64)
ACTIVATIONS: tuple[Op | None, ...] = (None, Relu(), Clip(0.0, 6.0), HardSwish(), Gelu())


CURVED = len(ACTIVATIONS) - 1
"""The number of the one for which kernels are compiled anew."""


def some(random: Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def some_activation(random: Generator) -> Op | None:
    """One that no kernel is compiled anew for."""
    return ACTIVATIONS[number(random, 0, CURVED - 1)]


def number(random: Generator, low: int, high: int) -> int:
    return int(random.integers(low, high + 1))


def conv(random: Generator, depthwise: bool = False, last_axes: int = 2) -> Case:
    """Any window, stride, dilation and padding that leaves a result."""
    groups = number(random, 2, 40) if depthwise else number(random, 1, 3) if random.random() < 0.3 else 1
    channels, filters = (1, 1) if depthwise else (number(random, 1, 9), number(random, 1, 40))
    kernel = [number(random, 1, 3 if last_axes == 2 else 5) for _ in range(last_axes)]
    strides, dilations = (tuple(number(random, 1, 2) for _ in kernel) for _ in range(2))
    padding = tuple(number(random, 0, 2) for _ in range(2 * last_axes))
    reaches = [(taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    pads = [before + after for before, after in zip(padding, padding[last_axes:], strict=False)]
    least = [max(1, span - beside) for span, beside in zip(reaches, pads, strict=True)]
    size = [number(random, low, low + 1 if random.random() < 0.3 else 11) for low in least]
    op = Conv(
        strides, dilations, padding, groups, channels_last=True,
        activation=some_activation(random),
    )  # fmt: skip
    x = some(random, number(random, 1, 2), *size, groups * channels)
    bias = some(random, groups * filters) if random.random() < 0.8 else None
    return op, [x, some(random, groups * filters, *kernel, channels), bias]


def window_of_three(
    random: Generator, channels: int, width: int, stride: int, pads: tuple[int, ...], height: int = 5
) -> Case:
    op = Conv((stride, stride), (1, 1), pads, channels, channels_last=True, activation=Relu())
    return op, [some(random, 1, height, width, channels), some(random, channels, 3, 3, 1), some(random, channels)]


def wide_window(random: Generator, channels: int, filters: int, size: tuple[int, int]) -> Case:
    """With channels enough for another form."""
    pads = tuple(number(random, 0, 2) for _ in range(4))
    op = Conv((1, 1), (1, 1), pads, channels_last=True, activation=ACTIVATIONS[number(random, 0, 1)])
    x, w = some(random, 2, *size, channels), some(random, filters, 3, 3, channels)
    return op, [x, w, some(random, filters)]


def beside_the_image(random: Generator) -> Case:
    """More padding than all windows together are wide."""
    op = Conv((1, 10), (1, 1), (2, 3, 2, 0), channels_last=True)
    return op, [some(random, 1, 9, 2, 8), some(random, 24, 5, 1, 8), some(random, 24)]


def product(random: Generator, rows: int, inner: int, columns: int) -> Case:
    transposed = bool(random.random() < 0.5)
    shape = (columns, inner) if transposed else (inner, columns)
    op = MatMul(trans_b=transposed, alpha=0.5, beta=2.0, activation=ACTIVATIONS[number(random, 0, CURVED - 1)])
    return op, [some(random, rows, inner), some(random, *shape), some(random, columns)]


def copied_windows(random: Generator) -> list[Case]:
    """Filters enough to share copies of windows, which are longer than a chunk or cross its end: every number of rows
    of a tile, groups, dilations, padding, columns that fill no vector."""
    found = [product(random, rows, number(random, 1, 600), number(random, 65, 130)) for rows in range(2, 17)]
    found += [product(random, 113, 515, 561), product(random, 58, 257, 129)]
    for groups, channels, filters, kernel in ((1, 40, 97, (3, 3)), (2, 7, 68, (5, 9)), (1, 300, 80, (1, 1))):
        op = Conv((1, 2), (2, 1), (1, 2, 0, 1), groups, channels_last=True, activation=some_activation(random))
        x, w = some(random, 2, 13, 12, groups * channels), some(random, groups * filters, *kernel, channels)
        found.append((op, [x, w, some(random, groups * filters)]))
    return found


def large_taps(random: Generator) -> list[Case]:
    """Depthwise windows that a band of rows is copied for: several bands, borders on all sides, channels that fill no
    vector."""
    found: list[Case] = []
    for size, channels, kernel, stride, pads in (
        ((13, 12), 40, (7, 7), 1, (3, 3, 3, 3)),
        ((61, 70), 17, (5, 7), 1, (2, 3, 2, 3)),
        ((9, 8), 33, (11, 1), 1, (5, 0, 5, 0)),
        ((23, 31), 16, (5, 5), 3, (4, 0, 1, 6)),
        ((3, 2), 8, (7, 7), 1, (3, 3, 3, 3)),
    ):
        op = Conv((stride, stride), (1, 1), pads, channels, channels_last=True, activation=some_activation(random))
        x, w = some(random, 2, *size, channels), some(random, channels, *kernel, 1)
        found.append((op, [x, w, some(random, channels)]))
    return found


def cases(random: Generator) -> list[Case]:
    found = [conv(random) for _ in range(24)] + [conv(random, depthwise=True) for _ in range(12)]
    found += [conv(random, last_axes=1) for _ in range(4)]
    found += [window_of_three(random, 16, 9, stride, pads) for stride in (1, 2) for pads in ((1,) * 4, (0, 0, 1, 1))]
    found += [window_of_three(random, 33, width, stride, (1,) * 4) for width in range(1, 15) for stride in (1, 2)]
    found += [window_of_three(random, 33, 1, stride, (1,) * 4, height) for height in (1, 2, 4) for stride in (1, 2)]
    found.append(window_of_three(random, 49, 180, 1, (1,) * 4))  # of which a cache holds some channels
    found += [product(random, rows, number(random, 1, 40), number(random, 1, 70)) for rows in (1, 2, 3, 9, 13, 26)]
    found += [wide_window(random, 16, 50, (6, 11)), wide_window(random, 37, 16, (21, 19))]
    found += [wide_window(random, 272, 80, (9, 7)), *copied_windows(random), *large_taps(random)]
    return [*found, beside_the_image(random), product(random, 1, 300, 33), product(random, 150, 260, 72)]


def one_node(op: Op, arrays: Sequence[Array | None]) -> Graph:
    builder = Builder("one")
    names = [builder.input("x", type_of(present(arrays[0], "case", "has no rows")))]
    names += ["" if array is None else builder.constant(array, f"c{n}") for n, array in enumerate(arrays[1:])]
    builder.output(*builder.add(op, names, name="layer"))
    return builder.build()


def offers(vectors: Vectors, op: Op, arrays: Sequence[Array | None]) -> Sequence[Offer]:
    graph = one_node(op, arrays)
    return floats.forms(vectors, graph, graph.nodes[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_forms_mean_what_they_stand_for(width: int) -> None:
    for op, arrays in cases(default_rng(width)):
        made = offers(Vectors(width, Dot.NONE), op, arrays)
        assert made
        for offer in made:
            found = offer.op.numpy(arrays[0], *offer.constants.values())
            same(found, op.numpy(*arrays))


@pytest.mark.in_turns(8)
@pytest.mark.parametrize(
    "width",
    [pytest.param(one, marks=[] if one == vectors_of(NATIVE).bytes else [pytest.mark.thorough]) for one in WIDTHS],
)
def test_kernels(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All forms of many layers, in one program: for vectors of this machine's width as users compile it, for others
    quickly."""
    vectors = Vectors(width, Dot.NONE)
    monkeypatch.setattr(cpu, "vectors_of", lambda name: vectors)
    builder, feeds = Builder("layers"), dict[str, Array]()
    random = default_rng(100 + width)
    curved: list[Case] = [
        (MatMul(activation=Gelu()), [some(random, 9, 20), some(random, 20, columns), None])
        for columns in (11, 99)
        if width != WIDTHS[1]
    ]
    for number, (op, arrays) in enumerate([*cases(random), *curved]):
        x = present(arrays[0], "case", "has no rows")
        feeds[builder.input(f"x{number}", type_of(x))] = x
        for form, offer in enumerate(offers(vectors, op, arrays)):
            names = [builder.constant(array, f"{name}_{number}_{form}") for name, array in offer.constants.items()]
            builder.output(*builder.add(offer.op, [f"x{number}", *names], name=f"layer{number}_{form}"))
    check(builder.build(), feeds, is_quick=width != vectors_of(NATIVE).bytes)


def test_computed_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """On vectors of 32 bytes."""
    vectors = Vectors(32, Dot.NONE)
    monkeypatch.setattr(cpu, "vectors_of", lambda name: vectors)
    check_all(computed_operands(default_rng(3)))


def computed_operands(random: Generator) -> list[Case]:
    """Products of what is computed, and transpositions."""
    found: list[Case] = [
        (
            MatMul(trans_b=bool(n % 2), alpha=0.5, activation=ACTIVATIONS[n % len(ACTIVATIONS)]),
            list(computed_product(random, n)),
        )
        for n in range(12)
    ]
    found += [(MatMul(trans_b=True), [some(random, 98, 1100), some(random, 150, 1100)])]  # in several runs of panels
    parts = ConcatSlices(1, (15, 0), ((2, 3, 5), (2, 1, 5)))
    found += [(parts, [some(random, 60), some(random, 2, 1, 5)])]
    found += [(Softmax(-1), [some(random, 3, length) * 20]) for length in (1, 5, 16, 33)]
    found += [(Transpose(perm), [some(random, 2, 3, 5, 33)]) for perm in ((0, 2, 3, 1), (0, 3, 1, 2), (2, 3, 0, 1))]
    found += [
        (Transpose(perm), [some(random, *shape)])
        for perm, shape in (
            ((2, 1, 3, 0), (35, 2, 37, 1)),
            ((3, 1, 2, 0), (18, 3, 2, 33)),
            ((2, 4, 0, 1, 3), (5, 2, 17, 4, 3)),
        )
    ]
    found += [
        (GridSample(align_corners=align), [some(random, 2, 3, *size), some(random, 2, 7, 5, 2)])
        for align in (False, True)
        for size in ((4, 6), (1, 3))
    ]
    return found


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_attention_and_curves(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = Vectors(width, Dot.NONE)
    monkeypatch.setattr(cpu, "vectors_of", lambda name: vectors)
    check_all(attention_and_curves(default_rng(4)))


def attention_and_curves(random: Generator) -> list[Case]:
    """More keys than are met at a time, with scores that grow; heads longer than a chunk; values of less than a vector;
    functions from where they are 0 to where they overflow."""
    found: list[Case] = [
        (FusedAttention(scale=0.3, causal=causal), attention(random, queries, keys, groups, repeat, columns, length))
        for causal, queries, keys, groups, repeat, columns, length in (
            (False, 17, 21, 2, 1, 16, 12), (True, 9, 9, 1, 2, 5, 12), (True, 1, 40, 2, 2, 35, 12),
            (False, 3, 1, 1, 1, 8, 12), (True, 300, 300, 1, 1, 33, 4), (False, 29, 530, 1, 2, 70, 16),
            (False, 15, 258, 1, 1, 9, 300),
        )
    ]  # fmt: skip
    q, k, v = (np.abs(one) for one in attention(random, 9, 300, 1, 1, 5, 4) if one is not None)
    k[:, :260] *= np.float32(-1e37)  # scores of -inf for all keys that are met first
    found.append((FusedAttention(scale=0.3), [q * np.float32(1e3), k, v]))
    ramp = np.concatenate([np.linspace(-110, 110, 333), np.linspace(-1e-3, 1e-3, 33)]).astype(np.float32)
    found += [(op, [ramp]) for op in (Elu(0.7), Selu(), Mish(), Softplus())]
    return found


def check_all(found: Sequence[Case]) -> None:
    """In one program; nothing is constant."""
    builder, feeds = Builder("layers"), dict[str, Array]()
    for number, (op, arrays) in enumerate(found):
        given = {f"x{number}_{n}": array for n, array in enumerate(arrays) if array is not None}
        feeds |= given
        names = [builder.input(name, type_of(array)) for name, array in given.items()]
        builder.output(*builder.add(op, names, name=f"layer{number}"))
    check(builder.build(), feeds)


def test_weights_of_four_bits() -> None:
    """With zero points and without, in blocks of vectors and in others."""
    random, builder, feeds = default_rng(6), Builder("nibbles"), dict[str, Array]()
    for rows, inner, columns, block, has_zeros in ((1, 96, 7, 32, False), (3, 128, 5, 64, True), (1, 50, 3, 32, True)):
        weights = random.integers(0, 256, (columns, -(-inner // block), block // 2)).astype(np.uint8)
        name = builder.input(f"a{len(feeds)}", TensorType("float32", (rows, inner)))
        feeds[name] = some(random, rows, inner)
        zeros = [random.integers(0, 16, weights.shape[:2]).astype(np.uint8)] if has_zeros else []
        tables = [builder.constant(array, "table") for array in (weights, some(random, *weights.shape[:2]), *zeros)]
        builder.output(builder.add(MatMulNBits(inner, 4, block), [name, *tables])[0])
    check(builder.build(), feeds)


def computed_product(random: Generator, n: int) -> tuple[Array, Array, Array]:
    rows, inner, columns = (1, 2, 3, 7, 100, 13)[n % 6], number(random, 1, 30), number(random, 1, 40)
    shape = (columns, inner) if n % 2 else (inner, columns)
    return some(random, 2, 3, rows, inner), some(random, 2, 3, *shape), some(random, columns)


def attention(
    random: Generator, queries: int, keys: int, groups: int, repeat: int, width: int, length: int
) -> list[Array | None]:
    """Later keys are larger."""
    shapes = ((2, queries, groups * repeat, length), (2, keys, groups, length), (2, keys, groups, width))
    q, k, v = (some(random, *shape) for shape in shapes)
    return [q, k * np.linspace(0.1, 3, keys, dtype=np.float32)[:, None, None], v]


def check(graph: Graph, feeds: dict[str, Array], is_quick: bool = False) -> None:
    compiled = pipeline.Compiled(*pipeline.stages(graph, "cpu", "net", Settings(cpu=NATIVE)))
    schedule = quickly(compiled.schedule) if is_quick else compiled.schedule
    program = HostProgram(schedule, compiled.files, Writer(schedule, "net"), None)
    ran, wanted = program.run(feeds).outputs, evaluate(compiled.quantised, feeds)
    for reference, tensor in zip(compiled.quantised.outputs, compiled.schedule.graph.outputs, strict=True):
        same(ran[tensor], wanted[reference])


@pytest.mark.fast
def test_concats_read_slices_in_one_piece_where_they_are() -> None:
    random = default_rng(8)
    caches, new = some(random, 4, 2, 5, 3), some(random, 2, 1, 3)
    builder = Builder("cache")
    x, y = builder.input("x", type_of(caches)), builder.input("y", type_of(new))
    for name, op in (
        ("one layer", Slice((2, 0, 0, 0), (1, 1, 1, 1), (1, 2, 5, 3))),
        ("some rows", Slice((2, 0, 1, 0), (1, 1, 1, 1), (1, 2, 4, 3))),
    ):
        (layer,) = builder.add(op, [x], name=name)
        (rows,) = builder.add(Reshape(op.sizes[1:]), [layer])
        builder.output(*builder.add(Concat(1), [rows, y], name=f"all of {name}"))
    graph = builder.build()
    made = READ_SLICES.run(graph)
    assert [node.op.kind for node in made.nodes] == ["ConcatSlices", "Slice", "Reshape", "Concat"]
    assert not list(all_read(made))
    wanted, found = (evaluate(one, {"x": caches, "y": new}) for one in (graph, made))
    for before, after in zip(graph.outputs, made.outputs, strict=True):
        np.testing.assert_array_equal(found[after], wanted[before])


@pytest.mark.fast
def test_groups_of_one_filter_become_depthwise() -> None:
    random = default_rng(10)
    x, w, b = some(random, 2, 48, 7, 9), some(random, 16, 3, 3, 2), some(random, 16)
    graph = one_node(Conv((2, 1), (2, 1), (1, 0, 2, 1), 16), [x, w, b])
    made = WIDEN_GROUPS.run(graph)
    assert [node.op.kind for node in made.nodes] == ["Reshape", "Transpose", "Reshape", "Conv", "Transpose"]
    assert not list(all_widened(made))
    same(evaluate(made, {"x": x})[made.outputs[0]], evaluate(graph, {"x": x})[graph.outputs[0]])


@pytest.mark.fast
def test_products_read_what_was_transposed() -> None:
    random = default_rng(9)
    a, b = some(random, 2, 3, 4), some(random, 2, 5, 4)
    builder = Builder("scores")
    x, y = builder.input("x", type_of(a)), builder.input("y", type_of(b))
    (turned,) = builder.add(Transpose((0, 2, 1)), [y])
    builder.output(*builder.add(MatMul(), [x, turned], name="scores"))
    made = READ_TRANSPOSED.run(builder.build())
    assert [node.op for node in made.nodes] == [MatMul(trans_b=True)]
    same(evaluate(made, {"x": a, "y": b})[made.outputs[0]], a @ b.transpose(0, 2, 1))


@pytest.mark.fast
def test_panels_are_undone() -> None:
    random = default_rng(5)
    for groups, filters in ((1, 8), (1, 11), (3, 5)):
        rows = some(random, groups * filters, 7)
        packed = pack_rows(float_forms.panels(8), rows, groups)
        np.testing.assert_array_equal(unpack_rows(float_forms.panels(8), packed, groups, filters, 7), rows)


@pytest.mark.fast
def test_what_is_computed_or_of_other_types_is_left_alone() -> None:
    random = default_rng(6)
    builder = Builder("one")
    x, w = (builder.input(name, type_of(some(random, 4, 4))) for name in "xw")
    builder.output(*builder.add(MatMul(), [x, w], name="layer"))
    graph = builder.build()
    vectors = Vectors(16, Dot.NONE)
    assert not floats.forms(vectors, graph, graph.nodes[0])
    integers = [np.ones((1, 4, 4, 2), np.int8), np.ones((3, 1, 1, 2), np.int8), None]
    assert not offers(vectors, Conv(channels_last=True), integers)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_weights_that_16_bits_hold_have_the_kernels_of_floats(weight: float) -> None:
    """Networks that begin their last normalisations at zero have layers of zeros."""
    builder = Builder("short")
    x = builder.input("x", TensorType("float32", (1, 32, 9, 9)))
    for _ in range(2):
        weights = builder.constant(np.full((32, 32, 3, 3), weight, np.float32))
        (x,) = builder.add(Conv((1, 1), (1, 1), (1, 1, 1, 1)), [x, weights])
    (x,) = builder.add(Reshape((1, 2592)), [x])
    (x,) = builder.add(MatMul(), [x, builder.constant(np.full((2592, 8), weight, np.float32))])
    builder.output(x)
    compiled = pipeline.Compiled(*pipeline.stages(builder.build(), "cpu", "net", Settings(cpu=NATIVE)))
    assert not [array for array in compiled.schedule.graph.constants.values() if array.dtype.itemsize == 2]
