"""Attention as exporters write it: tidied it computes the same, and one operator can."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.isnan import IsNaN
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.ops.where import Where
from tilewright.passes import Pass, apply
from tilewright.passes.canonicalize_attention import CANONICALIZE_ATTENTION, CANONICALIZE_LANGUAGE
from tilewright.passes.fuse_attention import fuse_attention

pytestmark = pytest.mark.fast
HEADS, TOKENS, HEAD = 2, 5, 4
SEEN = np.tril(np.ones((1, 1, TOKENS, TOKENS), bool))
LOWEST = float(np.finfo(np.float32).min)


def attention(chosen: bool, guarded: bool) -> Graph:
    """Scaled on both sides, with keys turned as three axes, masked by a choice or by two sums."""
    b = Builder("attention")
    q, k, v = (b.input(name, TensorType("float32", (1, HEADS, TOKENS, HEAD))) for name in "qkv")
    root = b.constant(np.array(HEAD**-0.25, np.float32))
    (flat,) = b(Reshape((HEADS, TOKENS, HEAD)), [k])
    (turned,) = b(Transpose((0, 2, 1)), [flat])
    (keys,) = b(Reshape((1, HEADS, HEAD, TOKENS)), [turned])
    scaled = [b(Mul(), [one, root])[0] for one in (q, keys)]
    (scores,) = b(MatMul(), scaled)
    if chosen:
        low = b.constant(np.array(LOWEST, np.float32))
        (scores,) = b(Where(), [b.constant(SEEN), scores, low])
        (scores,) = b(Add(), [scores, b.constant(np.zeros((1, 1, 1, TOKENS), np.float32))])
    else:
        masks = [np.where(SEEN, 0, LOWEST), np.where(SEEN, 0, -1e5)]
        for mask in masks:
            (scores,) = b(Add(), [scores, b.constant(mask.astype(np.float32))])
    (shares,) = b(Softmax(3), [scores])
    if guarded:
        (no_number,) = b(IsNaN(), [shares])
        (shares,) = b(Where(), [no_number, b.constant(np.array(0, np.float32)), shares])
    (y,) = b(MatMul(), [shares, v], ["y"])
    b.output(y)
    return b.build()


@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("tidying", [CANONICALIZE_ATTENTION, CANONICALIZE_LANGUAGE], ids=["any", "language"])
def test_the_same_in_one_operator(chosen: bool, guarded: bool, tidying: Pass) -> None:
    graph = attention(chosen, guarded)
    tidy = apply(graph, (tidying,))
    fused = apply(tidy, (*pipeline.PASSES, fuse_attention(lambda op, types: True)))
    found = [node.op for node in fused.nodes if isinstance(node.op, FusedAttention)]
    assert [(op.causal, round(op.scale, 6)) for op in found] == [(True, 0.5)]
    assert not [node for node in fused.nodes if isinstance(node.op, Softmax | Where)]
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(graph.types[name].shape).astype(np.float32) for name in "qkv"}
    wanted = evaluate(graph, feeds)[graph.outputs[0]]
    for made in (tidy, fused):
        np.testing.assert_allclose(evaluate(made, feeds)[made.outputs[0]], wanted, atol=1e-5)


def test_choices_one_behind_the_other_are_one_mask() -> None:
    b = Builder("choices")
    x = b.input("x", TensorType("float32", (1, 1, TOKENS, TOKENS)))
    low, scores = b.constant(np.array(LOWEST, np.float32)), x
    for seen in (SEEN, np.ones((1, 1, 1, TOKENS), bool) & (np.arange(TOKENS) > 0)):
        (scores,) = b(Where(), [b.constant(seen), scores, low])
    (y,) = b(Softmax(3), [scores], ["y"])
    b.output(y)
    tidy = apply(b.build(), (CANONICALIZE_ATTENTION,))
    assert [node.op.kind for node in tidy.nodes] == ["Add", "Softmax"]


def test_a_choice_of_other_numbers_stays() -> None:
    """Zero is no score that a softmax does not see."""
    b = Builder("choice")
    x = b.input("x", TensorType("float32", (1, 1, TOKENS, TOKENS)))
    (chosen,) = b(Where(), [b.constant(SEEN), x, b.constant(np.array(0, np.float32))])
    (y,) = b(Softmax(3), [chosen], ["y"])
    b.output(y)
    tidy = apply(b.build(), (CANONICALIZE_ATTENTION,))
    assert [node.op.kind for node in tidy.nodes] == ["Where", "Softmax"]


def guarded_softmax(mask: Array | None, zeros: tuple[int, ...] = (), ends: bool = True) -> Graph:
    """Shares of products that a mask was added to, or one that is computed; zero where they are no number. They may
    also be weights of a product."""
    b = Builder("guarded")
    x, y = (b.input(name, TensorType("float32", (1, 2, TOKENS, TOKENS))) for name in "xy")
    (scores,) = b(MatMul(), [x, y])
    added = b.input("mask", TensorType("float32", (1, 1, TOKENS, TOKENS))) if mask is None else b.constant(mask)
    (shares,) = b(Softmax(3), [b(Add(), [scores, added])[0]])
    (no_number,) = b(IsNaN(), [shares])
    (shares,) = b(Where(), [no_number, b.constant(np.zeros(zeros, np.float32)), shares])
    b.output(shares if ends else b(MatMul(), [shares, y])[0])
    return b.build()


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("computed", [True, False])
def test_a_guard_whose_zeros_repeat_the_shares(ends: bool, computed: bool) -> None:
    mask = None if computed else np.where(SEEN, 0, -np.inf).astype(np.float32)
    graph = guarded_softmax(mask, (3, 1, 1, 1), ends)
    tidy = apply(graph, (CANONICALIZE_ATTENTION,))
    fused = apply(tidy, (*pipeline.PASSES, fuse_attention(lambda op, types: True)))
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(graph.types[name].shape).astype(np.float32) for name in graph.inputs}
    wanted = evaluate(graph, feeds)[graph.outputs[0]]
    assert wanted.shape == (3, 2, TOKENS, TOKENS)
    for made in (tidy, fused):
        np.testing.assert_allclose(evaluate(made, feeds)[made.outputs[0]], wanted, atol=1e-5)


def test_a_guard_stays_where_a_query_may_see_nothing() -> None:
    nothing = np.where(np.arange(TOKENS)[:, None] == 2, -np.inf, np.zeros((TOKENS, TOKENS))).astype(np.float32)
    for mask, is_kept in ((None, True), (nothing, True), (np.where(SEEN, 0, -np.inf).astype(np.float32), False)):
        tidy = apply(guarded_softmax(mask), (CANONICALIZE_ATTENTION,))
        assert any(isinstance(node.op, Where) for node in tidy.nodes) == is_kept


@pytest.mark.parametrize("low", [-1e4, -1e9, LOWEST, -np.inf])
def test_a_choice_that_hides_a_whole_row_has_equal_shares(low: float) -> None:
    b = Builder("hidden")
    x = b.input("x", TensorType("float32", (1, 1, TOKENS, TOKENS)))
    seen = SEEN & (np.arange(TOKENS)[:, None] != 2)
    (scores,) = b(Where(), [b.constant(seen), x, b.constant(np.array(low, np.float32))])
    b.output(b(Softmax(3), [scores])[0])
    graph = b.build()
    feeds = {"x": 300 * np.random.default_rng(1).standard_normal((1, 1, TOKENS, TOKENS)).astype(np.float32)}
    tidy = apply(graph, (CANONICALIZE_ATTENTION,))
    wanted, found = (evaluate(one, feeds)[one.outputs[0]] for one in (graph, tidy))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
