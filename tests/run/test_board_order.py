"""Programs of boards run as they say: the core comes to kernels, jobs and waits for them in the order of the events
that the program unrolls to; one event elsewhere is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from tests.planner.check.test_arena import MADE
from tilewright.codegen.kernels import instance_of
from tilewright.errors import InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.pipeline import Compiled, stages
from tilewright.planner.program import program as trees
from tilewright.planner.program.program import CORES
from tilewright.planner.schedule.events import AwaitJob, TileCall
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.program import Program
from tilewright.run.board import BoardProgram
from tilewright.run.simulated import CallMeter, run_to_end

CASES = ("inputs in the arena", "two units", "one after the other")


def said(schedule: Schedule) -> Iterator[str]:
    """The functions that are called, as the events say."""
    functions = [instance_of(schedule.graph, layer) for layer in schedule.layers]
    jobs: dict[int, int] = {}
    for epoch in unroll(schedule):
        for event in epoch:
            if isinstance(event, TileCall):
                jobs[event.job] = event.layer
                yield functions[event.layer].function
            elif isinstance(event, AwaitJob):
                yield functions[jobs[event.job]].finish


@cache
def seen(case: str) -> tuple[Schedule, tuple[str, ...]]:
    """The functions that the core comes to in a run."""
    graph, target, settings = MADE[case]()
    program = Program(Compiled(*stages(graph, target, "net", settings)), "net", None, 0.0).build_soc()
    assert isinstance(program, BoardProgram)
    writer, schedule = program.network, program.network.schedule
    inputs = random_inputs({name: schedule.graph.types[name] for name in schedule.graph.inputs}, seed=1)
    with program.target.machine() as machine:
        elf = machine.load(program.build(inputs))
        names = [name for kernel in writer.kernels for name in kernel.functions.values()]
        places = {elf.symbols[name]: name for name in names}
        machine.probe(places, metered=CallMeter.of(elf, f"{writer.name}_run").places)
        run_to_end(machine)
        found = tuple(places[event.address] for event in machine.probes() if event.address in places)
    return schedule, found


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("case", CASES)
def test_the_core_does_what_the_program_says(case: str) -> None:
    schedule, found = seen(case)
    assert list(found) == list(said(schedule))


@pytest.mark.parametrize("case", CASES)
def test_another_order_is_found(case: str) -> None:
    schedule, found = seen(case)
    bodies = schedule.program.agents[CORES]
    tried = 0
    for at, body in enumerate(bodies):
        if body.before or body.events:
            without = (*bodies[:at], replace(body, before=(), events=()), *bodies[at + 1 :])
            tiles = replace(schedule, program=trees.Program({CORES: without}))
            tried += 1
            assert not is_said(tiles, found)
    assert tried > 1


def is_said(schedule: Schedule, found: tuple[str, ...]) -> bool:
    """Whether events say this; a wait for what was not submitted says nothing."""
    try:
        return list(found) == list(said(schedule))
    except InternalError:
        return False
