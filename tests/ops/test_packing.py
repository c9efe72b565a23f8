"""Rows of weights as kernels read them: what a description says, and that it can be undone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilewright.ops._packing import Packing

SHAPES = ((1, 4, 16), (2, 3, 20), (3, 9, 33), (1, 1, 1))
"""Groups, filters of each, length of a row."""


@pytest.mark.fast
@pytest.mark.parametrize(("groups", "filters", "length"), SHAPES)
@pytest.mark.parametrize("multiple", [0, 4])
def test_packing_is_undone(groups: int, filters: int, length: int, multiple: int) -> None:
    rows = np.random.default_rng(3).integers(-128, 128, (groups * filters, length)).astype(np.int8)
    orders = [(*order, 3) for order in itertools.permutations(range(3))]
    for block, run, order in itertools.product((1, 2, 8), (1, 2, 4), [*orders, (0, 2, 3, 1)]):
        if run == 1 and order[-1] != 3:
            continue
        packing = Packing(groups, block, run, order, multiple)
        np.testing.assert_array_equal(packing.unpack(packing.pack(rows), filters, length), rows)
        values = np.arange(groups * filters)
        np.testing.assert_array_equal(packing.plain(packing.fill(values), filters), values)


@pytest.mark.fast
def test_what_lies_where() -> None:
    rows = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(
        Packing(block=2, run=4).pack(rows),
        [
            [[[0, 1, 2, 3], [5, 6, 7, 8]], [[4, 0, 0, 0], [9, 0, 0, 0]]],
            [[[10, 11, 12, 13], [0, 0, 0, 0]], [[14, 0, 0, 0], [0, 0, 0, 0]]],
        ],
    )
    pairs = Packing(block=2, run=2, order=(0, 2, 3, 1)).pack(rows)
    np.testing.assert_array_equal(pairs[0], [[[0, 5], [1, 6]], [[2, 7], [3, 8]], [[4, 9], [0, 0]]])
    np.testing.assert_array_equal(Packing(block=2).pack(rows[:2, :3]), [[[0, 5], [1, 6], [2, 7]]])
    np.testing.assert_array_equal(Packing(groups=3, block=2).fill(np.array([1, 2, 3])), [1, 0, 2, 0, 3, 0])
