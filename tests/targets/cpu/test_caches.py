"""Attention over caches: keys in blocks, 16 and 32 bits, windows and caps, few queries and many, several threads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tests.support.checks import Case, check_kernels
from tests.targets.cpu.machine import PROCESSORS_TESTED, needs, run_on
from tilewright.ir.types import Array
from tilewright.target.settings import Settings
from tilewright.targets.cpu.cached_attention import BLOCK, CacheAttention, WriteCache, in_panels

SHAPES = (
    # queries, groups, repeat, length, width, tokens, position
    (1, 2, 4, 64, 64, 300, 299), (1, 3, 3, 64, 64, 150, 70), (1, 2, 7, 20, 36, 130, 64), (1, 1, 1, 8, 8, 64, 0),
    (2, 5, 1, 16, 80, 70, 63), (3, 1, 2, 128, 128, 200, 100), (37, 2, 3, 24, 24, 190, 90), (9, 2, 4, 40, 33, 9, 0),
)  # fmt: skip


def cache_of(random: Generator, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array, Array]:
    """Keys in blocks, values, and how far they are filled; what lies behind is large."""
    queries, groups, _, length, width, tokens, position = shape
    filled = position + queries
    keys, values = (
        np.full((1, tokens, groups, size), 6e4, np.float32).astype(dtype) for size in (length, width)
    )  # fmt: skip
    for cache in (keys, values):
        cache[:, :filled] = random.standard_normal(cache[:, :filled].shape).astype(dtype)
    blocks = np.full((1, -(-tokens // BLOCK), groups, length, BLOCK), 6e4, dtype)
    return in_panels(keys, blocks), values, np.array([position], np.int32)


def attention(random: Generator, shape: tuple[int, ...], dtype: str, window: int = 0, cap: float = 0.0) -> Case:
    queries, groups, repeat, length, *_ = shape
    q = random.standard_normal((1, queries, groups * repeat, length)).astype(np.float32)
    op = CacheAttention(causal=True, scale=length**-0.5, window=window, cap=cap)
    return op, [q, *cache_of(random, shape, dtype)]


def cases(dtype: str) -> list[Case]:
    random, found = default_rng(3), list[Case]()
    for shape in SHAPES:
        found += [attention(random, shape, dtype), attention(random, shape, dtype, window=5, cap=2.0)]
    return [*found, attention(random, SHAPES[0], dtype, window=70), attention(random, SHAPES[6], dtype, cap=0.5)]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_attention(dtype: str, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(processor)
    assert run_on(cases(dtype), processor, monkeypatch, inputs=4, tolerance=3e-6) == {"cached_attention"}


def written(dtype: str, panel: int, rows: int, position: int) -> Case:
    random, tokens, width = default_rng(rows), 70, (2, 20)
    shape = (1, tokens, *width) if panel == 1 else (1, -(-tokens // panel), *width, panel)
    before = random.standard_normal(shape).astype(dtype)
    new = random.standard_normal((1, rows, *width)).astype(np.float32)
    return WriteCache(panel, tokens), [before, new, np.array([position], np.int32)]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("processor", PROCESSORS_TESTED)
def test_rows_are_written(dtype: str, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a block, over its end, behind the last token."""
    needs(processor)
    places = ((1, 0), (1, 63), (5, 61), (70, 0), (3, 68), (2, -4))
    found = [written(dtype, panel, rows, at) for panel in (1, BLOCK) for rows, at in places]
    assert run_on(found, processor, monkeypatch, inputs=3) == {"write_cache"}


@pytest.mark.in_turns(6)
def test_all_threads_have_a_share() -> None:
    check_kernels(cases("float16"), 3e-6, target="cpu", settings=Settings(threads=2))
