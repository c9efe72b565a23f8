"""What ITA computes in place of what a network says: near, with the softmax in the operator's type."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.targets.ita.transformers import attention_model, feed_forward_model, linear_model
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.passes import apply
from tilewright.pipeline import import_model, stage
from tilewright.target.settings import Settings
from tilewright.targets.ita.attention import ItaSoftmax
from tilewright.targets.ita.gelu import ItaGelu, gelu_fit
from tilewright.targets.ita.numerics import ITA_NUMERICS
from tilewright.targets.ita.short_sums import short_sum

RNG = np.random.default_rng(5)
SHARES = full_range(24, "uint8", 0, "half_even")


def quantised(model: object, numerics: str) -> Graph:
    graph = stage(import_model(model), "snitch", "quantised", settings=Settings(numerics=numerics))
    assert isinstance(graph, Graph)
    return graph


def results(graph: Graph, x: np.ndarray) -> np.ndarray:
    return evaluate(graph, {"x": x})[graph.outputs[0]].astype(np.int64)


def test_factors_of_8_bits() -> None:
    exact, ours = (quantised(linear_model(), numerics) for numerics in ("exact", "hardware"))
    (node,) = ours.nodes
    assert isinstance(node.op, MatMul)
    assert node.op.requant is not None
    assert node.op.requant.rounding == "half_up"
    assert 0 < ours.constants[node.operands()["mul"]].item() <= 255
    x = RNG.integers(-128, 128, (1, 8, 96)).astype(np.int8)
    apart = np.abs(results(ours, x) - results(exact, x))
    assert apart.max() <= 1
    (rounded,) = ours.numerics_records
    assert rounded.native
    assert apart.mean() <= rounded.share < 0.3


def test_the_softmax_is_ita_s_and_near() -> None:
    model = attention_model(64, 64, heads=2, width=64)
    exact, ours = (quantised(model, numerics) for numerics in ("exact", "hardware"))
    kinds = [type(node.op) for node in ours.nodes]
    assert kinds.count(ItaSoftmax) == 1
    assert QLinearSoftmax not in kinds
    assert any("is ITA's" in note for note in ours.notes)
    x = RNG.integers(-128, 128, (1, 64, 64)).astype(np.int8)
    a, b = results(ours, x), results(exact, x)
    assert np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1] > 0.97
    assert np.abs(a - b).max() > 0, "it is another softmax"


def test_queries_keys_and_values_are_centred() -> None:
    """Where the network has zero points for them, and everywhere else it keeps them."""
    model = attention_model(64, 64, heads=2, width=64, zero=3)
    exact, ours = (quantised(model, numerics) for numerics in ("exact", "hardware"))
    assert [type(node.op) for node in ours.nodes].count(ItaSoftmax) == 1
    zeros = [node.op.requant.zero_point for node in ours.nodes if isinstance(node.op, MatMul) and node.op.requant]
    assert zeros == [0, 0, 0, 0, 3, 3]
    x = RNG.integers(-128, 128, (1, 64, 64)).astype(np.int8)
    a, b = results(ours, x), results(exact, x)
    assert np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1] > 0.97


def test_scores_with_a_bias_stay_exact() -> None:
    """ITA has none for them."""
    builder = Builder("net")
    queries, keys, values = (builder.input(name, TensorType("int8", (64, 64))) for name in "qkv")
    table = builder.constant(np.rint(2.0**24 * np.exp(-np.arange(256) / 8)).astype(np.int32), "table")
    bias = builder.constant(RNG.integers(-9999, 9999, 64).astype(np.int32), "bias")
    mul = builder.constant(np.array([2**20], np.int32), "mul")
    product = MatMul(trans_b=True, requant=full_range(30, "int8", 0, "half_even"))
    for added in ("", bias):
        (scores,) = builder.add(product, [queries, keys, added, mul])
        (shares,) = builder.add(QLinearSoftmax(axis=1, numerator=255 << 24, requant=SHARES), [scores, table])
        (mixed,) = builder.add(replace(product, trans_b=False), [shares, values, "", mul])
        builder.output(mixed)
    made = apply(builder.build(), (ITA_NUMERICS,))
    assert [type(node.op) for node in made.nodes] == [MatMul, ItaSoftmax, MatMul, MatMul, QLinearSoftmax, MatMul]


def test_columns_get_one_scale() -> None:
    builder = Builder("net")
    builder.input("x", TensorType("int8", (8, 96)))
    w = builder.constant(RNG.integers(-127, 128, (96, 32)).astype(np.int8), "w")
    c = builder.constant(RNG.integers(-999, 999, 32).astype(np.int32), "c")
    mul = builder.constant(RNG.integers(2**29, 2**30, 32).astype(np.int32), "mul")
    builder.output(builder.add(MatMul(requant=full_range(40, "int8", 2, "half_even")), ["x", w, c, mul])[0])
    graph = builder.build()
    made = apply(graph, (ITA_NUMERICS,))
    (node,) = made.nodes
    assert made.constants[node.operands()["mul"]].size == 1
    assert any("one scale for all columns" in note for note in made.notes)
    x = RNG.integers(-128, 128, (8, 96)).astype(np.int8)
    assert np.abs(results(made, x) - results(graph, x)).max() <= 3


@pytest.mark.parametrize("zero", [0, -20])
def test_gelu_is_ita_s_polynomial(zero: int) -> None:
    model = feed_forward_model(64, 128, zero)
    exact, ours = (quantised(model, numerics) for numerics in ("exact", "hardware"))
    assert [type(node.op) for node in ours.nodes] == [MatMul, ItaGelu, MatMul]
    x = RNG.integers(-128, 128, (1, 64, 64)).astype(np.int8)
    a, b = results(ours, x), results(exact, x)
    assert np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1] > 0.99
    lowered = stage(import_model(model), "snitch", "lowered", settings=Settings(numerics="hardware"))
    assert [node.op.kind for node in lowered.nodes] == ["TilesOfRows", "ItaLinear", "ItaLinear", "RowsOfTiles"]
    assert np.array_equal(results(lowered, x), a)
    by_cores = stage(
        import_model(model), "snitch", "lowered", settings=Settings(engines=("cluster",), numerics="hardware")
    )
    assert "Lookup" in [node.op.kind for node in by_cores.nodes]
    assert np.array_equal(results(by_cores, x), a)


def test_which_tables_are_gelu() -> None:
    x = np.arange(-128, 128)
    gelu = np.array([0.5 * v * (1 + math.erf(v / 2**0.5)) for v in (x - 9) / 30])
    found = gelu_fit(np.clip(np.rint(gelu * 28) - 50, -128, 127).astype(np.int8), 9, -50)
    assert found is not None
    assert found.step == pytest.approx(1 / 30, rel=0.03)
    assert found.result == pytest.approx(1 / 28, rel=0.03)
    for other in (np.maximum(x, 0), np.tanh(x / 30) * 100, x, -x):
        assert gelu_fit(np.clip(np.rint(other), -128, 127).astype(np.int8), 0, 0) is None


@pytest.mark.parametrize(("a", "b", "offset"), [(2062379, 3016902, 0), (4000000, 300001, 555555), (70000, 70000, -9)])
def test_sums_with_short_factors(a: int, b: int, offset: int) -> None:
    op = QLinearAdd(a, b, offset, full_range(22, "int8", 0, "half_even"))
    new = short_sum(op)
    values = np.arange(-128, 128).astype(np.int8)
    exact, ours = (one.numpy(values[:, None], values[None, :]).astype(int) for one in (op, new))
    assert np.abs(exact - ours).max() <= 1
    assert np.mean(exact != ours) < 0.2
