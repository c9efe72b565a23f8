"""Weights that a board's program copies to RAM: the most read first, as many as are allowed, and what that saves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.planner.refit.test_strips import mobile
from tilewright import pipeline
from tilewright.analysis.costs import analysis_of
from tilewright.codegen.sections import COPIED
from tilewright.errors import CompileError, InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.ir.evaluate import evaluate
from tilewright.planner.board.memory import board_memory
from tilewright.planner.check.events import check_events
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.program.program import Load
from tilewright.planner.schedule.events import Copy
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.program import Program
from tilewright.target.settings import Settings

BOARD = "nucleo-l4r5zi"


def planned(copied: int, target: str = BOARD) -> Schedule:
    found: Schedule = pipeline.stage(mobile(), target, "schedule", settings=Settings(copied_weights=copied))
    return found


@pytest.mark.in_turns(3)
def test_as_many_bytes_as_are_allowed() -> None:
    assert not planned(0).copied
    every = planned(10**6)
    assert every.copied == {name for call in every.layers for name in call.node.inputs if name in every.graph.constants}
    some = planned(every.copied_bytes // 2)
    assert 0 < some.copied_bytes <= every.copied_bytes // 2
    before, after = board_memory(planned(0))[0], board_memory(some)[0]
    assert after.needed == before.needed + some.copied_bytes
    assert analysis_of(some).planned_ram_bytes == analysis_of(planned(0)).planned_ram_bytes + some.copied_bytes


def test_a_note_says_what_is_copied() -> None:
    every, none = planned(10**6), planned(5)
    count = len(every.copied)
    assert every.graph.notes[-1] == f"{count} of {count} constants are copied to RAM: {every.copied_bytes} bytes"
    assert not none.copied
    assert none.graph.notes[-1].startswith(f"0 of {count} constants are copied to RAM: 0 bytes; ")


def test_none_where_ram_is_full() -> None:
    """Copies never are the reason that a network does not fit."""
    ram = board_memory(planned(0))[0].needed + 64
    settings = Settings(copied_weights=10**6, memories=(("ram", ram),))
    found: Schedule = pipeline.stage(mobile(), BOARD, "schedule", settings=settings)
    assert found.copied_bytes <= 64


@pytest.mark.in_turns(6)
def test_fewer_cycles_and_the_same_results() -> None:
    results = []
    for copied in (0, 10**6):
        made = pipeline.Compiled(*pipeline.stages(mobile(), BOARD, settings=Settings(copied_weights=copied)))
        assert (COPIED in made.files["network_data.c"]) == bool(copied)
        program = Program(made, "", None, 0.0)
        assert program.check().agrees
        results.append(program.run(program.random_inputs()))
    before, after = results
    assert (after.cycles or 0) < (before.cycles or 0)


@pytest.mark.parametrize(("target", "what"), [("cortex-m4", "no faster than flash"), ("generic", "--copy-weights")])
def test_refused_where_nothing_is_slow(target: str, what: str) -> None:
    with pytest.raises(CompileError, match=what):
        planned(1000, target)


def copies_of(schedule: Schedule, start: tuple[Load, ...]) -> Schedule:
    return replace(schedule, program=replace(schedule.program, start=start))


def test_layers_find_what_was_copied() -> None:
    """Copies happen before the first call: numpy computes from them, the validator knows what they hold."""
    schedule = planned(10**6)
    start, *_ = unroll(schedule)
    assert {event.target.tensor for event in start if isinstance(event, Copy)} == schedule.copied
    feeds = random_inputs({name: schedule.graph.types[name] for name in schedule.graph.inputs}, 0, {})
    wanted, found = evaluate(schedule.graph, feeds), interpret(schedule, feeds)
    assert all(np.array_equal(found[name], wanted[name]) for name in schedule.graph.outputs)
    first, *rest = schedule.program.start
    half = replace(first, bytes=first.bytes // 2)
    lost = interpret(copies_of(schedule, (half, *rest)), feeds)
    assert not all(np.array_equal(lost[name], wanted[name]) for name in schedule.graph.outputs)


def test_faults_in_copies_are_found() -> None:
    schedule = planned(10**6)
    first, second, *rest = schedule.program.start
    broken = {
        "is at RAM copy of": (second, *rest),
        "is not where": (replace(first, bytes=first.bytes - 1), second, *rest),
        "copies a constant twice": (first, first, second, *rest),
        "which is no constant": (replace(first, constant=schedule.graph.inputs[0]), second, *rest),
        "not from": (replace(first, target=first.source), second, *rest),
    }
    for what, start in broken.items():
        with pytest.raises(InternalError, match=what):
            check_schedule(copies_of(schedule, start))
    epochs = unroll(schedule)
    with pytest.raises(InternalError, match="which is fetched there"):
        check_events((epochs[0][1:], *epochs[1:]), schedule)
