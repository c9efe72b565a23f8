"""Streams of weights, as Vela's codec makes them, decoded by ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.ethos_u.assembling import plain_weights
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.sim.ethos_u.npu import decode_weights


def weights(kind: int, count: int) -> Array:
    rng = np.random.default_rng([kind, count])
    kinds = (
        rng.integers(-255, 256, count), rng.integers(-3, 4, count), np.zeros(count, int),
        rng.integers(-127, 128, count) * (rng.random(count) < 0.1), np.round(rng.normal(0, 15, count)).astype(int),
        rng.choice([-100, 0, 7, 33, 55], count),
        np.concatenate([rng.integers(-2, 3, count // 2), rng.integers(-200, 200, count - count // 2)]),
    )  # fmt: skip
    return kinds[kind].clip(-255, 255)


@pytest.mark.parametrize("count", [1, 5, 16, 100, 1000, 40000])
@pytest.mark.parametrize("kind", range(7))
def test_stream_of_the_codec(kind: int, count: int) -> None:
    codec: Any = pytest.importorskip("ethosu.mlw_codec", reason="pip install 'tilewright[ethos-u]'")
    given = weights(kind, count)
    encoded = bytes(codec.encode([int(weight) for weight in given]))
    assert decode_weights(encoded, count).tolist() == given.tolist()
    assert decode_weights(encoded, count).tolist() == list(codec.decode(bytearray(encoded)))[:count]


def test_plain_stream() -> None:
    given = weights(0, 300)
    assert decode_weights(plain_weights(given), 300).tolist() == given.tolist()


@pytest.mark.parametrize("data", [b"", bytes(3), b"\xff" * 40])
def test_no_stream(data: bytes) -> None:
    with pytest.raises(CompileError, match="are no stream of 9 weights"):
        decode_weights(data, 9)
