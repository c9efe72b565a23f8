"""Attention that is written out becomes one operator, and computes what it did."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.support.checks import same
from tests.support.movement import values
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.expand import Expand
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.passes import apply
from tilewright.passes.fuse_attention import fuse_attention

pytestmark = pytest.mark.fast
STEPS, HEADS, GROUPS, LENGTH = 5, 4, 2, 6
RANDOM = np.random.default_rng(5)
TO_BYTES = full_range(12, "int8", 3, "half_even")
SHARES = Requant(52, "int8", -128, 127, -128, "half_even")
TABLE = np.round(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.int32)


def always(op: Op, types: Mapping[str, TensorType]) -> bool:
    return True


def never(op: Op, types: Mapping[str, TensorType]) -> bool:
    return False


class Writing:
    """Attention as exporters write it."""

    def __init__(self, dtype: str = "int8") -> None:
        self.builder, self.dtype = Builder("attention"), dtype

    def heads(self, name: str, count: int) -> str:
        """Tokens first as they come, then heads first."""
        given = self.builder.input(name, TensorType(self.dtype, (1, STEPS, count, LENGTH)))
        return self.builder(Transpose((0, 2, 1, 3)), [given])[0]

    def rotated(self, tensor: str, *angles: str) -> str:
        angles = angles or tuple(self.builder.constant(values(RANDOM, (STEPS, LENGTH), "int16")) for _ in range(2))
        return self.builder(QLinearRotate(False, 1, 2**16, full_range(33, "int8", 2, "half_even")), [tensor, *angles])[
            0
        ]

    def copied(self, tensor: str) -> str:
        repeat = HEADS // GROUPS
        (apart,) = self.builder(Reshape((1, GROUPS, 1, STEPS, LENGTH)), [tensor])
        (copies,) = self.builder(Expand((1, GROUPS, repeat, STEPS, LENGTH)), [apart])
        return self.builder(Reshape((1, HEADS, STEPS, LENGTH)), [copies])[0]

    def turned(self, tensor: str) -> str:
        return self.builder(Transpose((0, 1, 3, 2)), [tensor])[0]

    def product(self, a: str, b: str, a_zero: int = 2, b_zero: int = -1) -> str:
        mul = self.builder.constant(np.array([300], np.int32))
        return self.builder(MatMul(a_zero=a_zero, b_zero=b_zero, requant=TO_BYTES), [a, b, "", mul])[0]

    def shares(self, scores: str, mask: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None) -> str:
        table = self.builder.constant(TABLE)
        if mask is None:
            return self.builder(QLinearSoftmax(3, 2**60, SHARES), [scores, table])[0]
        return self.builder(QLinearMaskedSoftmax(2**60, SHARES), [scores, self.builder.constant(mask), table])[0]

    def joined(self, mixed: str) -> Graph:
        (tokens,) = self.builder(Transpose((0, 2, 1, 3)), [mixed])
        (rows,) = self.builder(Reshape((1, STEPS, HEADS * LENGTH)), [tokens])
        self.builder.output(rows)
        return self.builder.build()


def integer_graph(mask: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None, share_zero: int = -128) -> Graph:
    write = Writing()
    q, k, v = write.rotated(write.heads("q", HEADS)), write.rotated(write.heads("k", GROUPS)), write.heads("v", GROUPS)
    scores = write.product(q, write.turned(write.copied(k)))
    return write.joined(write.product(write.shares(scores, mask), write.copied(v), share_zero, 4))


def check(graph: Graph, kinds: list[str]) -> Graph:
    """It has these operators, and computes what it did."""
    fused = apply(graph, (fuse_attention(always),))
    assert [node.op.kind for node in fused.nodes] == kinds
    types = {name: graph.types[name] for name in graph.inputs}
    for _ in range(3):
        feeds = {
            name: values(RANDOM, kind.shape, kind.dtype) if kind.dtype != "float32"
            else RANDOM.standard_normal(kind.shape).astype(np.float32) for name, kind in types.items()
        }  # fmt: skip
        same(evaluate(fused, feeds)[fused.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]])
    return fused


CAUSAL = np.tri(STEPS, dtype=np.uint8)


@pytest.mark.parametrize("mask", [None, CAUSAL, CAUSAL[None, None], np.ones((STEPS, STEPS), np.uint8)])
def test_transpositions_and_copies_are_gone(mask: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None) -> None:
    graph = integer_graph(mask)
    fused = check(graph, ["QLinearRotate", "QLinearRotate", "QLinearAttention", "Reshape"])
    op = fused.nodes[2].op
    assert isinstance(op, QLinearAttention)
    assert op.causal == (mask is not None and not mask.all())
    assert [fused.types[name].shape for name in fused.nodes[2].inputs[:3]] == [
        (1, STEPS, HEADS, LENGTH), (1, STEPS, GROUPS, LENGTH), (1, STEPS, GROUPS, LENGTH)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "graph",
    [
        integer_graph(CAUSAL.T.copy()),
        integer_graph(np.stack([CAUSAL] * HEADS)[None]),
        integer_graph(CAUSAL, share_zero=-127),
    ],
    ids=["keys behind", "a mask for each head", "hidden keys count"],
)
def test_what_is_left_as_it_is(graph: Graph) -> None:
    assert apply(graph, (fuse_attention(always),)).nodes == graph.nodes


def test_rotations_by_angles_that_are_given() -> None:
    write = Writing()
    angles = [write.builder.input(name, TensorType("int16", (STEPS, LENGTH))) for name in ("cosine", "sine")]
    q, k, v = write.heads("q", HEADS), write.heads("k", HEADS), write.heads("v", HEADS)
    scores = write.product(write.rotated(q, *angles), write.turned(k))
    graph = write.joined(write.product(write.shares(scores, CAUSAL), v, -128))
    views = ["Reshape"] * 4
    check(graph, [*views, "QLinearRotate", "QLinearAttention", "Reshape"])


def test_a_target_without_the_kernel_keeps_the_parts() -> None:
    graph = integer_graph(CAUSAL)
    assert apply(graph, (fuse_attention(never),)).nodes == graph.nodes


def test_scores_that_are_read_elsewhere() -> None:
    write = Writing()
    q, k, v = write.heads("q", HEADS), write.heads("k", HEADS), write.heads("v", HEADS)
    scores = write.product(q, write.turned(k))
    write.builder.output(scores)
    graph = write.joined(write.product(write.shares(scores, CAUSAL), v, -128))
    assert apply(graph, (fuse_attention(always),)).nodes == graph.nodes


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_floats(scaled: bool, masked: bool) -> None:
    write = Writing("float32")
    build = write.builder
    q, k, v = write.heads("q", HEADS), write.copied(write.heads("k", GROUPS)), write.copied(write.heads("v", GROUPS))
    (scores,) = build(MatMul(), [q, write.turned(k)])
    if scaled:
        (scores,) = build(Mul(), [scores, build.constant(np.float32([0.3]))])
    if masked:
        (scores,) = build(Add(), [scores, build.constant(np.where(CAUSAL, np.float32(0), np.float32(-1e9)))])
    (shares,) = build(Softmax(3), [scores])
    fused = check(write.joined(build(MatMul(), [shares, v])[0]), ["FusedAttention", "Reshape"])
    assert fused.nodes[0].op == FusedAttention(causal=masked, scale=float(np.float32(0.3)) if scaled else 1.0)


def test_heads_without_a_batch() -> None:
    """[head, token, channel], as products of three axes have them."""
    build = Builder("attention")
    q, k, v = (
        build(Transpose((1, 0, 2)), [build.input(name, TensorType("float32", (STEPS, HEADS, LENGTH)))])[0]
        for name in "qkv"
    )
    (scores,) = build(MatMul(trans_b=True), [q, k])
    (mixed,) = build(MatMul(), [build(Softmax(2), [scores])[0], v])
    build.output(build(Transpose((1, 0, 2)), [mixed])[0])
    check(build.build(), ["Reshape", "Reshape", "Reshape", "FusedAttention", "Reshape"])


def test_heads_that_share_keys_as_rows_of_one_product() -> None:
    write = Writing("float32")
    build, rows = write.builder, HEADS // GROUPS * STEPS
    q, k, v = write.heads("q", HEADS), write.heads("k", GROUPS), write.heads("v", GROUPS)
    (scores,) = build(MatMul(trans_b=True), [build(Reshape((1, GROUPS, rows, LENGTH)), [q])[0], k])
    (scores,) = build(Reshape((1, HEADS, STEPS, STEPS)), [scores])
    (scores,) = build(Add(), [scores, build.constant(np.where(CAUSAL, np.float32(0), np.float32(-1e9)))])
    (shares,) = build(Reshape((1, GROUPS, rows, STEPS)), [build(Softmax(3), [scores])[0]])
    (mixed,) = build(Reshape((1, HEADS, STEPS, LENGTH)), [build(MatMul(), [shares, v])[0]])
    check(write.joined(mixed), ["FusedAttention", "Reshape"])
