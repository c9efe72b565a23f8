"""Which layers are computed in strips: where that makes the arena smaller, and only where RAM is asked for or short."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.fit.test_strips import convolution
from tests.passes.small import Small, feeds_of
from tilewright import pipeline, targets
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.pipeline import Compiled
from tilewright.planner.schedule import interpret
from tilewright.program import Program
from tilewright.target.settings import RAM, Settings

SMALL = Settings(optimise=RAM)


def mobile() -> Graph:
    """Two depthwise blocks behind a first convolution, as mobile networks begin."""
    small = Small()
    x = convolution(small, small.input("x", 1, 3, 48, 48), 8, stride=2, padding=(0, 0, 1, 1))
    x = convolution(small, convolution(small, x, 8, depthwise=True), 16, taps=1, padding=(0, 0, 0, 0))
    x = convolution(small, x, 16, depthwise=True, stride=2, padding=(0, 0, 1, 1))
    return small.graph(convolution(small, x, 24, taps=1, padding=(0, 0, 0, 0)))


@pytest.mark.fast
def test_the_arena_gets_smaller_and_a_note_says_for_what() -> None:
    graph = mobile()
    whole, strips = (
        pipeline.stage(graph, "cortex-m4", "schedule", settings=settings) for settings in (pipeline.DEFAULT, SMALL)
    )
    assert 2 * strips.arena_bytes < whole.arena_bytes
    (note,) = set(strips.graph.notes) - set(whole.graph.notes)
    assert f"the arena needs {strips.arena_bytes} bytes instead of {whole.arena_bytes}" in note
    assert "times the cycles (predicted)" in note
    assert strips.flash_bytes <= whole.flash_bytes + 16
    feeds = feeds_of(graph)
    expected = evaluate(graph, feeds)
    found = interpret(strips, feeds)
    for old, new in zip(graph.outputs, strips.graph.outputs, strict=True):
        np.testing.assert_array_equal(found[new], expected[old])


@pytest.mark.fast
def test_only_where_the_ram_is_too_small() -> None:
    graph = mobile()
    plenty, short, tight = (Settings(memories=(("ram", size),)) for size in (40_000, 28_000, 9_000))
    calls = [len(pipeline.stage(graph, "cortex-m4", "schedule", settings=one).calls) for one in (plenty, short)]
    assert calls[0] < calls[1]
    with pytest.raises(CompileError) as caught:
        pipeline.stage(graph, "cortex-m4", "schedule", settings=tight)
    assert "are missing\n  the arena's peak is at layer " in caught.value.what


@pytest.mark.fast
def test_a_cluster_has_tiles() -> None:
    with pytest.raises(CompileError, match="--optimise ram: the cluster of quad computes in tiles as it is"):
        pipeline.stage(mobile(), "quad", "lowered", settings=SMALL)


@pytest.mark.fast
def test_nothing_to_gain() -> None:
    small = Small()
    graph = small.graph(convolution(small, small.input("x", 1, 3, 6, 6), 4))
    lowered, fitted = (pipeline.stage(graph, "cortex-m4", stage, settings=SMALL) for stage in ("lowered", "fitted"))
    assert [node.op for node in fitted.nodes] == [node.op for node in lowered.nodes]


def test_programs_agree() -> None:
    program = Program(Compiled(*pipeline.stages(mobile(), "cortex-m4", settings=SMALL)), "", None, 0.0)
    assert program.check().agrees


def test_engines_share_the_constants_of_strips() -> None:
    """Weights that are arranged for kernels are there once, not once for each strip."""
    target = targets.find("rv32")
    whole, strips = (
        pipeline.stage(mobile(), target.name, "schedule", settings=settings) for settings in (pipeline.DEFAULT, SMALL)
    )
    assert len(strips.calls) > len(whole.calls)
    assert strips.flash_bytes <= whole.flash_bytes + 16
