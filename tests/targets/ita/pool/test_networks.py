"""Target itapool with its ITAs: what becomes heads and products there, and what that computes on the virtual SoC."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.passes.small import Small
from tests.targets.ita.transformers import Net, attention_model
from tilewright import targets
from tilewright.errors import CompileError, Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.pipeline import import_model, stage
from tilewright.program import compile_model
from tilewright.run.kernel_bench import Case, check
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.kernel import Kernel
from tilewright.target.settings import Settings
from tilewright.targets.ita.arithmetic import RELU, Activation, Head, Scale
from tilewright.targets.ita.pool.block import packed
from tilewright.targets.ita.pool.op import PoolHeads
from tilewright.targets.ita.pool.product_op import PoolProduct
from tilewright.targets.ita.pool.products import pool_product

ITAPOOL = targets.find("itapool")
RNG = np.random.default_rng(8)


def lowered(model: object, engines: str = "all", numerics: str = "hardware") -> Graph:
    settings = Settings(engines=(engines,), numerics=numerics)
    graph = stage(import_model(model), "itapool", "lowered", settings=settings)
    assert isinstance(graph, Graph)
    return graph


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes if not node.op.view]


def product_model(rows: int, inner: int, columns: int) -> object:
    net = Net((1, rows, inner))
    return net.model(net.linear(net.x, "y", inner, columns))


# ---- what becomes ITA's ----


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((128, 64, 4, 64, 0), ["PoolHeads", "MatMul"]),  # too few columns behind the heads
        ((64, 128, 3, 24, 7), ["PoolHeads", "PoolProduct"]),
        ((64, 64, 1, 64, 3), ["PoolHeads"]),  # the only head is projected on the way
    ],
)
def test_attention_is_heads_with_the_same_results(sizes: tuple[int, ...], wanted: list[str]) -> None:
    model = attention_model(*sizes)
    one, other = lowered(model), lowered(model, "cluster")
    assert kinds(one) == wanted
    assert "ItaSoftmax" in kinds(other)
    x = RNG.integers(-128, 128, (1, *sizes[:2])).astype(np.int8)
    a, b = (evaluate(graph, {"x": x})[graph.outputs[0]] for graph in (one, other))
    assert np.array_equal(a, b)


def test_exact_networks_and_usual_ones_stay_with_the_cores() -> None:
    """ITAPool's softmax has to be asked for."""
    model = attention_model(64, 64, 1, 64)
    for numerics in ("", "exact"):
        found = kinds(lowered(model, numerics=numerics))
        assert "PoolHeads" not in found
        assert "ItaSoftmax" not in found


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((32, 64, 128), "it has 32 rows: below 64, cores are faster"),
        ((64, 320, 128), "its rows have 320 elements: beyond 256, L1 has no room"),
        ((64, 64, 64), "it has 64 columns, for one ITA of ITAPool alone"),
    ],
)
def test_products_that_are_the_cores(sizes: tuple[int, int, int], reason: str) -> None:
    assert kinds(lowered(product_model(*sizes))) == ["MatMul"]
    settings = Settings(engines=("ita",), numerics="hardware")
    with pytest.raises(CompileError, match=reason):
        stage(import_model(product_model(*sizes)), "itapool", "mapped", settings=settings)


# ---- on the virtual SoC ----


@pytest.mark.parametrize("shape", [(), (64, 64)])
def test_products_with_a_vector_are_the_cores(shape: tuple[int, ...]) -> None:
    net = Small()
    rows = net.input("x", *shape[:-1], 64)
    graph = net.graph(net.add(MatMul(), rows, net.constant(integers("int8", 64))))
    with pytest.raises(Refusal, match="it multiplies by a vector"):
        pool_product(graph, graph.nodes[0])


@pytest.mark.in_turns(6)
def test_heads_and_products_agree_and_break_no_rule() -> None:
    """More heads than ITAs, of columns that fill no tile."""
    settings = Settings(numerics="hardware", time_limit=1.0)
    program = compile_model(attention_model(64, 128, 5, 24), target="itapool", settings=settings)
    checked = program.check()
    assert checked.first_difference is None
    done = checked.result.soc
    assert done is not None
    assert done.report.busy["ita"] > 256 * (5 * (8 + 2) + 2 * 14)
    simulator = Simulator("itapool")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
    simulator.load(read_elf(program.build_soc().build(program.random_inputs())))
    assert re.match(r"cycles \d+\noutput 0 fnv1a [0-9a-f]+\n$", simulator.run(100_000_000).stdout)


def kernel(stem: str) -> Kernel:
    return next(one for engine in ITAPOOL.engines for one in engine.kernels if one.stem == stem)


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def head_constants(heads: int, inner: int, width: int) -> list[Array]:
    parts = []
    for _ in range(heads):
        wq, wk, wv, wo = (integers("int8", *shape) for shape in ((inner, width),) * 3 + ((width, inner),))
        bq, bk, bv, bo = (RNG.integers(-9999, 9999, size) for size in (width, width, width, inner))
        parts.append(packed(Head(wq, wk, wv, wo, bq, bk, bv, bo, [])))
    return [np.stack(part) for part in zip(*parts, strict=True)]


def product_constants(blocks: int, inner: int) -> list[Array]:
    weights = np.pad(integers("int8", blocks, 64, inner), [(0, 0), (0, 0), (0, 128 - inner)])
    return [weights.reshape(blocks, -1), integers("int32", blocks, 64) // 2**18]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", [3, 192])
def test_kernels(cores: int) -> None:
    """Fewer queries than keys, bytes without a sign, rows that fill no block, several matrices; a relu."""
    scales = tuple(Scale(99, shift, 1) for shift in (16, 16, 16, 14, 13, 15))
    across = PoolHeads(scales, 128, 64, 70)
    relu = Activation(RELU, Scale(add=3))
    plain, clipped = PoolProduct(Scale(37, 15, 2), columns=130), PoolProduct(Scale(90, 15), relu, unsigned=True)
    queries, keys = integers("uint8", 5, 67), integers("int8", 64, 67)
    cases = [
        Case(kernel("pool_heads"), across, [queries, *head_constants(2, 128, 64), keys]),
        Case(kernel("pool_heads"), PoolHeads(scales), [integers("int8", 2, 64, 64), *head_constants(1, 64, 64)]),
        Case(
            kernel("pool_product"), plain,
            [integers("uint8", 2, 35, 33), *product_constants(3, 33)],
        ),
        Case(
            kernel("pool_product"), clipped,
            [integers("int8", 64, 64), *product_constants(1, 64)],
        ),
    ]  # fmt: skip
    check(cases, ITAPOOL, cores)
