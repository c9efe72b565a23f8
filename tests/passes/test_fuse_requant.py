"""Fused graphs give the same bits as graphs that are not; what must not be fused is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.passes.small import Small, changed_by, integers, kinds
from tests.support import dialect
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Shape
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.passes import Pass, apply
from tilewright.passes.fuse_bias import FUSE_BIAS
from tilewright.passes.fuse_integer_div import FUSE_INTEGER_DIV
from tilewright.passes.fuse_requant import FUSE_REQUANT

pytestmark = pytest.mark.fast


def fused(graph: Graph, *passes: Pass) -> list[str]:
    """The operators after the passes, which must not change a bit."""
    return kinds(changed_by(graph, *(passes or (FUSE_REQUANT,))))


CONV, TRANSPOSED = Conv(padding=(1, 1, 1, 1)), ConvTranspose(strides=(2, 2), before=(0, 0), spatial=(11, 11))


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("op", "weight"), [(CONV, (6, 4, 3, 3)), (TRANSPOSED, (4, 6, 3, 3))])
def test_convolutions(op: Op, weight: Shape, bias: bool, axis: int) -> None:
    small = Small()
    operands = [small.input("x", 1, 4, 5, 5), small.constant(integers("int8", *weight))]
    operands += [small.constant(integers("int32", 6))] if bias else []
    assert fused(small.graph(small.requant(small.add(op, *operands), axis))) == [op.kind]


@pytest.mark.parametrize("axis", [0, 2, 3])
def test_other_axes_of_a_convolution_stay(axis: int) -> None:
    small = Small()
    total = small.add(CONV, small.input("x", 2, 4, 5, 5), small.constant(integers("int8", 6, 4, 3, 3)))
    assert fused(small.graph(small.requant(total, axis))) == ["Conv", "RequantShift"]


@pytest.mark.parametrize(
    ("a", "b", "axis", "kinds"),
    [
        ((5, 4), (4, 3), -1, ["MatMul"]), ((5, 4), (4, 3), 0, ["MatMul"]), ((5, 4), (4, 3), 1, ["MatMul"]),
        ((2, 5, 4), (4, 3), 2, ["MatMul"]), ((2, 5, 4), (4, 3), 1, ["MatMul"]), ((2, 5, 4), (2, 4, 3), -1, ["MatMul"]),
        ((2, 5, 4), (2, 4, 3), 0, ["MatMul", "RequantShift"]), ((5, 4), (4,), 0, ["MatMul", "RequantShift"]),
    ],
)  # fmt: skip
def test_matrix_products(a: Shape, b: Shape, axis: int, kinds: list[str]) -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", *a), small.input("b", *b))
    assert fused(small.graph(small.requant(product, axis))) == kinds


def test_a_total_that_others_read_stays() -> None:
    for output in (True, False):
        small = Small()
        product = small.add(MatMul(), small.input("a", 5, 4), small.input("b", 4, 3))
        other = product if output else small.add(Relu(), product)
        assert "RequantShift" in fused(small.graph(small.requant(product), other))


def test_a_second_requantisation_stays() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 5, 4), small.input("b", 4, 3))
    assert fused(small.graph(small.requant(small.requant(product), shift=5))) == ["MatMul", "RequantShift"]


def test_factors_that_are_computed_stay() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 5, 4), small.input("b", 4, 3))
    factors = [small.input(name, 1, dtype="int32") for name in ("mul", "add")]
    assert fused(small.graph(small.add(RequantShift(), product, *factors))) == ["MatMul", "RequantShift"]


@pytest.mark.parametrize("requantised", [(), ("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize("shape_b", [(3, 4), (1, 4), (4,)])
def test_sums(requantised: Sequence[str], shape_b: Shape) -> None:
    small = Small()
    operands = {"a": small.input("a", 3, 4), "b": small.input("b", *shape_b, dtype="uint8")}
    operands |= {name: small.requant(operands[name], shift=6) for name in requantised}
    total = small.add(Add(wide=True), *operands.values())
    assert fused(small.graph(small.requant(total, shift=6))) == ["RequantizedAdd"]


def test_sums_that_are_rounded_as_tensorflow_lite_does_stay() -> None:
    """Their operands are not: a kernel is compiled for one kind of rounding."""
    small = Small()
    total = small.add(Add(wide=True), small.input("a", 3, 4), small.input("b", 3, 4))
    factor, exponent = small.constant(np.array([2**30], np.int32)), small.constant(np.array([-2], np.int32))
    op = RequantShift(Requant(0, "int8", -128, 127, rounding="double"))
    assert fused(small.graph(small.add(op, total, factor, exponent))) == ["Add", "RequantShift"]


def test_a_tensor_that_is_added_to_itself() -> None:
    small = Small()
    half = small.requant(small.input("a", 3, 4), shift=6)
    assert fused(small.graph(small.requant(small.add(Add(wide=True), half, half), shift=6))) == ["RequantizedAdd"]


def test_intermediate_clamps_stay() -> None:
    small = Small()
    requant = Requant(0, "int8", -5, 5)
    one, zero = small.constant(np.ones(1, np.int32)), small.constant(np.zeros(1, np.int32))
    clamped = small.add(RequantShift(requant), small.input("a", 300), one, zero)
    total = small.add(Add(wide=True), clamped, small.input("b", 300))
    assert fused(small.graph(small.requant(total, shift=6))) == ["RequantizedAdd"]


def test_operands_of_a_sum_that_must_stay() -> None:
    small = Small()
    shared = small.requant(small.input("a", 3, 4), shift=6)
    narrowed = small.requant(small.input("b", 3, 4, dtype="int32"))
    total = small.requant(small.add(Add(wide=True), shared, narrowed), shift=6)
    kinds = fused(small.graph(total, small.add(Relu(), shared)))
    assert sorted(kinds) == ["Relu", "RequantShift", "RequantShift", "RequantizedAdd"]


def test_channels_of_a_sum_stay() -> None:
    small = Small()
    total = small.add(Add(wide=True), small.input("a", 3, 4), small.input("b", 3, 4))
    assert fused(small.graph(small.requant(total, 1))) == ["Add", "RequantShift"]


def test_products_are_fused_before_sums() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 3, 4), small.input("b", 4, 5))
    total = small.add(Add(wide=True), small.requant(product), small.input("c", 3, 5))
    assert fused(small.graph(small.requant(total, shift=6))) == ["MatMul", "RequantizedAdd"]


@pytest.mark.parametrize("shape", [(5,), (3, 5), (1, 5), (3, 1), ()])
@pytest.mark.parametrize("swapped", [False, True])
def test_biases(shape: Shape, swapped: bool) -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 3, 4), small.input("b", 4, 5))
    operands = [product, small.constant(integers("int8", *shape))]
    total = small.add(Add(wide=True), *operands[:: -1 if swapped else 1])
    assert fused(small.graph(small.requant(total)), FUSE_BIAS, FUSE_REQUANT) == ["MatMul"]


def test_what_is_no_bias_stays() -> None:
    for shape, bias in (((2, 3, 5), None), ((5,), "c")):
        small = Small()
        product = small.add(MatMul(), small.input("a", 3, 4), small.input("b", 4, 5))
        other = small.input(bias, *shape) if bias else small.constant(integers("int8", *shape))
        assert fused(small.graph(small.add(Add(wide=True), product, other)), FUSE_BIAS) == ["MatMul", "Add"]


def test_what_is_larger_than_the_product_is_no_bias() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 1, 4), small.input("b", 4, 5))
    total = small.add(Add(wide=True), product, small.constant(integers("int8", 3, 5)))
    assert fused(small.graph(total), FUSE_BIAS) == ["MatMul", "Add"]


def test_a_scaled_bias_stays() -> None:
    """The factor of a bias that a product does not have must not meet one that comes later."""
    small = Small()
    product = small.add(
        MatMul(beta=2.0), small.input("a", 3, 4, dtype="float32"), small.input("b", 4, 5, dtype="float32")
    )
    total = small.add(Add(), product, small.constant(integers("float32", 5)))
    assert fused(small.graph(total), FUSE_BIAS) == ["MatMul", "Add"]


def division(add: int, channels: int) -> Graph:
    small = Small()
    op = TrueIntegerDiv(1024, 7000, 1, 3)
    quotient = small.add(op, small.input("x", 3, channels))
    mul = small.constant(np.full(channels, 9, np.int32))
    summand = small.constant(np.full(channels, add, np.int32))
    requant = RequantShift(full_range(12, "int8"), -1 if channels == 1 else 1)
    return small.graph(small.add(requant, quotient, mul, summand))


def test_integer_divisions() -> None:
    graph = apply(division(0, 1), (FUSE_INTEGER_DIV,))
    assert [node.op.kind for node in graph.nodes] == ["RequantShift"]
    x = integers("int8", 3, 1)
    factor = np.round(9 * np.floor(1024 * 7000 / (3 * 7000 + 1)) * 256).astype(np.int64)
    wanted = dialect.requant(x, factor, np.array(0), 12 + 8, 256, True)
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[graph.outputs[0]], wanted)


@pytest.mark.parametrize(("add", "channels"), [(5, 1), (0, 4)])
def test_divisions_with_a_summand_or_channels_stay(add: int, channels: int) -> None:
    assert fused(division(add, channels), FUSE_INTEGER_DIV) == ["TrueIntegerDiv", "RequantShift"]


@pytest.mark.parametrize("build", [dialect.cnn, dialect.transformer])
def test_whole_networks(build: object) -> None:
    model, outputs = build(3)  # type: ignore[operator]
    graph = pipeline.import_model(model.proto(*outputs), example_inputs=model.inputs)
    kinds = fused(graph, FUSE_BIAS, FUSE_REQUANT)
    assert "Add" not in kinds
    assert kinds.count("RequantShift") <= 4


@pytest.mark.parametrize(("a", "b"), [("int8", "int8"), ("uint8", "int8"), ("int16", "int16"), ("uint8", "uint16")])
@pytest.mark.parametrize("shape_b", [(3, 4), (1, 4), (4,)])
def test_products(a: str, b: str, shape_b: Shape) -> None:
    small = Small()
    product = small.add(Mul(wide=True), small.input("a", 3, 4, dtype=a), small.input("b", *shape_b, dtype=b))
    assert fused(small.graph(small.requant(product, shift=14))) == ["QLinearMul"]


def test_products_that_stay() -> None:
    small = Small()
    a = small.input("a", 3, 4)
    per_channel = small.requant(small.add(Mul(wide=True), a, a), 1)
    assert fused(small.graph(per_channel)) == ["Mul", "RequantShift"]
    small = Small()
    wide = small.input("wide", 3, 4, dtype="uint16")
    assert fused(small.graph(small.requant(small.add(Mul(wide=True), wide, wide)))) == ["Mul", "RequantShift"]


@pytest.mark.parametrize("op", [iSoftmax(256, 31, 1, 43, 950), ITAMax(), ITAPartialMax()], ids=lambda op: op.kind)
def test_softmaxes(op: Op) -> None:
    small = Small()
    shares = small.add(op, small.input("x", 3, 40))
    assert fused(small.graph(small.requant(shares, shift=6))) == [op.kind]
    small = Small()
    twice = small.requant(small.requant(small.add(op, small.input("x", 3, 40)), shift=6), shift=6)
    assert fused(small.graph(twice)) == [op.kind, "RequantShift"]


def test_requantisations_go_before_views() -> None:
    small = Small()
    product = small.add(MatMul(), small.input("a", 5, 4), small.input("b", 4, 6))
    heads = small.add(Transpose((1, 0, 2)), small.add(Reshape((5, 2, 3)), product))
    assert fused(small.graph(small.requant(heads))) == ["MatMul", "Reshape", "Transpose"]


def test_requantisations_that_stay_behind_views() -> None:
    for axis, shared in ((0, False), (-1, True)):
        small = Small()
        product = small.add(MatMul(), small.input("a", 5, 4), small.input("b", 4, 6))
        view = small.add(Reshape((5, 2, 3)), product)
        narrow = small.requant(view, axis)
        graph = small.graph(narrow, small.add(Relu(), product)) if shared else small.graph(narrow)
        assert "RequantShift" in fused(graph)
