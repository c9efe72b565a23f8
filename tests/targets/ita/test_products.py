"""What of the typed graph ITA computes: exactly, or not at all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.e2e.test_peer_integer import load
from tests.support import dialect
from tests.support.networks import those_there
from tests.support.stand_ins import Network, network_id
from tilewright.errors import Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import TensorType
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.matmul import MatMul
from tilewright.passes import apply
from tilewright.pipeline import stage
from tilewright.targets.ita.arithmetic import FIRST_SOFTMAX, RELU, SOFTMAX, Scale
from tilewright.targets.ita.attention import ItaAttend, ItaSoftmax
from tilewright.targets.ita.heads import ATTENTION_ON_ITA, attended
from tilewright.targets.ita.linear import ItaLinear
from tilewright.targets.ita.products import PRODUCTS_ON_ITA, STAY_IN_TILES, product
from tilewright.targets.ita.requantising import fitted, nearest
from tilewright.targets.ita.tiling import ItaRows, ItaTiles

RNG = np.random.default_rng(2)


# ---- requantisations ----


def agrees(requant: Requant, mul: list[int], add: list[int] | None, bias: list[int]) -> bool:
    """Whether what was found gives the same for totals of every size."""
    columns = len(bias)
    muls, adds = np.array(mul), None if add is None else np.array(add)
    found = fitted(requant, muls, adds, np.array(bias))
    assert not isinstance(found, str), found
    reach = 300 * (1 << requant.shift) // max(1, min(mul)) + abs(np.array(bias)).max()
    sums = np.concatenate(
        [RNG.integers(-reach, reach + 1, (4000, columns)), np.arange(-3000, 3000)[:, None] + [0] * columns]
    )
    wanted = requant(sums + np.array(bias), muls, adds)
    got = found.activation(found.scale(sums + found.bias))
    return bool(np.array_equal(got, wanted))


@pytest.mark.parametrize(
    ("shift", "mul", "add", "zero"),
    [
        (8, [93], None, 0),
        (20, [93 << 7], None, -5),  # powers of two go away
        (7, [128], None, 3),  # and the shift with them
        (0, [255], None, 0),
        (7, [128 * 3], [100], 3),
        (9, [77], [77 * 13], 0),  # a bias times the factor
        (9, [77], [1000], 4),  # any one summand is a bias and some steps behind the shift
        (12, [255], [-98765], -100),
        (14, [251 << 3], [123457], 0),
        (11, [1], [5, -3000, 77], 0),  # without a factor, every column its own
        (10, [45], [45 * 7, -45 * 900, 0], 2),  # or multiples of it
    ],
)
def test_what_ita_requantises(shift: int, mul: list[int], add: list[int] | None, zero: int) -> None:
    bias = [0, 4000, -777] if add is None or len(add) == 3 else [500]
    assert agrees(full_range(shift, "int8", zero), mul, add, bias)


@pytest.mark.parametrize("zero", [0, 7])
def test_results_that_are_clipped_at_the_zero_point_are_a_relu(zero: int) -> None:
    requant = Requant(9, "int8", zero, 127, zero)
    assert agrees(requant, [93], None, [40, -4000])
    found = fitted(requant, np.array([93]), None, np.zeros(1, np.int64))
    assert not isinstance(found, str)
    assert found.activation.kind == RELU


@pytest.mark.parametrize(
    ("requant", "mul", "add", "bias", "reason"),
    [
        (full_range(20, "int8"), [257], None, [0], "its factor 257 is above 255"),
        (full_range(20, "int8"), [3, 5], None, [0, 0], "its channels have different factors"),
        (full_range(20, "uint8"), [3], None, [0], "results are uint8"),
        (full_range(20, "int8", 0, "half_even"), [3], None, [0], "its rounding is half_even"),
        (full_range(20, "int8"), [-3], None, [0], "a factor is -3"),
        (full_range(20, "int8"), [3], [1, 2], [0, 0], "what is added to its products is no multiple"),
        (full_range(20, "int8"), [3], None, [1 << 23], "its biases reach 8388608, and ITA's have 24 bits"),
        (Requant(9, "int8", -100, 100), [3], None, [0], "results are clipped to -100 and 100"),
        (Requant(9, "int8", -3, 127, -3), [3], None, [0], "results are clipped to -3 and 127"),
    ],
)
def test_what_ita_does_not_requantise(
    requant: Requant, mul: list[int], add: list[int] | None, bias: list[int], reason: str
) -> None:
    found = fitted(requant, np.array(mul), None if add is None else np.array(add), np.array(bias))
    assert isinstance(found, str)
    assert found.startswith(reason)


@pytest.mark.parametrize("scale", [0.9, 0.01, 1 / 3, 2.0**-13, 0.00077, 200.0])
def test_the_nearest_scale(scale: float) -> None:
    found = nearest(scale)
    assert 128 <= found.multiplier <= 255
    assert abs(found.multiplier / 2**found.shift / scale - 1) < 1 / 255


# ---- products ----


def graph_of(rows: int, sizes: list[int], a_zero: int = 0, factor: int = 93, dtype: str = "int8") -> Graph:
    """Layers one after the other, with biases."""
    builder = Builder("net")
    builder.input("x", TensorType(dtype, (2, rows, sizes[0])))
    tensor = "x"
    for inner, columns in pairwise(sizes):
        w = builder.constant(RNG.integers(-128, 128, (inner, columns)).astype(np.int8), "w")
        c = builder.constant(RNG.integers(-9999, 9999, columns).astype(np.int32), "c")
        mul = builder.constant(np.array([factor << 4], np.int32), "mul")
        op = MatMul(a_zero=a_zero, requant=full_range(19, dtype, a_zero))
        (tensor,) = builder.add(op, [tensor, w, c, mul])
    builder.output(tensor)
    return builder.build()


def values(graph: Graph, **given: np.ndarray) -> np.ndarray:
    return evaluate(graph, given)[graph.outputs[0]]


@pytest.mark.parametrize(
    ("rows", "sizes", "zero"), [(64, [64, 64], 0), (100, [96, 70, 130], 0), (33, [40, 200, 10], -9)]
)
def test_products_become_ita_s_and_stay_the_same(rows: int, sizes: list[int], zero: int) -> None:
    graph = graph_of(rows, sizes, zero)
    made = apply(graph, (PRODUCTS_ON_ITA, STAY_IN_TILES))
    kinds = [type(node.op) for node in made.nodes]
    assert kinds == [ItaTiles, *[ItaLinear] * (len(sizes) - 1), ItaRows]
    x = RNG.integers(-128, 128, (2, rows, sizes[0])).astype(np.int8)
    assert np.array_equal(values(graph, x=x), values(made, x=x))


def test_products_of_bytes_without_a_sign() -> None:
    graph = graph_of(70, [100, 64, 96], 31, dtype="uint8")
    made = apply(graph, (PRODUCTS_ON_ITA, STAY_IN_TILES))
    assert [type(node.op) for node in made.nodes] == [ItaTiles, ItaLinear, ItaLinear, ItaRows]
    x = RNG.integers(0, 256, (2, 70, 100)).astype(np.uint8)
    assert np.array_equal(values(graph, x=x), values(made, x=x))


CCT = those_there(*(f"peer/Models/CCT/Int/{name}/network.onnx" for name in ("ICCT", "ICCT_ITA")))


@pytest.mark.parametrize(
    ("network", "taken"), [(dialect.transformer, 6), *((path, 7) for path in CCT)],
    ids=lambda one: str(one) if isinstance(one, int) else network_id(one),
)  # fmt: skip
def test_transformers_of_the_dialect(network: Network, taken: int) -> None:
    """All products with constants, but those that cannot; those of scores and values have none."""
    imported, given, _ = load(network)
    graph = stage(imported, "generic", "lowered")
    made = apply(graph, (PRODUCTS_ON_ITA, STAY_IN_TILES))
    products = [node for node in graph.nodes if isinstance(node.op, MatMul) and node.inputs[1] in graph.constants]
    left = [node for node in made.nodes if isinstance(node.op, MatMul) and node.inputs[1] in made.constants]
    assert sum(isinstance(node.op, ItaLinear) for node in made.nodes) == len(products) - len(left) == taken
    for node in left:
        with pytest.raises(Refusal, match="its factor"):
            product(made, node)
    assert np.array_equal(values(graph, **given), values(made, **given))


def test_other_products_stay() -> None:
    graph = graph_of(64, [64, 64], factor=1001)
    assert [type(node.op) for node in apply(graph, (PRODUCTS_ON_ITA, STAY_IN_TILES)).nodes] == [MatMul]
    with pytest.raises(Refusal, match="its factor 16016 has the odd part 1001"):
        product(graph, graph.nodes[0])


def test_long_rows_stay() -> None:
    graph = graph_of(64, [1024, 64])
    with pytest.raises(Refusal, match="its rows have 1024 elements, ITA's accumulators have room for 960"):
        product(graph, graph.nodes[0])


# ---- attention ----


def attention_graph(keys: int, width: int, softmax: ItaSoftmax | ITAPartialMax) -> Graph:
    builder = Builder("net")
    for name in "qkv":
        builder.input(name, TensorType("int8", (1, 3, keys, width)))
    mul = builder.constant(np.array([101], np.int32), "mul")
    (scores,) = builder.add(MatMul(trans_b=True, requant=full_range(17, "int8")), ["q", "k", "", mul])
    (shares,) = builder.add(softmax, [scores])
    (mixed,) = builder.add(MatMul(requant=full_range(14, "int8", 3)), [shares, "v", "", mul])
    builder.output(mixed)
    return builder.build()


@pytest.mark.parametrize(("keys", "width"), [(64, 64), (128, 40), (192, 100)])
def test_attention_becomes_ita_s_and_stays_the_same(keys: int, width: int) -> None:
    graph = attention_graph(keys, width, ItaSoftmax())
    made = apply(graph, (ATTENTION_ON_ITA,))
    assert sum(isinstance(node.op, ItaAttend) for node in made.nodes) == 1
    assert not any(isinstance(node.op, MatMul) for node in made.nodes)
    given = {name: RNG.integers(-128, 128, (1, 3, keys, width)).astype(np.int8) for name in "qkv"}
    assert np.array_equal(values(graph, **given), values(made, **given))


def test_keys_that_fill_no_tile_stay() -> None:
    graph = attention_graph(100, 64, ItaSoftmax())
    with pytest.raises(Refusal, match="100 keys are no multiple of 64, and ITA has no mask"):
        attended(graph, graph.nodes[-1])


def test_the_softmax_of_the_dialect_is_that_of_the_first_generation_only() -> None:
    graph = attention_graph(64, 64, ITAPartialMax(512, 16))
    assert attended(graph, graph.nodes[-1], FIRST_SOFTMAX).op == ItaAttend(
        Scale(101, 17), Scale(101, 14, 3), FIRST_SOFTMAX
    )
    with pytest.raises(Refusal, match="is not ITA's softmax of a product"):
        attended(graph, graph.nodes[-1], SOFTMAX)
