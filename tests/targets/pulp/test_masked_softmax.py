"""Scores, mask and softmax of an attention in one kernel, and the pass that joins them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.dialect import exponentials
from tilewright.targets.pulp.fuse_masked_softmax import FUSE_MASKED_SOFTMAX
from tilewright.targets.pulp.masked_softmax import kernels
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax, score_requant
from tilewright.targets.pulp.score_tables import clipped_scores, course, masks

CLIPPING, TABLES = kernels(SIRACUSA.agents.cores)
TO_BYTES = full_range(16, "int8")
PLAIN_SUM = Scaling(65536, 0, TO_BYTES)
SOFTMAXES = ((4, 5, 13), (8, 11, 66), (12, 16, 128), (19, 25, 334), (63, 85, 3770), (200, 270, 30_000))
"""From exponentials that are soon 0 to large ones that never are."""


def softmax(draw: Draw) -> iSoftmax:
    ln2, b, c = SOFTMAXES[draw.size(len(SOFTMAXES)) - 1]
    if not draw.flag():
        return iSoftmax(ln2=ln2, b=b, c=c)
    return iSoftmax(ln2=ln2, b=b, c=c, out=Scaling(int(draw.between(1, 2**18)), 5, full_range(16, draw.byte())))


def operator(draw: Draw) -> MaskedSoftmax:
    """With any sum of scores and mask."""
    low = -int(draw.size(128))
    score = Scaling(int(draw.between(-900, 900)), int(draw.between(-(2**20), 2**20)), Requant(16, "int8", low, 120, 3))
    first, second = (Scaling(int(draw.between(-40_000, 90_000)), 77, TO_BYTES) for _ in range(2))
    masking = RequantizedAdd(first, second, Scaling(int(draw.between(20_000, 65_536)), 0, TO_BYTES))
    return MaskedSoftmax(score, masking, softmax(draw))


def clipping_operator(draw: Draw, length: int) -> MaskedSoftmax:
    """With a sum that only saturates."""
    largest = int(draw.one_of(60, 300, 1000, 4000, -700)) * 4 // length or 1  # type: ignore[call-overload]
    score = Scaling(largest, 0 if draw.flag() else int(draw.between(-(2**20), 2**20)), TO_BYTES)
    first, second = (Scaling(int(draw.one_of(32_764, 65_536, 20_000)), 0, TO_BYTES) for _ in range(2))  # type: ignore[call-overload]
    return MaskedSoftmax(score, RequantizedAdd(first, second, PLAIN_SUM), softmax(draw))


def mask(draw: Draw, rows: int, columns: int, dtype: str = "int8") -> Array:
    """None, all, a triangle, a window, a piece at the start or the end, holes, or any bytes; not always as deep."""
    row, column = np.ogrid[:rows, :columns]
    low, first, last = int(draw.one_of(-128, -20)), draw.size(columns), draw.size(columns)  # type: ignore[call-overload]
    hidden = draw.one_of(
        False & (row + column > 0), (row + column) >= 0, column > row, (column > row) | (column < row - 9),
        (column < first) & (row >= 0), (column >= last) & (row >= 0), draw.array("int8", rows, columns) < 0,
    )  # fmt: skip
    if draw.size(8) == 1:
        return draw.array(dtype, rows, columns)
    depth = low + 9 * (column % 4 == 2) if draw.size(4) == 1 else low
    return np.where(np.asarray(hidden), depth if dtype == "int8" else -depth, 0).astype(dtype)


def case(seed: int) -> Case:
    draw = Draw(seed)
    heads, rows, columns = draw.size(5), draw.size(12), draw.size(70)
    shape = (rows, columns) if draw.flag() else (1, 1, columns)
    arrays = [
        draw.array("int8", heads, rows, 4),
        draw.array("int8", heads, columns, 4),
        draw.array(draw.byte(), *shape),
    ]
    return Case(TABLES, operator(draw), arrays)


def clipping_case(seed: int) -> Case:
    draw = Draw(seed)
    heads, rows, columns, length = draw.size(20), draw.size(12), draw.size(70), int(draw.one_of(4, 4, 8, 20, 64))  # type: ignore[call-overload]
    made = mask(draw, rows, columns, draw.byte())
    spread = int(draw.one_of(10, 128))  # type: ignore[call-overload]
    a, b = (draw.between(-spread, spread - 1, heads, n, length).astype(np.int8) for n in (rows, columns))
    return Case(CLIPPING, clipping_operator(draw, length), [a, b, made if draw.flag() else made[:1]])


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("cores", CORES)
def test_kernel_by_tables(cores: int) -> None:
    cases = [made for made in map(case, range(40)) if TABLES.unsupported_reason(made.op, made.types) is None]
    assert len(cases) >= 30
    check(share(cases, cores), SIRACUSA, cores)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernel_that_clips(cores: int) -> None:
    """It also computes what others are faster for."""
    reasons = {made: CLIPPING.unsupported_reason(made.op, made.types) for made in map(clipping_case, range(90))}
    cases = [made for made, why in reasons.items() if why is None or "too few" in why or "faster" in why]
    assert len(cases) >= 80
    check(share(cases, cores), SIRACUSA, cores)


def test_cases_take_every_way() -> None:
    """Products of 16 bits or not, short and long rows, exponentials that are soon 0 or not."""
    options = Counter[tuple[bool, bool, bool]]()
    for made in map(clipping_case, range(90)):
        op, length = made.op, made.types["A"].shape[-1]
        assert isinstance(op, MaskedSoftmax)
        found = score_requant(op.score, length)
        assert found is not None
        is_clipped = clipped_scores(found, length, tuple(range(found.top + 1))) is not None
        options[is_clipped, length > 4, course(op.softmax).gone < 100] += 1
    assert len(options) == 8
    assert min(options.values()) >= 3


def attention(length: int = 4, heads_of_mask: int = 1, out: Scaling | None = None) -> Graph:
    op, builder = operator(Draw(3)), Builder("attention")
    a, b = (builder.input(name, TensorType("int8", (2, 3, 5, length))) for name in "ab")
    given = builder.input("mask", TensorType("int8", (heads_of_mask, 5, 5)))
    mul, add = (builder.constant(np.array([value], np.int32)) for value in (op.score.mul, op.score.add))
    (scores,) = builder.add(MatMul(trans_b=True, requant=op.score.requant), [a, b, "", mul, add])
    (masked,) = builder.add(replace(op.masking, out=out or op.masking.out), [scores, given])
    (shares,) = builder.add(op.softmax, [masked])
    builder.output(shares)
    return builder.build()


@pytest.mark.parametrize(
    "graph", [attention(), attention(out=PLAIN_SUM), attention(length=24, out=PLAIN_SUM)],
    ids=["by tables", "clipping", "long rows"],
)  # fmt: skip
def test_scores_mask_and_softmax_are_joined_and_mean_the_same(graph: Graph) -> None:
    joined = FUSE_MASKED_SOFTMAX.run(graph)
    assert [node.op.kind for node in joined.nodes] == ["MaskedSoftmax"]
    draw = Draw(8)
    inputs = {name: draw.array("int8", *graph.types[name].shape) for name in graph.inputs}
    found, wanted = (evaluate(made, inputs)[made.outputs[0]] for made in (joined, graph))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "graph",
    [
        attention(length=8), attention(length=6, out=PLAIN_SUM), attention(length=36, out=PLAIN_SUM),
        attention(heads_of_mask=3),
    ],
    ids=["long rows by tables", "rows that are no words", "many bytes", "own masks"],
)  # fmt: skip
def test_what_no_kernel_takes_stays(graph: Graph) -> None:
    assert FUSE_MASKED_SOFTMAX.run(graph).nodes == graph.nodes


def test_scores_that_something_else_reads_stay() -> None:
    graph = attention()
    scores = graph.nodes[0].key
    kept = replace(graph, outputs=(*graph.outputs, scores), output_names=(*graph.output_names, "scores"))
    assert FUSE_MASKED_SOFTMAX.run(kept).nodes == kept.nodes


@pytest.mark.fast
@pytest.mark.parametrize("numbers", SOFTMAXES)
def test_small_exponentials_are_bounded_by_those_that_are_nearer(numbers: tuple[int, int, int]) -> None:
    ln2, b, c = numbers
    made = iSoftmax(ln2=ln2, b=b, c=c)
    nearest_first, found = exponentials(made)[::-1], course(made)
    assert not any(nearest_first[found.gone :])
    assert nearest_first[found.gone - 1] > 0
    for distance in range(found.quiet, found.gone):
        one = nearest_first[distance]
        assert 16 * one <= nearest_first[0]
        assert max(nearest_first[distance:]) <= one + (one * found.rise >> 8) + 1


def test_masks_are_what_masking_does() -> None:
    op = MaskedSoftmax(
        Scaling(900, 0, TO_BYTES), RequantizedAdd(PLAIN_SUM, Scaling(200_000, 0, TO_BYTES), PLAIN_SUM), iSoftmax()
    )
    entries = masks(op, 4, "int8")
    assert entries is not None
    scores = np.arange(-128, 128, dtype=np.int32)
    for byte, entry in zip(range(-128, 128), entries, strict=True):
        least, most, add, highest = entry.to_bytes(4, "little")
        wanted = op.masking.numpy(scores, np.full(256, byte, np.int32)).astype(int) + 128
        np.testing.assert_array_equal((np.clip(scores + 128, least, most) + add) % 256, wanted)
        assert highest == wanted.max()


@pytest.mark.fast
def test_sums_that_are_rounded_are_no_clipping() -> None:
    halved = Scaling(32_768, 0, TO_BYTES)
    assert (
        masks(
            MaskedSoftmax(Scaling(900, 0, TO_BYTES), RequantizedAdd(PLAIN_SUM, PLAIN_SUM, halved), iSoftmax()),
            4,
            "int8",
        )
        is None
    )
