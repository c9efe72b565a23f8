"""The best of each block of products and the best of these: what ArgMax finds in all scores, whole and in tiles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.checks import Case, check_kernels, check_tiled, same
from tilewright.errors import Refusal
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, type_of
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.matmul import MatMul
from tilewright.passes.fit.split_constants import split_constants

RANDOM = np.random.default_rng(4)
HALVES = full_range(22, "int16", 5, "half_even")


def integers(words: int, length: int, block: int, dtype: str = "int8", bias: bool = True, rows: int = 2) -> Case:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a, b = (RANDOM.integers(low, high, (count, length), dtype, endpoint=True) for count in (rows, words))
    mul = RANDOM.integers(1 << 8, 1 << 12, words).astype(np.int32)
    each = RANDOM.integers(-5000, 5000, words).astype(np.int32)
    return ArgMaxMatMul(block, HALVES), [a, b, each if bias else None, mul, each if bias else None]


def floats(words: int, length: int, block: int, bias: bool) -> Case:
    a, b, c = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 1, length), (words, length), words))
    return ArgMaxMatMul(block), [a, b, c if bias else None]


def equal_words(dtype: str) -> Case:
    return ArgMaxMatMul(4), [np.ones((1, 8), dtype), np.ones((11, 8), dtype)]


CASES = [
    integers(40, 16, 8), integers(41, 7, 8, bias=False), integers(5, 3, 64), integers(30, 9, 4, "uint8"),
    floats(40, 37, 8, True), floats(13, 5, 4, False), equal_words("int8"), equal_words("float32"),
]  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize("case", CASES)
def test_tiles_give_what_the_whole_gives(case: Case) -> None:
    op, arrays = case
    check_tiled(op, arrays, {"j": 2, "d0": 1})


@pytest.mark.fast
@pytest.mark.parametrize(("op", "arrays"), CASES)
def test_the_best_block_has_the_word_that_argmax_finds(op: ArgMaxMatMul, arrays: list[Array | None]) -> None:
    best, place = op.numpy(*arrays)  # type: ignore[arg-type]
    scores = MatMul(trans_b=True, requant=op.requant).numpy(*arrays)
    same(BestBlock(op.block).numpy(best, place), ArgMax(scores.ndim - 1).numpy(scores))


@pytest.mark.in_turns(5)
def test_kernels_for_any_core() -> None:
    blocks: list[Case] = []
    for op, arrays in CASES:
        best, place = op.numpy(*arrays)
        blocks.append((BestBlock(op.block), [best, place]))  # type: ignore[attr-defined]
    missing = np.array([[1.0, np.nan, 5.0, np.nan]], np.float32)
    check_kernels([*CASES, *blocks, (BestBlock(3), [missing, np.arange(4, dtype=np.int32)[None]])])


def network(op: ArgMaxMatMul, arrays: list[Array | None]) -> Graph:
    builder = Builder("head")
    a, *constants = arrays
    assert a is not None
    names = [builder.input("a", type_of(a)), *("" if one is None else builder.constant(one) for one in constants)]
    builder.output(*builder.add(BestBlock(op.block), builder.add(op, names)))
    return builder.build()


@pytest.mark.fast
def test_constants_in_parts_give_what_the_whole_gives() -> None:
    op, arrays = integers(75, 16, 4)
    graph = network(op, arrays)  # type: ignore[arg-type]
    split = split_constants(graph, 400)
    assert [node.op.kind for node in split.nodes].count("ArgMaxMatMul") == 4
    feeds = {"a": arrays[0]}
    same(evaluate(split, feeds)[split.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])  # type: ignore[arg-type]


@pytest.mark.fast
def test_what_does_not_fit_is_refused() -> None:
    op, arrays = integers(40, 16, 8)
    kinds = op.bind([None if one is None else type_of(one) for one in arrays])
    with pytest.raises(Refusal, match="one value for each of 40 rows"):
        op.check({**kinds, "mul": type_of(np.ones(39, np.int32))})
    with pytest.raises(Refusal, match="blocks of 8 rows of B"):
        op.check({**kinds, "A": type_of(np.ones((1, 15), np.int8))})
    with pytest.raises(Refusal, match="places are"):
        BestBlock(8).check({"best": type_of(np.ones((1, 3))), "place": type_of(np.ones((1, 3)))})
