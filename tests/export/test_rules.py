"""What operators become that ONNX does not have as they are: every one has a rule, or a reason for having none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx
import pytest

from tests.export.round_trip import check_round_trip, random_feeds, run
from tests.support import recurrent
from tests.support.checks import same
from tests.support.models import model, node
from tilewright import ops, pipeline
from tilewright.errors import CompileError
from tilewright.export import model_of
from tilewright.export.refused import DIALECT, TENSORFLOW_LITE, is_made_by_passes
from tilewright.export.registry import RULES
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops.add import Add
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.dequant import Dequant
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.fft import FFT
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gelugrad import GeluGrad
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.ops.quant import Quant
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.relu import Relu
from tilewright.ops.relugrad import ReluGrad
from tilewright.ops.resize import Resize
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice

fast = pytest.mark.fast

RANDOM = np.random.default_rng(3)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(dtype: str, *shape: int) -> Array:
    return RANDOM.integers(-9 if dtype != "uint8" else 0, 9, shape).astype(dtype)


def one(op: Op, inputs: Sequence[Array], constants: Sequence[Array | None] = ()) -> tuple[Graph, dict[str, Array]]:
    """A graph of one node, whose last operands are constants, and what to feed it with."""
    builder = Builder("one")
    names = [builder.input(f"x{at}", type_of(array)) for at, array in enumerate(inputs)]
    names += ["" if array is None else builder.constant(array, f"c{at}") for at, array in enumerate(constants)]
    outputs = [f"y{at}" for at in range(len(op.results))] if not op.results[-1].endswith("*") else ["y0"]
    for name in builder.add(op, names, outputs, name="the node"):
        builder.output(name)
    return builder.build(), dict(zip(builder.inputs, inputs, strict=True))


def kinds(made: onnx.ModelProto) -> list[str]:
    return [each.op_type for each in made.graph.node]


# ---- which operators ------------------------------------------------------------------------------------------------


def stands_in_graphs(kind: type[Op]) -> bool:
    """Operators that are shorthand for others when they are imported say nothing of what they compute."""
    return kind.numpy is not Op.numpy or kind.accumulate is not Op.accumulate


@fast
def test_every_operator_has_a_rule_or_a_reason() -> None:
    refused = TENSORFLOW_LITE | DIALECT
    assert not refused & set(RULES)
    wanted = [kind for kind in ops.all_operators() if stands_in_graphs(kind) and not is_made_by_passes(kind)]
    assert [kind.__name__ for kind in wanted if kind.__name__ not in refused | set(RULES)] == []


@fast
def test_refusals_name_all_nodes_at_once() -> None:
    graph = pipeline.import_model(model([node("Relu", "x", "y")], {"x": (4,)}, ["y"]))
    builder = Builder("two")
    x = builder.input("x", graph.types["x"])
    (a,) = builder.add(Quant(0.5, 300), [x], ["a"], name="first")
    (b,) = builder.add(Quant(0.25, 300), [x], ["b"], name="second")
    builder.output(a)
    builder.output(b)
    with pytest.raises(CompileError) as caught:
        model_of(builder.build())
    assert str(caught.value) == (
        "2 nodes: 'first' (Quant), 'second' (Quant): quantises to int8 around 300: ONNX has no such operator\n"
        "  hint: export the float network, or one with QuantizeLinear and DequantizeLinear"
    )


@fast
def test_requantised_integers_are_refused() -> None:
    op = MatMul(requant=full_range(4, "int8"))
    graph, _ = one(op, [ints("int8", 2, 3), ints("int8", 3, 4)], [None, np.ones(4, np.int32)])
    with pytest.raises(CompileError, match="integers that are requantised"):
        model_of(graph)


@fast
def test_types_that_onnx_does_not_have_are_refused() -> None:
    with pytest.raises(CompileError, match=r"ONNX does not allow it: .*MaxPool.*int32"):
        model_of(one(MaxPool((1,), (1,), (0, 0), (2,)), [ints("int32", 1, 2, 6)])[0])


# ---- products -------------------------------------------------------------------------------------------------------

PRODUCTS = {
    "plain": (MatMul(), [floats(2, 3, 4), floats(4, 5)], []),
    "folded orders": (
        MatMul(perm_a=(1, 0, 2), perm_b=(0, 2, 1), perm_y=(0, 2, 1)),
        [floats(3, 2, 4), floats(2, 5, 4)],
        [],
    ),
    "matrices": (MatMul(True, True, 0.5, 2.0, activation=Relu()), [floats(4, 3)], [floats(5, 4), floats(5)]),
    "batch with a bias": (
        MatMul(trans_b=True, alpha=0.5, beta=2.0, activation=Clip(-1.0, None)),
        [floats(2, 3, 4)],
        [floats(5, 4), floats(5)],
    ),
    "bytes": (MatMul(a_zero=3, b_zero=-2), [ints("uint8", 2, 4), ints("int8", 4, 3)], []),
    "words": (MatMul(a_zero=3), [ints("int16", 2, 4), ints("int16", 4, 3)], []),
    "vectors": (MatMul(trans_a=True), [floats(4), floats(4, 3)], []),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    op, inputs, constants = PRODUCTS[name]
    check_round_trip(*one(op, inputs, constants), exact=False)


@fast
def test_a_quantised_weight_stays_beside_its_product() -> None:
    """Stored the other way round: a Transpose between them would hide the weights from whoever fuses both."""
    builder = Builder("dense")
    x = builder.input("x", TensorType("float32", (2, 3, 4)))
    stored = [ints("int8", 5, 4), np.full(5, 0.5, np.float32), np.zeros(5, np.int8)]
    operands = [builder.constant(array, name) for array, name in zip(stored, ("w", "scale", "zero"), strict=True)]
    (w,) = builder.add(DequantizeLinear(0), operands, ["w_float"], name="w")
    builder.output(builder.add(MatMul(trans_b=True), [x, w], ["y"])[0])
    graph = builder.build()
    made = check_round_trip(graph, random_feeds(graph), optimised=False)
    assert kinds(made) == ["DequantizeLinear", "MatMul"]
    assert made.graph.node[0].attribute[0].i == 1


CONVOLUTIONS = {
    "channels last": (
        Conv((2, 1), (1, 2), (1, 0, 0, 2), 2, channels_last=True, activation=LeakyRelu(0.2)),
        [floats(1, 7, 9, 4)],
        [floats(6, 3, 2, 2), floats(6)],
    ),
    "one bias for all": (Conv((1,), (1,), (1, 1)), [floats(2, 3, 8)], [floats(4, 3, 3), floats(1)]),
    "bytes": (
        Conv(x_zero=5, w_zero=-1),
        [ints("uint8", 1, 3, 5, 5)],
        [ints("int8", 2, 3, 3, 3), ints("int32", 2)],
    ),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    op, inputs, constants = CONVOLUTIONS[name]
    check_round_trip(*one(op, inputs, constants), exact=False)


@pytest.mark.parametrize("spatial", [(9, 13), (10, 14), (8, 12)])
def test_transposed_convolutions_end_anywhere(spatial: tuple[int, int]) -> None:
    op = ConvTranspose(2, strides=(2, 3), before=(1, 1), spatial=spatial, activation=Relu())
    check_round_trip(*one(op, [floats(1, 4, 5, 5)], [floats(4, 3, 3, 3), floats(6)]), exact=False)


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("kind", ["ConvInputGrad", "ConvWeightGrad", "MaxPoolGrad"])
def test_gradients_of_windows(kind: str, is_last: bool) -> None:
    strides, pads = (2, 1), (1, 0, 1, 2)
    x, g, w = floats(2, 4, 7, 6), floats(2, 6, 4, 6), floats(6, 2, 3, 3)
    cases: dict[str, tuple[Op, list[Array]]] = {
        "ConvInputGrad": (ConvInputGrad(strides, (1, 1), (1, 0, 0, 0), groups=2, size=(7, 6)), [g, w]),
        "ConvWeightGrad": (ConvWeightGrad(strides, (1, 1), pads, groups=2, kernel=(3, 3)), [x, g]),
        "MaxPoolGrad": (MaxPoolGrad(strides, (1, 1), pads, kernel=(3, 3)), [floats(2, 4, 4, 6), x]),
    }
    op, arrays = cases[kind]
    if is_last:
        op = replace(op, channels_last=True)  # type: ignore[call-arg]
        arrays = [np.ascontiguousarray(np.moveaxis(array, 1, -1)) for array in arrays]
    check_round_trip(*one(op, arrays), exact=False)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gradients_of_functions(approximate: str) -> None:
    check_round_trip(*one(ReluGrad(), [floats(3, 4), floats(3, 4)]), exact=False)
    check_round_trip(*one(GeluGrad(approximate), [floats(3, 4), floats(3, 4)]), exact=False)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_weights_of_few_bits(bits: int, zeros: bool) -> None:
    packed = RANDOM.integers(0, 256, (6, 3, 32 * bits // 8)).astype(np.uint8)
    tables: list[Array] = [floats(6, 3)]
    if zeros:
        tables.append(RANDOM.integers(0, 2**bits, (6, 3)).astype(np.uint8))
    graph, feeds = one(MatMulNBits(90, bits, 32), [floats(2, 90)], [packed, *tables])
    again = pipeline.import_model(model_of(graph))
    same(evaluate(again, feeds)["y0"], evaluate(graph, feeds)["y0"], 0.0)


# ---- pools, movement, others ----------------------------------------------------------------------------------------

OTHERS = {
    "pool of channels last": (MaxPool((2, 2), (1, 1), (0, 1, 1, 0), (3, 3), channels_last=True), [floats(1, 8, 9, 3)]),
    "padding as large as the window": (MaxPool((2,), (1,), (0, 2), (2,)), [floats(1, 2, 7)]),
    "a mean that ends in the padding": (
        AveragePool((2, 2), (1, 1), (1, 0, 1, 1), (3, 3), False, (1, 1)),
        [floats(1, 2, 8, 6)],
    ),
    "backward slice": (Slice((4, 0), (-2, 1), (3, 2)), [floats(5, 3)]),
    "empty slice": (Slice((0, 0), (1, 1), (0, 2)), [floats(5, 3)]),
    "wide sum": (Add(wide=True), [ints("int8", 2, 3), ints("int16", 3)]),
    "sum over all axes of nothing": (ReduceSum((), True), [floats(2, 3)]),
    "wide total": (ReduceSum((1,), False, True), [ints("int8", 2, 3)]),
    "dequantised words": (Dequant(0.25, 3), [ints("int16", 5)]),
    "cast": (Cast("int64"), [floats(5)]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_operators(name: str) -> None:
    op, inputs = OTHERS[name]
    check_round_trip(*one(op, inputs), exact=False)


@pytest.mark.parametrize("channels", [1, 3])
def test_tables(channels: int) -> None:
    table = ints("int8", channels, 256)
    op, values = (Lookup(), table[0]) if channels == 1 else (Lookup(1), table)
    check_round_trip(*one(op, [ints("int8", 2, 3, 4)], [values]))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("parts", [1, 2])
def test_fourier_transforms(sign: int, parts: int) -> None:
    angles = 2 * np.pi * np.arange(8) / 16
    roots = np.stack([np.cos(angles), sign * np.sin(angles)], axis=-1).astype(np.float32)
    graph, feeds = one(FFT(0.5), [floats(3, 16, parts)], [roots])
    same(run(model_of(graph), feeds)["y0"], evaluate(graph, feeds)["y0"])


def test_interpolation_is_a_resize_or_what_it_stands_for() -> None:
    x = floats(1, 2, 4, 5)
    attributes = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    scales = {"s": np.asarray([1, 1, 2, 1.6], np.float32)}
    known = pipeline.import_model(model([node("Resize", "x - s", "y", **attributes)], {"x": x.shape}, ["y"], scales))
    made = check_round_trip(known, {"x": x})
    assert "Resize" in kinds(made)
    assert "ReduceSum" not in kinds(made)
    taps = np.asarray([[0, 3], [1, 1], [4, 0]], np.int32)
    made = check_round_trip(*one(Resize(3), [x], [taps, floats(3, 2)]), exact=False)
    assert "ReduceSum" in kinds(made)


# ---- recurrent layers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", recurrent.KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_cells_alone(kind: type[recurrent.Cells], seed: int) -> None:
    op, arrays = recurrent.cells(kind, np.random.default_rng(seed))
    graph, feeds = _cells(op, arrays)
    if getattr(op, "dynamic", False) or "R" not in graph.nodes[0].operands():
        with pytest.raises(CompileError, match=r"at each step|without their matrix product"):
            model_of(graph)
        return
    check_round_trip(graph, feeds, exact=False)


def _cells(op: Op, arrays: Sequence[Array | None]) -> tuple[Graph, dict[str, Array]]:
    builder, feeds = Builder("cells"), {}
    names = [""] * len(arrays)
    for at, (array, operand) in enumerate(zip(arrays, op.operands, strict=False)):
        if array is not None:
            names[at] = builder.input(operand.rstrip("?"), type_of(array))
            feeds[names[at]] = array
    for name in builder.add(op, names, list(op.results), name="cells"):
        builder.output(name)
    return builder.build(), feeds


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_layer_is_a_layer_again(kind: str) -> None:
    """Not the product of all steps, and a second one with a unit matrix."""
    gates = recurrent.GATES[kind]
    constants = {"w": floats(2, gates * 5, 4), "r": floats(2, gates * 5, 5), "b": floats(2, gates * 10)}
    layer = node(kind, "x w r b", "y yh", hidden_size=5, direction="bidirectional")
    graph = pipeline.import_model(model([layer], {"x": (7, 2, 4)}, ["y", "yh"], constants))
    made = check_round_trip(graph, random_feeds(graph), exact=False)
    assert kinds(made).count(kind) == 2
    assert "MatMul" not in kinds(made)
    assert "Gemm" not in kinds(made)


@fast
@pytest.mark.parametrize("is_known", [True, False])
def test_tuples_of_indices_are_long_in_onnx(is_known: bool) -> None:
    """Here they are as short as the shape allows."""
    tuples = np.array([[0, 1], [2, 3]], np.int32)
    inputs, constants = ([floats(3, 4)], [tuples]) if is_known else ([floats(3, 4), tuples], [])
    check_round_trip(*one(GatherND(), inputs, constants))


@fast
def test_tuples_that_say_where_to_write_are_long_in_onnx() -> None:
    check_round_trip(*one(ScatterND(), [floats(3, 4)], [np.array([[0, 1], [2, 3]], np.int32), floats(2)]))
