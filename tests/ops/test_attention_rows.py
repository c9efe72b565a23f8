"""What fused attention means: the operators that it stands for, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.attention_cases import BYTE_TABLE, MAKERS, softmax_of
from tests.support.checks import same
from tilewright.errors import Refusal
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, type_of
from tilewright.ops._scaling import Scaling
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearattention import QLinearAttention

pytestmark = pytest.mark.fast
Q, K = np.zeros((1, 3, 4, 8), np.int8), np.zeros((1, 3, 2, 8), np.int8)


def parts(op: QLinearAttention, mask: Array, Q: Array, K: Array, V: Array, table: Array) -> Array:
    """Two products and a softmax, heads first, with heads of keys and values copied."""
    repeat = Q.shape[2] // K.shape[2]
    q, k, v = (
        np.repeat(a.transpose(0, 2, 1, 3), 1 if a is Q else repeat, axis=1) for a in (Q, K, V)
    )  # fmt: skip
    scoring = MatMul(trans_b=True, a_zero=op.q_zero, b_zero=op.k_zero, requant=op.score.requant)
    mixing = MatMul(a_zero=op.softmax.requant.zero_point, b_zero=op.v_zero, requant=op.mix.requant)
    numbers = [[np.array([one], np.int32) for one in (each.mul, each.add)] for each in (op.score, op.mix)]
    shares = op.softmax.numpy(scoring.numpy(q, k, None, *numbers[0]), mask, table)
    return np.asarray(mixing.numpy(shares, v, None, *numbers[1])).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("seed", range(30))
def test_integers_are_those_of_the_parts(seed: int) -> None:
    op, (q, k, v, table, *position) = MAKERS["QLinearAttention"](np.random.default_rng(seed))
    assert isinstance(op, QLinearAttention)
    assert q is not None
    assert k is not None
    assert v is not None
    assert table is not None
    before = op.first + (int(position[0][0]) if position and position[0] is not None else 0)
    mask = np.tri(q.shape[1], k.shape[1], before, np.uint8) if op.causal else np.ones((1, k.shape[1]), np.uint8)
    same(op.numpy(q, k, v, table, *position), parts(op, mask, q, k, v, table))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_cache_is_not_looked_at_beyond_the_queries(kind: str) -> None:
    random = np.random.default_rng(8)
    made = (MAKERS[kind](random) for _ in range(1000))
    op, (q, k, v, *rest) = next(case for case in made if len(case[1]) == (5 if kind[0] == "Q" else 4))
    assert q is not None
    assert k is not None
    assert v is not None
    assert rest[-1] is not None
    end = int(rest[-1][0]) + q.shape[1]
    cut = op.numpy(q, k[:, :end], v[:, :end], *rest)
    same(op.numpy(q, k, v, *rest), cut)


def quantised(**changed: object) -> QLinearAttention:
    softmax, _, scores = softmax_of(False, "int8")
    to_bytes = full_range(8, scores)
    return replace(
        QLinearAttention(score=Scaling(1, 0, to_bytes), softmax=softmax, mix=Scaling(1, 0, to_bytes)), **changed
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("op", "arrays", "reason"),
    [
        (FusedAttention(), [Q, K, K], "Q is int8; float32"),
        (quantised(), [Q[0], K, K, BYTE_TABLE], r"\[batch, token, head, channel\] is expected"),
        (quantised(), [Q[..., :4], K, K, BYTE_TABLE], "queries of shape"),
        (quantised(), [Q[:, :, :3], K, K, BYTE_TABLE], "3 query heads cannot be divided evenly among 2"),
        (quantised(), [Q, K[:, :0], K[:, :0], BYTE_TABLE], "no key"),
        (quantised(causal=True, first=1), [Q, K, K, BYTE_TABLE], "3 queries after 1 earlier ones see 3 keys"),
        (quantised(), [Q, K, K, BYTE_TABLE, np.zeros(1, np.int32)], "a position"),
        (quantised(causal=True), [Q, K, K, BYTE_TABLE, np.zeros(2, np.int32)], "a position"),
        (quantised(), [Q, K, K.astype(np.int16), BYTE_TABLE], "V is int16"),
        (quantised(k_zero=1), [Q, K.astype(np.int16), K, BYTE_TABLE], "K is int16 around 1"),
        (quantised(), [Q, K, K, BYTE_TABLE[:9]], "at least 256 entries"),
        (quantised(softmax=replace(softmax_of(False, "int8")[0], requant=Requant(52, "int8", 0, 9, -1))),
         [Q, K, K, BYTE_TABLE], "of which the zero point is one"),
    ],
)  # fmt: skip
def test_what_is_refused(op: Op, arrays: list[Array], reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        op.infer(op.bind([type_of(array) for array in arrays]))
