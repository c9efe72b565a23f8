"""Attention of masked scores in one kernel, and the pass that joins its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tests.targets.pulp.test_masked_softmax import (
    PLAIN_SUM,
    TO_BYTES,
    attention,
    clipping_case,
    clipping_operator,
    mask,
)
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.types import TensorType
from tilewright.ops._scaling import Scaling
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case, check
from tilewright.targets.pulp.attention_operator import MaskedAttention
from tilewright.targets.pulp.fuse_masked_softmax import FUSE_MASKED_ATTENTION, FUSE_MASKED_SOFTMAX
from tilewright.targets.pulp.masked_attention import ROWS_STACK, kernels, most_of_row
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax

QUADS, KERNEL = kernels(SIRACUSA.agents.cores)


def case(seed: int) -> Case:
    """Shares that are 0 where nothing is shared, as they must be."""
    made, draw = clipping_case(seed), Draw(seed + 1000)
    shares = made.op
    assert isinstance(shares, MaskedSoftmax)
    _, keys, _ = made.arrays
    assert keys is not None
    out = Scaling(int(draw.between(1, 2**16)), 5, TO_BYTES) if draw.flag() else iSoftmax().out
    shares = replace(shares, softmax=replace(shares.softmax, out=out))
    values = draw.array("int8", *keys.shape[:-1], 4 * draw.size(5))
    mix = Scaling(
        int(draw.between(-20_000, 20_000)), int(draw.between(-(2**20), 2**20)), replace(TO_BYTES, zero_point=3)
    )
    perm = (1, 0, 2) if draw.flag() else ()
    return Case(KERNEL, MaskedAttention(shares, mix, perm), [*made.arrays, values])


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernel(cores: int) -> None:
    reasons = {made: KERNEL.unsupported_reason(made.op, made.types) for made in map(case, range(90))}
    cases = [made for made, why in reasons.items() if why is None or "faster" in why]
    assert len(cases) >= 60
    check(share(cases, cores), SIRACUSA, cores)


def quads_case(seed: int) -> Case:
    """Rows of one word, four and more of them, with whole words of columns."""
    draw = Draw(seed)
    heads, rows, columns = draw.size(20), 3 + draw.size(15), 4 * draw.size(18)
    made = mask(draw, rows, columns, draw.byte())
    spread = int(draw.one_of(10, 128))  # type: ignore[call-overload]
    a, b, v = (draw.between(-spread, spread - 1, heads, n, 4).astype(np.int8) for n in (rows, columns, columns))
    out = Scaling(int(draw.between(1, 2**16)), 5, TO_BYTES) if draw.flag() else iSoftmax().out
    shares = clipping_operator(draw, 4)
    mix = Scaling(int(draw.between(-20_000, 20_000)), int(draw.between(-(2**20), 2**20)), TO_BYTES)
    op = MaskedAttention(
        replace(shares, softmax=replace(shares.softmax, out=out)), mix, (1, 0, 2) if draw.flag() else ()
    )
    return Case(QUADS, op, [a, b, made if draw.flag() else made[:1], v])


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("cores", CORES)
def test_kernel_by_quads(cores: int) -> None:
    cases = [made for made in map(quads_case, range(120)) if QUADS.unsupported_reason(made.op, made.types) is None]
    assert len(cases) >= 40
    check(share(cases, cores), SIRACUSA, cores)


def mixed(perm: tuple[int, ...] = (), out: Scaling | None = PLAIN_SUM, b_zero: int = 0, width: int = 4) -> Graph:
    """Shares of masked scores, and what they are multiplied with."""
    shares = attention(out=out)
    builder = rebuild(shares)
    for node in shares.nodes:
        softmax = isinstance(node.op, iSoftmax)
        builder.add(iSoftmax(ln2=12, b=16, c=128) if softmax else node.op, node.inputs, node.outputs, node.name)
    values = builder.input("values", TensorType("int8", (2, 3, 5, width)))
    mul = builder.constant(np.array([300], np.int32))
    product = MatMul(requant=TO_BYTES, perm_y=perm, b_zero=b_zero)
    builder.output(builder.add(product, [shares.outputs[0], values, "", mul])[0])
    return builder.build()


def test_products_with_values_are_joined_and_mean_the_same() -> None:
    graph = mixed()
    joined = FUSE_MASKED_ATTENTION.run(FUSE_MASKED_SOFTMAX.run(graph))
    assert [node.op.kind for node in joined.nodes] == ["MaskedAttention"]
    draw = Draw(8)
    inputs = {name: draw.array("int8", *graph.types[name].shape) for name in graph.inputs}
    found, wanted = (evaluate(made, inputs)[made.outputs[0]] for made in (joined, graph))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "graph", [mixed((0, 2, 1, 3)), mixed(out=None), mixed(b_zero=1), mixed(width=8)],
    ids=["heads of several batches in another order", "scores by tables", "a zero point", "wide rows of values"],
)  # fmt: skip
def test_what_the_kernel_does_not_take_stays_a_product(graph: Graph) -> None:
    assert [node.op.kind for node in FUSE_MASKED_ATTENTION.run(FUSE_MASKED_SOFTMAX.run(graph)).nodes] == [
        "MaskedSoftmax",
        "MatMul",
    ]


@pytest.mark.fast
def test_no_row_of_shares_adds_up_to_more() -> None:
    softmax = iSoftmax(ln2=12, b=16, c=128, out=Scaling(88_823, 0, TO_BYTES))
    most, draw = most_of_row(softmax), Draw(4)
    assert most is not None
    rows = draw.array("int8", 500, 40)
    assert int(softmax.numpy(rows).astype(int).sum(-1).max()) <= most < 2 * 255
    assert most_of_row(replace(softmax, out=Scaling(1, 2**20, TO_BYTES))) is None


@pytest.mark.fast
def test_stacks_have_room_for_the_kernel_that_takes_the_place_of_the_faster_one() -> None:
    assert ROWS_STACK == SIRACUSA.stacks[KERNEL.stem] >= SIRACUSA.stacks[QUADS.stem]


@pytest.mark.fast
def test_quads_leave_to_rows_what_they_cannot_do() -> None:
    taken = quads_case(0)
    a, b, made, v = (np.asarray(array) for array in taken.arrays)
    longer = [np.concatenate([a, a], -1), np.concatenate([b, b], -1), made, v]
    shorter = [a, b[:, 1:], made[..., 1:], v[:, 1:]]
    few = [a[:, :3], b, made[:3], v]
    assert QUADS.unsupported_reason(taken.op, taken.types) is None
    for arrays in (longer, shorter, few):
        assert QUADS.unsupported_reason(taken.op, Case(QUADS, taken.op, arrays).types)
