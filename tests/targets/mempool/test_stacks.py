"""The variants of MemPool share one table of stacks: a kernel takes as much on each of them."""

from __future__ import annotations

import pytest

from tilewright.calibration.stacks import instance_stack, samples
from tilewright.target.target import Target
from tilewright.targets.mempool.target import STACKS, TARGETS


def stack(target: Target, stem: str) -> int:
    kernel = next(one for engine in target.engines for one in engine.kernels if one.stem == stem)
    return instance_stack(target, next(samples(kernel, target.kernel_text)))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("stem", ["conv_panels", "matmul_panels", "depthwise_quads", "lookup_local", "isoftmax_lanes"])
def test_a_kernel_takes_the_same_on_all_of_them(stem: str) -> None:
    found = {stack(target, stem) for target in TARGETS.values()}
    assert len(found) == 1
    assert max(found) <= STACKS[stem]


@pytest.mark.fast
def test_every_kernel_is_in_the_table() -> None:
    stems = {one.stem for target in TARGETS.values() for engine in target.engines for one in engine.kernels}
    assert stems == STACKS.keys()
