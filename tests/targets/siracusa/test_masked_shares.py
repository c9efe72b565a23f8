"""Scores, mask and softmax of an attention in one kernel, and the pass that joins them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.siracusa.machine import SIRACUSA
from tests.targets.siracusa.random_cases import CORES, Draw
from tilewright.evaluate import evaluate
from tilewright.ir import Builder, Graph
from tilewright.kernel_bench import Case, check
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.requant import Requant, full_range
from tilewright.targets.siracusa.fuse_shares import FUSE_SHARES
from tilewright.targets.siracusa.masked_shares import KERNELS, MaskedShares
from tilewright.types import TensorType

TO_BYTES = full_range(16, "int8")


def operator(draw: Draw) -> MaskedShares:
    ln2, b, c = ((4, 5, 13), (19, 25, 334), (63, 85, 3770))[draw.size(3) - 1]
    out = {"out": Scaling(int(draw.between(1, 2**18)), 5, full_range(16, draw.byte()))} if draw.flag() else {}
    low = -int(draw.size(128))
    score = Scaling(int(draw.between(-900, 900)), int(draw.between(-(2**20), 2**20)), Requant(16, "int8", low, 120, 3))
    first, second = (Scaling(int(draw.between(-40_000, 90_000)), 77, TO_BYTES) for _ in range(2))
    masking = RequantizedAdd(first, second, Scaling(int(draw.between(20_000, 65_536)), 0, TO_BYTES))
    return MaskedShares(score, masking, iSoftmax(ln2=ln2, b=b, c=c, **out))  # type: ignore[arg-type]


def case(seed: int) -> Case:
    draw = Draw(seed)
    heads, rows, columns = draw.size(5), draw.size(12), draw.size(70)
    mask = (rows, columns) if draw.flag() else (1, 1, columns)
    arrays = [draw.array("int8", heads, rows, 4), draw.array("int8", heads, columns, 4), draw.array(draw.byte(), *mask)]
    return Case(KERNELS[0], operator(draw), arrays)


@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    cases = [made for made in map(case, range(40)) if KERNELS[0].objection(made.op, made.types) is None]
    assert len(cases) >= 30
    check(cases, SIRACUSA, cores)


def attention(length: int = 4, heads_of_mask: int = 1) -> Graph:
    op, builder = operator(Draw(3)), Builder("attention")
    a, b = (builder.input(name, TensorType("int8", (2, 3, 5, length))) for name in "ab")
    mask = builder.input("mask", TensorType("int8", (heads_of_mask, 5, 5)))
    mul, add = (builder.constant(np.array([value], np.int32)) for value in (op.score.mul, op.score.add))
    (scores,) = builder.add(MatMul(trans_b=True, requant=op.score.requant), [a, b, "", mul, add])
    (masked,) = builder.add(op.masking, [scores, mask])
    (shares,) = builder.add(op.softmax, [masked])
    builder.output(shares)
    return builder.build()


def test_scores_mask_and_softmax_are_joined_and_mean_the_same() -> None:
    graph = attention()
    joined = FUSE_SHARES.run(graph)
    assert [node.op.kind for node in joined.nodes] == ["MaskedShares"]
    draw = Draw(8)
    inputs = {name: draw.array("int8", *graph.types[name].shape) for name in graph.inputs}
    found, wanted = (evaluate(made, inputs)[made.outputs[0]] for made in (joined, graph))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("graph", [attention(length=8), attention(heads_of_mask=3)], ids=["long rows", "own masks"])
def test_what_the_kernel_does_not_take_stays(graph: Graph) -> None:
    assert FUSE_SHARES.run(graph).nodes == graph.nodes


def test_scores_that_something_else_reads_stay() -> None:
    graph = attention()
    scores = graph.nodes[0].key
    kept = replace(graph, outputs=(*graph.outputs, scores), output_names=(*graph.output_names, "scores"))
    assert FUSE_SHARES.run(kept).nodes == kept.nodes
