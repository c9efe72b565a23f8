"""Kernels of weights in blocks, every format, against the operators' meaning."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from tests.support.block_cases import blocks, product
from tests.support.checks import check_kernels
from tilewright.ir.block_formats import FORMATS
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_FLOATS


@pytest.mark.in_turns(3)
def test_products_and_lookups() -> None:
    random, cases = default_rng(5), []
    for number, (name, block) in enumerate(FORMATS.items()):
        inner = 2 * block.elements if block.elements > 1 else 37
        cases.append(product(random, name, 1 + 2 * (number % 2), inner, 5))
        cases.append(product(random, name, 2, inner, 3, OF_FLOATS))
        table = blocks(random, name, 6, inner)
        cases.append((BlockGather(name), [table, np.array([[5, 0, -1], [9, 2, -7]], np.int32)]))
    check_kernels(cases)


@pytest.mark.fast
@pytest.mark.parametrize("name", FORMATS)
def test_finite(name: str) -> None:
    block, raw = FORMATS[name], blocks(default_rng(1), name, 3, 512)
    assert block.are_finite(raw)
    largest = {"F32": b"\x00\x00\x80\x7f", "BF16": b"\x80\xff"}.get(name, b"\x00\x7c")
    for at in block.scales or (0,):
        wrong = raw.copy()
        wrong[1, block.bytes + at : block.bytes + at + len(largest)] = np.frombuffer(largest, np.uint8)
        assert not block.are_finite(wrong)
