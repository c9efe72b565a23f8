"""What follows a product is its end on the GPU, and attention is one layer: as C of this machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.attention_cases import fusedattention
from tests.support.checks import Case, check_graph, check_kernels
from tests.targets.gpu.test_code import EVERY_CHIP, assembled, codes, spills
from tests.targets.gpu.test_tiles import RANDOM, float_cases, floats, integer_cases, integers
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, type_of
from tilewright.ops.add import Add
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.clip import Clip
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.gelu import Gelu
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.slice import Slice
from tilewright.ops.swish import Swish
from tilewright.ops.transpose import Transpose
from tilewright.ops.writerows import WriteRows
from tilewright.target.settings import Settings
from tilewright.targets.gpu.depthwise import DepthwiseConv
from tilewright.targets.gpu.rotate import Rotate

pytestmark = pytest.mark.in_turns(6)

LAST_TAP = Conv(channels_last=True, activation=Relu())
Fed = tuple[Graph, dict[str, Array]]


class Network:
    """A graph with what is fed to it."""

    def __init__(self) -> None:
        self.builder, self.feeds = Builder("fused"), dict[str, Array]()

    def given(self, array: Array | None) -> str:
        if array is None:
            return ""
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.builder.input(name, type_of(array))

    def add(self, op: Op, *inputs: str) -> str:
        return self.builder.add(op, inputs)[0]

    def product(self, case: Case) -> str:
        return self.add(case[0], *map(self.given, case[1]))

    def like(self, tensor: str) -> str:
        kind = self.builder.type_of(tensor)
        made = floats(*kind.shape) if kind.dtype == "float32" else integers(*kind.shape, dtype=kind.dtype)
        return self.given(made)

    def build(self) -> Fed:
        return self.builder.build(), self.feeds


def float_sums() -> Fed:
    """Either operand is the product; with and without activations before and after."""
    net = Network()
    for number, case in enumerate(float_cases()):
        product = net.product(case)
        other = net.like(product)
        total = net.add(Add(), *((product, other) if number % 2 else (other, product)))
        net.builder.output(total if number % 3 else net.add(Relu() if number else Clip(low=-0.5, high=0.5), total))
    return net.build()


def byte_sums() -> Fed:
    net = Network()
    wide = Requant(6, "int8", -128, 127, zero_point=2)
    for case in integer_cases():
        if getattr(case[0], "requant", None) is not None:
            for op in (QLinearAdd(37, -21, 555, wide), QLinearAdd(90, 64, -9, replace(wide, rounding="half_even"))):
                product = net.product(case)
                net.builder.output(net.add(op, product, net.like(product)))
    return net.build()


def kinds(graph: Graph) -> Counter[str]:
    return Counter(layer.node.op.kind for layer in pipeline.prediction(graph, "gpu").layers if layer.engine == "gpu")


def test_sums_of_floats() -> None:
    graph, feeds = float_sums()
    found = kinds(graph)
    assert found["SummedConv"] + found["SummedMatMul"] == len(float_cases())
    assert found["Relu"] == found["Clip"] == 0
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_sums_of_bytes() -> None:
    graph, feeds = byte_sums()
    found = kinds(graph)
    assert (found["SummedConv"], found["SummedMatMul"]) == (2, 2)
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.fast
def test_sums_in_another_shape() -> None:
    """As exporters write projections of several tokens."""
    net = Network()
    product = net.product((MatMul(trans_b=True, activation=Gelu()), [floats(6, 16), floats(8, 16), floats(8)]))
    shaped = net.add(Reshape((1, 6, 8)), product)
    net.builder.output(net.add(Add(), shaped, net.like(shaped)))
    graph, _ = net.build()
    assert kinds(graph)["SummedMatMul"] == 1


@pytest.mark.fast
def test_what_others_read_stays_a_layer() -> None:
    """A product that is read twice, a sum that broadcasts, and a sum of two inputs."""
    net = Network()
    read = net.product((MatMul(trans_b=True), [floats(6, 16), floats(8, 16)]))
    wide = net.product((MatMul(trans_b=True), [floats(6, 16), floats(8, 16)]))
    for tensor in (net.add(Add(), read, net.like(read)), read, net.add(Add(), wide, net.given(floats(3, 1, 8)))):
        net.builder.output(tensor)
    net.builder.output(net.add(Add(), net.like(read), net.like(read)))
    found = kinds(net.build()[0])
    assert (found["Add"], found["SummedMatMul"]) == (3, 0)


def attentions() -> list[Case]:
    """Several heads and tokens, with shared keys, behind a cache's position, with odd and with many channels."""
    random = np.random.default_rng(3)
    position = np.array([200], np.int32)
    return [
        *(fusedattention(random) for _ in range(9)),
        (FusedAttention(scale=0.125), [floats(2, 35, 4, 64), floats(2, 130, 2, 64), floats(2, 130, 2, 64)]),
        (FusedAttention(True, 3, 0.1), [floats(1, 97, 2, 128), floats(1, 100, 2, 128), floats(1, 100, 2, 68)]),
        (FusedAttention(True, 0, 0.1), [floats(1, 1, 6, 80), floats(1, 300, 2, 80), floats(1, 300, 2, 80), position]),
        (
            LimitedAttention(True, 0, 0.1, 70, 1.5),
            [floats(1, 1, 6, 80), *(floats(1, 300, 2, 80) for _ in "kv"), position],
        ),
        (LimitedAttention(True, 3, 0.3, 66, 2.0), [floats(1, 197, 2, 64), *(floats(1, 200, 2, 64) for _ in "kv")]),
        (LimitedAttention(False, 0, 0.3, 0, 0.5), [floats(1, 9, 2, 16), *(floats(1, 20, 2, 16) for _ in "kv")]),
    ]


def test_attention() -> None:
    check_kernels(attentions(), target="gpu")


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.one_in(2)
def test_attention_assembles_without_spills(precision: str, tmp_path: Path) -> None:
    found = {name: code for name, code in codes(attentions()[9:], precision).items() if "attention" in name}
    assert len(found) == 5
    for code in found.values():
        assert spills(assembled(code, tmp_path, EVERY_CHIP)) == []


def few_rows() -> Fed:
    """Of one to four rows, of one and of several groups, alone and with a sum."""
    net = Network()
    for rows, columns, inner in ((1, 5, 8), (3, 40, 700), (4, 9, 32)):
        biased = MatMul(trans_b=True, activation=Gelu() if rows == 1 else None)
        product = net.product((biased, [floats(rows, inner), floats(columns, inner), floats(columns)]))
        net.builder.output(net.add(Relu(), net.add(Add(), product, net.like(product))))
    net.builder.output(net.product((MatMul(trans_b=True), [floats(2, 1, 16), floats(6, 16), None])))
    net.builder.output(net.product((LAST_TAP, [floats(1, 1, 1, 24), floats(10, 1, 1, 24), floats(10)])))
    return net.build()


def test_few_rows() -> None:
    graph, feeds = few_rows()
    layers = pipeline.prediction(graph, "gpu").layers
    assert Counter(layer.kernel.stem for layer in layers if layer.node.op.multiplies) == {
        "gpu_one_row_staged_gpu_matmul_few": 1, "gpu_matmul_few": 3, "gpu_one_row_staged_gpu_conv_few": 1,
    }  # fmt: skip
    check_graph(graph, feeds, is_quick=True, target="gpu")


def joined_rows(rows: int, normalised: bool) -> Fed:
    """Products of the same rows: three, a pair of which one gates the other, and one more behind them."""
    net = Network()
    constant = net.builder.constant
    x = net.given(floats(1, rows, 24))
    if normalised:
        x = net.add(RMSNormalization(-1, 1e-3), x, constant(floats(24)))
    for number, columns in enumerate((17, 8, 9)):
        bias = [constant(floats(columns if number else 1))] if number < 2 else []
        net.builder.output(net.add(MatMul(trans_b=True), x, constant(floats(columns, 24)), *bias))
    y = net.add(RMSNormalization(-1, 1e-3), net.given(floats(rows, 16)), constant(floats(16))) if normalised else x
    inner = net.builder.type_of(y).shape[-1]
    up = net.add(MatMul(trans_b=True), y, constant(floats(20, inner)), constant(floats(20)))
    gate = net.add(MatMul(trans_b=True, activation=Swish()), y, constant(floats(20, inner)))
    net.builder.output(net.add(Mul(), up, gate))
    return net.build()


@pytest.mark.parametrize(("rows", "normalised"), [(1, True), (3, False)])
def test_products_of_the_same_few_rows(rows: int, normalised: bool) -> None:
    graph, feeds = joined_rows(rows, normalised)
    found = kinds(graph)
    assert (found["Projections"], found["MatMul"], found["RMSNormalization"], found["Mul"]) == (2, 0, 0, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_a_product_of_a_normalised_row() -> None:
    """It is one layer with the normalisation where rows are long; without one it stays a product."""
    net = Network()
    constant = net.builder.constant
    rows = net.add(RMSNormalization(-1, 1e-3), net.given(floats(1, 1024)), constant(floats(1024)))
    scores = net.add(MatMul(trans_b=True), rows, constant(floats(8, 1024)))
    net.builder.output(net.add(MatMul(trans_b=True), scores, constant(floats(7, 8))))
    graph, feeds = net.build()
    found = kinds(graph)
    assert (found["Projections"], found["MatMul"], found["RMSNormalization"]) == (1, 1, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def biases_of_rows() -> Fed:
    """As many as there are columns, but one for each row; and more products of one tensor than a layer has."""
    net = Network()
    constant = net.builder.constant
    x = net.given(floats(4, 24))
    for _ in range(2):
        net.builder.output(net.add(MatMul(trans_b=True), x, constant(floats(4, 24)), constant(floats(4, 1))))
    y = net.given(floats(2, 24))
    for _ in range(5):
        net.builder.output(net.add(MatMul(trans_b=True), y, constant(floats(6, 24))))
    return net.build()


def test_biases_of_rows_and_many_products() -> None:
    graph, feeds = biases_of_rows()
    assert (kinds(graph)["Projections"], kinds(graph)["MatMul"]) == (2, 2)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_biases_of_tokens_are_no_projections() -> None:
    tokens = channels = 8
    net = Network()
    wide, parts = net.given(floats(1, tokens, 16)), []
    for count in range(3):
        bias = floats(tokens, 1) if count == 2 else floats(channels)
        made = net.add(
            MatMul(trans_b=True), wide, net.builder.constant(floats(channels, 16)), net.builder.constant(bias)
        )
        parts.append(net.add(Reshape((1, tokens, 1, channels)), made))
    net.builder.output(net.add(FusedAttention(scale=0.4), *parts))
    graph, feeds = net.build()
    check_graph(graph, feeds, is_quick=True, target="gpu")


def part(start: int, sizes: tuple[int, ...]) -> Slice:
    """From somewhere on along the last axis."""
    return Slice((*(0 for _ in sizes[1:]), start), (1,) * len(sizes), sizes)


def rotated(net: Network, x: str, interleaved: bool) -> str:
    """As exporters write it."""
    *batch, length = net.builder.type_of(x).shape
    half, cosine, sine = length // 2, net.given(floats(1, batch[-2], 1, length)), net.given(floats(length))
    if interleaved:
        pairs = net.add(Reshape((*batch, half, 2)), x)
        first, second = (net.add(part(i, (*batch, half, 1)), pairs) for i in (0, 1))
        swapped = net.add(Reshape((*batch, length)), net.add(Concat(len(batch) + 1), net.add(Neg(), second), first))
    else:
        first, second = (net.add(part(i * half, (*batch, half)), x) for i in (0, 1))
        swapped = net.add(Concat(len(batch)), net.add(Neg(), second), first)
    return net.add(Add(), net.add(Mul(), x, cosine), net.add(Mul(), sine, swapped))


def test_rotations() -> None:
    net = Network()
    for interleaved in (False, True):
        net.builder.output(rotated(net, net.given(floats(2, 3, 4, 6)), interleaved))
    graph, feeds = net.build()
    found = kinds(graph)
    assert (found["Rotate"], found["Mul"], found["Concat"]) == (2, 0, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def a_step(interleaved: bool) -> Fed:
    """Of a decoder: its cache is filled so far, queries and keys of one token are rotated."""
    net = Network()
    cache, values = net.given(floats(1, 9, 2, 6)), net.given(floats(1, 9, 2, 6))
    position, new = net.given(np.array([5], np.int32)), net.given(floats(1, 1, 2, 6))
    keys = net.add(WriteRows(), cache, rotated(net, new, interleaved), position)
    query = rotated(net, net.given(floats(1, 1, 4, 6)), interleaved)
    net.builder.output(net.add(FusedAttention(True, scale=0.4), query, keys, values, position))
    net.builder.output(net.add(WriteRows(), values, rotated(net, net.given(floats(1, 2, 2, 6)), interleaved), position))
    return net.build()


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotations_where_they_are_read(interleaved: bool) -> None:
    graph, feeds = a_step(interleaved)
    found = kinds(graph)
    assert (found["TurnedAttention"], found["WriteTurned"], found["Rotate"], found["WriteRows"]) == (1, 1, 1, 1)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def a_cached_step(turned: bool, interleaved: bool, position: int, wide: int, shown: bool) -> Fed:
    """Of a decoder whose caches are states, which are written just for the attention, or shown too."""
    net = Network()
    shape, at = (1, 9, 2, wide), net.given(np.array([position], np.int32))
    query, key, value = (net.given(floats(1, 1, heads, wide)) for heads in (4, 2, 2))
    if turned:
        tables = net.given(floats(1, 1, 1, wide)), net.given(floats(wide))
        query, key = (net.add(Rotate(interleaved), one, *tables) for one in (query, key))
    caches = []
    for name, row in (("keys", key), ("values", value)):
        cache = net.builder.state(name, floats(*shape))
        caches.append(net.add(WriteRows(), cache, row, at))
        net.builder.set_next_state(name, caches[-1])
        if shown:
            net.builder.output(caches[-1])
    net.builder.output(net.add(FusedAttention(True, scale=0.4), query, *caches, at))
    return net.build()


@pytest.mark.parametrize(
    ("turned", "interleaved", "position", "wide", "shown"),
    [
        (True, False, 5, 6, True), (True, True, 0, 16, True), (False, False, 8, 8, True), (True, False, 9, 64, True),
        (True, False, -3, 128, False),
    ],
)  # fmt: skip
def test_attention_that_writes_its_caches(
    turned: bool, interleaved: bool, position: int, wide: int, shown: bool
) -> None:
    """Before the first row, into it, into the last and behind it."""
    graph, feeds = a_cached_step(turned, interleaved, position, wide, shown)
    found = kinds(graph)
    assert (found["CachedAttention"], found["WriteRows"], found["Rotate"]) == (1, 0, 0)
    check_graph(graph, feeds, is_quick=True, target="gpu")


def test_rows_of_a_cache_and_places_of_extremes() -> None:
    random = np.random.default_rng(4)
    steps = [(WriteRows(), [floats(1, 9, 2, 5), floats(1, rows, 2, 5), np.array([at], np.int32)]) for rows, at in
             ((1, 0), (2, 8), (3, -4), (4, 5))]  # fmt: skip
    ties, long = random.integers(0, 3, (4, 300, 3)).astype(np.int32), floats(700)
    long[[3, 500]] = np.nan
    extremes: list[Case] = [(op(1, True, last), [ties]) for op in (ArgMax, ArgMin) for last in (False, True)]
    check_kernels([*steps, *extremes, (ArgMax(0), [long]), (ArgMin(0), [floats(1)])], target="gpu")


def test_extremes_of_long_rows() -> None:
    """Rows that groups share: with ties, with what is no number, and more results than groups share."""
    random = np.random.default_rng(5)
    ties, odd, many = random.integers(0, 9, (2, 5000, 3)).astype(np.int32), floats(4097), floats(70, 4100)
    nans = floats(3, 4104)
    nans[[0, 2], [4103, 17]] = np.nan
    cases: list[Case] = [(op(1, True, last), [ties]) for op in (ArgMax, ArgMin) for last in (False, True)]
    check_kernels([*cases, (ArgMax(0), [odd]), (ArgMin(1), [many]), (ArgMax(1), [nans])], target="gpu")


def projected(tokens: int, heads: int, groups: int, length: int, biased: bool) -> Fed:
    """Attention of what products make of one tensor."""
    net = Network()
    wide = net.given(floats(2, tokens, 16))
    parts = []
    for count in (heads, groups, groups):
        weights = [net.builder.constant(floats(count * length, 16) / 4)]
        weights += [net.builder.constant(floats(count * length))] if biased else []
        product = net.add(MatMul(trans_b=True), wide, *weights)
        parts.append(net.add(Reshape((2, tokens, count, length)), product))
    net.builder.output(net.add(FusedAttention(causal=biased, scale=0.4), *parts))
    return net.build()


@pytest.mark.parametrize("shape", [(20, 4, 2, 8, True), (3, 2, 2, 5, False)])
def test_projections_are_one_product(shape: tuple[int, int, int, int, bool]) -> None:
    graph, feeds = projected(*shape)
    found = kinds(graph)
    assert (found["MatMul"], found["JoinedAttention"]) == (1, 1)
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.parametrize("first", [0, 1])
def test_heads_of_one_tensor_are_not_moved(first: int) -> None:
    """As PyTorch exports its attention; in another order they are moved."""
    net = Network()
    wide = net.product((MatMul(trans_b=True), [floats(2, 5, 16), floats(3 * 2 * 4, 16)]))
    apart = net.add(Transpose((2, 0, 3, 1, 4)), net.add(Reshape((2, 5, 3, 2, 4)), wide))
    parts = []
    for number in (first, 1 - first, 2):
        one = net.add(Slice((number, 0, 0, 0, 0), (1,) * 5, (1, 2, 2, 5, 4)), apart)
        parts.append(net.add(Transpose((0, 2, 1, 3)), net.add(Reshape((2, 2, 5, 4)), one)))
    net.builder.output(net.add(FusedAttention(scale=0.3), *parts))
    graph, feeds = net.build()
    found = kinds(graph)
    assert (found["JoinedAttention"], found["Transpose"] == 0) == ((1, True) if first == 0 else (0, False))
    check_graph(graph, feeds, is_quick=True, target="gpu")


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.one_in(2)
def test_16_bits(precision: str) -> None:
    """Nothing is converted in between."""
    settings = Settings(precision=precision)
    net = Network()
    net.builder.output(rotated(net, net.given(floats(1, 3, 4, 6)), False))
    fused = (
        few_rows(),
        projected(20, 4, 2, 8, True),
        projected(3, 2, 1, 16, False),
        joined_rows(1, True),
        a_step(True),
        net.build(),
    )
    for graph, feeds in fused:
        layers = pipeline.prediction(graph, "gpu", settings).layers
        floats_left = [one for one in layers if one.node.op.kind == "Cast"]
        assert len(floats_left) <= len(graph.inputs) + len(graph.outputs)
        check_graph(graph, feeds, is_quick=True, target="gpu", settings=settings)
    check_kernels([*attentions(), *depthwise("float32")], target="gpu", settings=settings)


def depthwise(dtype: str) -> list[Case]:
    """Windows that are known when kernels are compiled, and others; along one axis too."""
    is_float = dtype == "float32"
    narrow = {} if is_float else {"x_zero": 5, "requant": Requant(9, "int8", -128, 127, zero_point=3)}
    cases: list[Case] = []
    for taps, channels in (((3, 3), 8), ((5, 5), 12), ((3, 2), 4), ((4,), 4)):
        rank, ones = len(taps), (1,) * len(taps)
        steps = (2, *ones[1:]) if channels == 12 else ones
        conv = Conv(steps, ones, (1,) * rank + (2,) * rank, channels_last=True, groups=channels, **narrow)
        shapes = (2, *(7, 6)[:rank], channels), (*taps, channels)
        factors = [floats(*shape) if is_float else integers(*shape) for shape in shapes]
        numbers = [RANDOM.integers(1, 40, channels).astype(np.int32) for _ in range(2)]
        cases.append((DepthwiseConv(conv), [*factors, floats(channels)] if is_float else [*factors, *numbers]))
    return cases


def test_depthwise_convolutions() -> None:
    check_kernels([*depthwise("float32"), *depthwise("int8")], target="gpu")


@pytest.mark.fast
def test_depthwise_convolutions_beside_products() -> None:
    """An image that has its channels last for others."""
    net = Network()
    wide = net.add(Conv(), net.given(floats(1, 16, 30, 30)), net.builder.constant(floats(96, 16, 1, 1)))
    filters = net.builder.constant(floats(96, 1, 3, 3))
    deep = net.add(Conv(padding=(1, 1, 1, 1), groups=96, activation=Relu()), wide, filters)
    net.builder.output(net.add(Conv(), deep, net.builder.constant(floats(16, 96, 1, 1))))
    assert kinds(net.build()[0])["DepthwiseConv"] == 1


@pytest.mark.fast
def test_wide_heads_stay_products() -> None:
    net = Network()
    net.builder.output(
        net.product((FusedAttention(), [floats(1, 2, 1, 160), floats(1, 3, 1, 160), floats(1, 3, 1, 8)]))
    )
    graph, _ = net.build()
    with pytest.raises(CompileError, match="heads have 160 channels, at most 128 fit"):
        kinds(graph)
