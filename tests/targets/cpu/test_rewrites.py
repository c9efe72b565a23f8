"""Rewrites of graphs for the processors of computers change no bit, and leave what they promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import default_rng

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops.concat import Concat
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.slice import Slice
from tilewright.ops.swish import Swish
from tilewright.ops.transpose import Transpose
from tilewright.passes import Pass, apply
from tilewright.passes.layout.transposed_factors import TRANSPOSED_FACTORS
from tilewright.passes.merge_equal import MERGE_EQUAL
from tilewright.passes.quantise_early import QUANTISE_EARLY
from tilewright.passes.tabulate import TABULATE_JOINED
from tilewright.targets.cpu.concat_slices import READ_SLICES
from tilewright.targets.cpu.followed import followed_pass, short_factors
from tilewright.targets.cpu.packed_forms import Block
from tilewright.targets.cpu.quantised_concat import QUANTISED_CONCATS
from tilewright.targets.cpu.quantised_slices import QUANTISED_SLICES, are_neighbours

pytestmark = pytest.mark.fast
SHAPE = (4, 40)
SCALE, ZERO = np.array(0.07, np.float32), np.array(3, np.int8)


def built(dtype: str, layers: Callable[[Builder, str], str]) -> tuple[Graph, dict[str, Array]]:
    builder, random = Builder("rewritten"), default_rng(4)
    x = builder.input("x", TensorType(dtype, SHAPE))
    builder.output(layers(builder, x))
    value = random.integers(-128, 128, SHAPE) if dtype == "int8" else random.normal(0, 3, SHAPE)
    return builder.build(), {"x": value.astype(dtype)}


def rewritten(step: Pass, graph: Graph, feeds: dict[str, Array]) -> list[str]:
    """The operators that are left, if they give the same."""
    made = apply(graph, (step,))
    before, after = evaluate(graph, feeds), evaluate(made, feeds)
    np.testing.assert_array_equal(after[made.outputs[0]], before[graph.outputs[0]])
    return [type(node.op).__name__ for node in made.nodes]


def quantised(builder: Builder, x: str) -> str:
    return builder.add(QuantizeLinear(), [x, builder.constant(SCALE, "scale"), builder.constant(ZERO, "zero")])[0]


def test_a_table_of_what_joins_again() -> None:
    def layers(builder: Builder, x: str) -> str:
        table = builder.constant(np.arange(256).astype(np.int8)[::-1].copy(), "table")
        (other,) = builder.add(Lookup(), [x, table])
        product = QLinearMul(1, 2, 123456789, full_range(34, "int8", 5, "half_even"))
        return builder.add(product, [x, other])[0]

    assert rewritten(TABULATE_JOINED, *built("int8", layers)) == ["Lookup"]


def test_a_table_of_a_curve() -> None:
    def layers(builder: Builder, x: str) -> str:
        (wide,) = builder.add(DequantizeLinear(), [x, builder.constant(SCALE, "s"), builder.constant(ZERO, "z")])
        return builder.add(Swish(), [wide])[0]

    assert rewritten(TABULATE_JOINED, *built("int8", layers)) == ["Lookup"]


def test_equal_nodes_are_merged() -> None:
    def layers(builder: Builder, x: str) -> str:
        parts = [builder.add(Transpose((1, 0)), [x])[0] for _ in range(2)]
        return builder.add(Concat(0), parts)[0]

    assert rewritten(MERGE_EQUAL, *built("int8", layers)) == ["Transpose", "Concat"]


def test_quantised_before_it_is_moved() -> None:
    def layers(builder: Builder, x: str) -> str:
        (part,) = builder.add(Slice((1, 0), (1, 1), (2, 40)), [x])
        (joined,) = builder.add(Concat(0), [part, x])
        return quantised(builder, builder.add(Transpose((1, 0)), [joined])[0])

    graph, feeds = built("float32", layers)
    assert rewritten(QUANTISE_EARLY, graph, feeds) == [
        "Slice",
        "QuantizeLinear",
        "QuantizeLinear",
        "Concat",
        "Transpose",
    ]
    early = apply(graph, (QUANTISE_EARLY,))
    left = rewritten(QUANTISED_SLICES, early, feeds)
    assert sorted(left) == ["Concat", "QuantisedSlice", "QuantizeLinear", "Transpose"]


def test_neighbours() -> None:
    assert are_neighbours(Slice((1, 0), (1, 1), (2, 40)), SHAPE)
    assert are_neighbours(Slice((1, 5), (1, 1), (1, 7)), SHAPE)
    assert not are_neighbours(Slice((0, 5), (1, 1), (2, 7)), SHAPE)
    assert not are_neighbours(Slice((0, 0), (2, 1), (2, 40)), SHAPE)


def test_a_transposed_factor() -> None:
    def layers(builder: Builder, x: str) -> str:
        return builder.add(MatMul(), [x, builder.add(Transpose((1, 0)), [x])[0]])[0]

    assert rewritten(TRANSPOSED_FACTORS, *built("int8", layers)) == ["MatMul"]


def test_caches_are_quantised_where_they_are_read() -> None:
    """A slice of them, and what is new."""

    def layers(builder: Builder, x: str) -> str:
        (part,) = builder.add(Slice((1, 0), (1, 1), (2, 40)), [x])
        new = builder.constant(default_rng(1).normal(0, 9, (1, 40)).astype(np.float32), "new")
        return quantised(builder, builder.add(Concat(0), [part, new])[0])

    graph, feeds = built("float32", layers)
    feeds["x"][1, :4] = [np.nan, np.inf, -np.inf, 1e30]
    assert rewritten(QUANTISED_CONCATS, apply(graph, (READ_SLICES,)), feeds) == ["QuantisedConcat"]


def product_of_bytes(builder: Builder, x: str) -> str:
    random = default_rng(2)
    operands: list[Array] = [
        random.integers(-90, 90, (40, 24)).astype(np.int8), random.integers(-900, 900, 24).astype(np.int32),
        random.integers(1 << 28, 1 << 29, 24).astype(np.int32) | 1,
    ]  # fmt: skip
    op = MatMul(requant=full_range(42, "int8", -5, "half_even"), a_zero=3)
    return builder.add(op, [x, *(builder.constant(array, "c") for array in operands)])[0]


def test_a_second_requantisation_is_computed_with_the_product() -> None:
    def layers(builder: Builder, x: str) -> str:
        mul = default_rng(3).integers(1 << 24, 1 << 25, 24).astype(np.int32)
        factors = [builder.constant(array, "f") for array in (mul, mul[::-1].copy())]
        requant = full_range(24, "int8", 7, "half_even")
        return builder.add(RequantShift(requant, 1), [product_of_bytes(builder, x), *factors])[0]

    assert rewritten(followed_pass(Block(8)), *built("int8", layers)) == ["PackedProduct"]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_sum_is_computed_with_the_product(is_first: bool) -> None:
    def layers(builder: Builder, x: str) -> str:
        other = builder.add(Slice((0, 4), (1, 1), (4, 24)), [x])[0]
        operands = [product_of_bytes(builder, x), other]
        op = QLinearAdd(1927407, 702548, 12345, full_range(21, "int8", 3, "half_even"))
        return builder.add(op, operands if is_first else operands[::-1])[0]

    assert rewritten(followed_pass(Block(8)), *built("int8", layers)) == ["Slice", "PackedProduct"]


def test_results_that_others_read_stay() -> None:
    def layers(builder: Builder, x: str) -> str:
        made = product_of_bytes(builder, x)
        builder.output(made)
        op = QLinearAdd(1927407, 702548, 12345, full_range(21, "int8", 3, "half_even"))
        return builder.add(op, [made, made])[0]

    assert rewritten(followed_pass(Block(8)), *built("int8", layers)) == ["MatMul", "QLinearAdd"]


@pytest.mark.parametrize("bits", [20, 26, 29])
def test_factors_are_shortened_until_32_bits_hold_sums(bits: int) -> None:
    random = default_rng(bits)
    mul, add = random.integers(1 << (bits - 1), 1 << bits, 50), random.integers(-(1 << 30), 1 << 30, 50)
    requant = full_range(bits, "int8", -4, "half_away")
    found = short_factors(requant, mul, add, "int8")
    assert found is not None
    x = np.arange(-128, 128)[:, None]
    np.testing.assert_array_equal(found[0](x, *found[1:]), requant(x, mul, add))
    assert np.abs(x * found[1] + found[2]).max() + (1 << found[0].shift >> 1) < 1 << 31
