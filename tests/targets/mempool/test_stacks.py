"""The variants of MemPool share one table of stacks: a kernel takes as much on each of them, and no more than that."""

from __future__ import annotations

import pytest

from tilewright.calibration.stacks import instance_stack, samples
from tilewright.target.kernel import Kernel
from tilewright.target.target import Target
from tilewright.targets.mempool.target import FOLDER, STACKS, TARGETS

SHARED = ("conv_panels", "matmul_panels", "depthwise_quads", "lookup_local", "isoftmax_lanes")
ITA = ("pool_heads", "pool_product")


def kernel(target: Target, stem: str) -> Kernel:
    return next(one for engine in target.engines for one in engine.kernels if one.stem == stem)


def stack(target: Target, stem: str) -> int:
    return instance_stack(target, next(samples(kernel(target, stem))))


@pytest.mark.parametrize("stem", SHARED)
def test_a_kernel_takes_the_same_on_all_of_them(stem: str) -> None:
    found = {stack(target, stem) for target in TARGETS.values()}
    assert len(found) == 1
    assert max(found) <= STACKS[stem]


def own_stems(target: Target) -> list[str]:
    kernels = [one for engine in target.engines for one in engine.kernels]
    return sorted({one.stem for one in kernels if target.kernel_file(one.source).parent == FOLDER / "kernels"})


@pytest.mark.parametrize("stem", sorted({*own_stems(TARGETS["minpool"])} - {*SHARED}))
def test_other_kernels_of_mempool(stem: str) -> None:
    assert stack(TARGETS["minpool"], stem) <= STACKS[stem]


@pytest.mark.parametrize("stem", ITA)
def test_kernels_of_the_itas(stem: str) -> None:
    assert stack(TARGETS["itapool"], stem) <= STACKS[stem]


@pytest.mark.fast
def test_every_kernel_is_in_the_table() -> None:
    stems = {one.stem for target in TARGETS.values() for engine in target.engines for one in engine.kernels}
    assert stems == STACKS.keys()
