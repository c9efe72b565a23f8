"""Heads and products of ITAPool: what they are in numpy, and how a product is a head."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.targets.ita.arithmetic import POOL_SOFTMAX, RELU, Activation, Head, Scale, attention
from tilewright.targets.ita.pool.alone import MARK, MIXED, own_share
from tilewright.targets.ita.pool.block import back_bytes, block_bytes, front_bytes, packed, unpacked
from tilewright.targets.ita.pool.op import PoolHeads
from tilewright.targets.ita.pool.product_op import PoolProduct

pytestmark = pytest.mark.fast
RNG = np.random.default_rng(4)


def random_bytes(*shape: int) -> np.ndarray:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def random_head(inner: int, width: int) -> Head:
    wq, wk, wv, wo = (random_bytes(*shape) for shape in ((inner, width),) * 3 + ((width, inner),))
    bq, bk, bv, bo = (RNG.integers(-9999, 9999, size) for size in (width, width, width, inner))
    return Head(wq, wk, wv, wo, bq, bk, bv, bo, [Scale(99, shift, 1) for shift in (16, 16, 16, 14, 13, 15)])


def test_what_is_packed_is_unpacked() -> None:
    head = random_head(128, 64)
    front, back = packed(head)
    assert (front.size, back.size) == (front_bytes(128, 64), back_bytes(128, 64))
    assert block_bytes(64, 128, 64) == front.size + 2 * 64 * 128 + back.size
    found = unpacked(front, back, 128, 64, head.scales)
    for name in ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo"):
        assert np.array_equal(getattr(found, name), getattr(head, name)), name


def test_results_of_heads_lie_side_by_side() -> None:
    heads = [random_head(64, 64) for _ in range(2)]
    front, back = (np.stack(part) for part in zip(*map(packed, heads), strict=True))
    x, y = random_bytes(3, 64), random_bytes(64, 64)
    made = PoolHeads(tuple(heads[0].scales), 64, 64, 20).numpy(x, front, back, y)
    whole = np.pad(x, [(0, 61), (0, 0)])
    wanted = [attention(whole, y, head, POOL_SOFTMAX).out[:3, :20] for head in heads]
    assert np.array_equal(made, np.concatenate(wanted, axis=1))


@pytest.mark.parametrize("is_relu", [False, True])
def test_a_product_is_a_head_of_rows_that_attend_to_themselves(is_relu: bool) -> None:
    curve = Activation(RELU, Scale(add=5)) if is_relu else Activation()
    op = PoolProduct(Scale(37, 14, -3), curve, 128, 64)
    x, w, bias = random_bytes(64, 50), random_bytes(64, 50), RNG.integers(-9999, 9999, 64)
    marks = np.eye(64, dtype=np.int8) * np.int8(MARK)
    rows, alone = (np.hstack([np.pad(m, [(0, 0), (0, 64 - m.shape[1])]), marks]) for m in (x, marks[:, :0]))
    chosen = np.vstack([np.zeros((64, 64), np.int8), marks])
    values = np.pad(w.T, [(0, 78), (0, 0)])
    zero, out = np.zeros(64, np.int64), np.hstack([np.eye(64, dtype=np.int8), np.zeros((64, 64), np.int8)])
    head = Head(chosen, chosen, values, out, zero, zero, bias, np.zeros(128, np.int64), op.scales)
    stored = np.pad(w, [(0, 0), (0, 78)]).reshape(1, -1), bias.astype(np.int32).reshape(1, -1)
    assert np.array_equal(attention(alone, rows, head, POOL_SOFTMAX).out[:, :64], op.numpy(x, *stored))


def test_the_share_of_a_row_is_undone() -> None:
    values = np.arange(-128, 128)
    assert np.array_equal(MIXED(values * own_share()), values)
