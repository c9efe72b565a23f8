"""Which layers are computed in strips: where that makes the arena smaller, and only where RAM is asked for or short, or
where it is cheap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.passes.fit.test_strips import convolution, residual
from tests.passes.small import Small, feeds_of
from tilewright import pipeline, targets
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.max import Max
from tilewright.pipeline import Compiled
from tilewright.planner.refit import strips
from tilewright.planner.schedule.interpret import interpret
from tilewright.program import Program
from tilewright.target.settings import DEFAULT, RAM, Settings

SMALL = Settings(optimise=RAM)


def mobile() -> Graph:
    """Two depthwise blocks behind a first convolution, as mobile networks begin."""
    small = Small()
    x = convolution(small, small.input("x", 1, 3, 48, 48), 8, stride=2, padding=(0, 0, 1, 1))
    x = convolution(small, convolution(small, x, 8, depthwise=True), 16, taps=1, padding=(0, 0, 0, 0))
    x = convolution(small, x, 16, depthwise=True, stride=2, padding=(0, 0, 1, 1))
    return small.graph(convolution(small, x, 24, taps=1, padding=(0, 0, 0, 0)))


@pytest.mark.in_turns(3)
def test_the_arena_gets_smaller_and_a_note_says_for_what() -> None:
    graph = mobile()
    whole, strips = (pipeline.stage(graph, "cortex-m4", "schedule", settings=settings) for settings in (DEFAULT, SMALL))
    assert 2 * strips.arena_bytes < whole.arena_bytes
    (note,) = set(strips.graph.notes) - set(whole.graph.notes)
    assert f"the arena needs {strips.arena_bytes} bytes instead of {whole.arena_bytes}" in note
    assert "times the cycles (predicted)" in note
    assert strips.constant_bytes <= whole.constant_bytes + 16
    feeds = feeds_of(graph)
    expected = evaluate(graph, feeds)
    found = interpret(strips, feeds)
    for old, new in zip(graph.outputs, strips.graph.outputs, strict=True):
        np.testing.assert_array_equal(found[new], expected[old])


@pytest.mark.in_turns(3)
def test_only_where_the_ram_is_too_small() -> None:
    graph = mobile()
    plenty, short, tight = (Settings(memories=(("ram", size),)) for size in (40_000, 25_000, 9_000))
    calls = [len(pipeline.stage(graph, "cortex-m4", "schedule", settings=one).layers) for one in (plenty, short)]
    assert calls[0] < calls[1]
    with pytest.raises(CompileError) as caught:
        pipeline.stage(graph, "cortex-m4", "schedule", settings=tight)
    assert "needs as much\n  the arena's peak is at node " in caught.value.what


def block() -> Graph:
    """A sum at the peak, and most of the work behind it."""
    small = Small()
    x = convolution(small, small.input("x", 1, 3, 32, 32), 16)
    x = small.add(Max(), x, convolution(small, convolution(small, x, 16), 16))
    for filters in (32, 64, 96):
        x = convolution(small, convolution(small, x, filters, stride=2, padding=(0, 0, 1, 1)), filters)
    return small.graph(x)


@pytest.mark.in_turns(6)
def test_sums_in_place_are_cheap() -> None:
    """Two tensors of the size at a time, not three, without being asked for; cycles hardly grow."""
    graph, whole = block(), 16 * 32 * 32
    strips, feeds = pipeline.stage(graph, "cortex-m4", "schedule"), feeds_of(graph)
    assert 2 * whole < strips.arena_bytes < 2.8 * whole
    assert any("in strips of rows" in note for note in strips.graph.notes)
    np.testing.assert_array_equal(
        interpret(strips, feeds)[strips.graph.outputs[0]], evaluate(graph, feeds)[graph.outputs[0]]
    )


@pytest.mark.fast
def test_what_is_needed_later_stays_whole() -> None:
    schedule = pipeline.stage(residual(Small(), needed_later=True), "cortex-m4", "schedule")
    assert not any("in strips of rows" in note for note in schedule.graph.notes)


@pytest.mark.fast
def test_a_cluster_has_tiles() -> None:
    with pytest.raises(CompileError, match="--optimise ram: target quad has a cluster, which computes in tiles anyway"):
        pipeline.stage(mobile(), "quad", "lowered", settings=SMALL)


@pytest.mark.fast
def test_nothing_to_gain() -> None:
    small = Small()
    graph = small.graph(convolution(small, small.input("x", 1, 3, 6, 6), 4))
    lowered, fitted = (pipeline.stage(graph, "cortex-m4", stage, settings=SMALL) for stage in ("lowered", "fitted"))
    assert [node.op for node in fitted.nodes] == [node.op for node in lowered.nodes]


@pytest.mark.in_turns(5)
def test_programs_agree() -> None:
    program = Program(Compiled(*pipeline.stages(mobile(), "cortex-m4", settings=SMALL)), "", None, 0.0)
    assert program.check().agrees


def test_engines_share_the_constants_of_strips() -> None:
    """Weights that are arranged for kernels are there once, not once for each strip."""
    target = targets.find("rv32")
    whole, strips = (
        pipeline.stage(mobile(), target.name, "schedule", settings=settings) for settings in (DEFAULT, SMALL)
    )
    assert len(strips.layers) > len(whole.layers)
    assert strips.constant_bytes <= whole.constant_bytes + 16


@pytest.mark.in_turns(6)
def test_what_one_board_has_found_serves_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips of a graph are looked for once, and hold for other weights: every network keeps its own."""
    graph = mobile()
    other = replace(graph, constants={name: array[..., ::-1].copy() for name, array in graph.constants.items()})
    strips._known_sketches.cache_clear()
    fresh = pipeline.stage(other, "cortex-m7", "schedule", settings=SMALL)
    strips._known_sketches.cache_clear()
    pipeline.stage(graph, "cortex-m4", "fitted", settings=SMALL)
    monkeypatch.setattr(strips, "_in_counts", None)
    found, feeds = pipeline.stage(other, "cortex-m7", "schedule", settings=SMALL), feeds_of(other)
    assert str(found.graph) == str(fresh.graph)
    np.testing.assert_array_equal(
        interpret(found, feeds)[found.graph.outputs[0]], evaluate(other, feeds)[other.outputs[0]]
    )
