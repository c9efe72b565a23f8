"""Depthwise convolutions write their planes over those that they read, where a kernel copies whole ones first."""

from __future__ import annotations

import pytest

from tests.passes.fit.test_strips import convolution
from tests.passes.small import Small
from tilewright import pipeline
from tilewright.ops.max import Max
from tilewright.ops.neg import Neg
from tilewright.ops.transpose import Transpose
from tilewright.pipeline import Compiled
from tilewright.planner.arena.allocation import Allocation
from tilewright.program import Program


def network(height: int = 10, stride: int = 1, again: bool = False) -> tuple[Small, str, str]:
    small = Small()
    first = convolution(small, small.input("x", 1, 3, height, 64), 4)
    second = convolution(small, first, 0, stride=stride, depthwise=True)
    read = small.add(Max(), first, second) if again else small.add(Neg(), second)
    small.builder.output(small.add(Transpose((0, 2, 3, 1)), read))
    return small, first, second


def shared(small: Small, first: str, second: str) -> bool:
    found: Allocation = pipeline.stage(small.builder.build(), "generic", "tiled")
    return found.homes[first].owner == found.homes[second].owner


def test_a_plane_that_is_copied_whole() -> None:
    assert shared(*network())


def test_not_one_that_is_copied_in_parts() -> None:
    assert not shared(*network(height=100))


def test_not_where_planes_get_smaller() -> None:
    assert not shared(*network(stride=2))


def test_not_what_is_read_again() -> None:
    assert not shared(*network(again=True))


@pytest.mark.in_turns(5)
def test_results_are_the_same() -> None:
    graph = network()[0].builder.build()
    assert Program(Compiled(*pipeline.stages(graph, "generic")), "", None, 0.0).check(per_layer=True).agrees
