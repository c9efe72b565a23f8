"""Schedules without a cluster: whatever the validator lets pass computes the right outputs, and faults are found."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests.accelerator.folders import QVANILLA
from tests.accelerator.test_networks import branches, chain
from tests.planner.arena.test_pieces import in_rows
from tests.planner.networks import NETWORKS
from tests.support.checks import same
from tests.support.states import accumulator, cell, crossed, window
from tilewright import pipeline
from tilewright.errors import InternalError
from tilewright.ir.arrays import random_inputs
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.check.calls import check_calls
from tilewright.planner.home import ARENA
from tilewright.planner.schedule.schedule import Call, Schedule, interpret
from tilewright.target.settings import Settings

UNITS = Settings(accelerators=(str(QVANILLA),) * 2)
MADE: dict[str, Callable[[], tuple[Graph, str, Settings]]] = {
    **{name: lambda name=name: (graph_of(name), "generic", Settings())
       for name in ("residual", "joined", "parts", "quantised_residual")},
    **{f"{name} on a computer": lambda name=name: (graph_of(name), "cpu", Settings())
       for name in ("joined", "parts", "normalised")},
    "rows of a tensor": lambda: (in_rows(), "cpu", Settings()),
    "inputs in the arena": lambda: (graph_of("quantised_convolutions"), "cortex-m4", Settings()),
    "cell": lambda: (cell(), "generic", Settings()),
    "crossed": lambda: (crossed(), "generic", Settings()),
    "window": lambda: (window(), "cortex-m4", Settings()),
    "accumulator": lambda: (accumulator(), "cpu", Settings()),
    "two units": lambda: (branches(), "rv32", UNITS),
    "one after the other": lambda: (chain(), "rv32", UNITS),
}  # fmt: skip
"""Views, results in the place of operands, tensors inside others, inputs inside the arena, states, jobs."""

FAULTS, LEAST = 40, 10
"""That are put into each schedule, and of which so many are found at the least: some change nothing."""

Fault = Callable[[Schedule, random.Random], Schedule]


def idle(schedule: Schedule) -> set[str]:
    """Nodes that nobody computes, as their results lie where they should."""
    called = {call.node.key for call in schedule.calls}
    return {node.key for node in schedule.graph.nodes if not node.op.view} - called


def graph_of(name: str) -> Graph:
    return pipeline.import_model(NETWORKS[name]())


@cache
def scheduled(name: str) -> Schedule:
    graph, target, settings = MADE[name]()
    made: Schedule = pipeline.stage(graph, target, "schedule", settings=settings)
    return made


@cache
def outputs(name: str) -> dict[str, Array]:
    return computed(scheduled(name))


def computed(schedule: Schedule) -> dict[str, Array]:
    graph = schedule.graph
    return interpret(schedule, random_inputs({name: graph.types[name] for name in graph.inputs}, seed=1))


# ---- faults ---------------------------------------------------------------------------------------------------------


def other_offset(schedule: Schedule, rng: random.Random) -> Schedule:
    name = rng.choice(sorted(name for name, home in schedule.places.items() if home.kind == ARENA))
    others = [home.offset for home in schedule.places.values() if home.kind == ARENA]
    home = schedule.places[name]
    moved = rng.choice([home.offset + rng.choice([-64, -16, -4, -1, 1, 4, 16, 64]), rng.choice(others), 1 << 30])
    return replace(schedule, places={**schedule.places, name: replace(home, offset=moved)})


def other_home(schedule: Schedule, rng: random.Random) -> Schedule:
    one, other = rng.sample(sorted(schedule.places), 2)
    return replace(schedule, places={**schedule.places, one: schedule.places[other]})


def other_order(schedule: Schedule, rng: random.Random) -> Schedule:
    calls = list(schedule.calls)
    first, second = rng.sample(range(len(calls)), 2)
    calls[first], calls[second] = calls[second], calls[first]
    return replace(schedule, calls=tuple(calls))


def fewer_calls(schedule: Schedule, rng: random.Random) -> Schedule:
    at = rng.randrange(len(schedule.calls))
    return replace(
        schedule,
        calls=schedule.calls[:at] + schedule.calls[at + 1 :],
        waits=schedule.waits[:at] + schedule.waits[at + 1 :],
    )


def more_calls(schedule: Schedule, rng: random.Random) -> Schedule:
    at, again = rng.randrange(len(schedule.calls)), rng.choice(schedule.calls)
    calls, waits = schedule.calls, schedule.waits
    return replace(schedule, calls=(*calls[:at], again, *calls[at:]), waits=(*waits[:at], (), *waits[at:]))


def other_scratch(schedule: Schedule, rng: random.Random) -> Schedule:
    return _call_changed(
        schedule,
        rng,
        lambda call: replace(call, scratch=None if call.scratch is None else rng.choice([None, 0, call.scratch + 4])),
    )


def other_params(schedule: Schedule, rng: random.Random) -> Schedule:
    return _call_changed(schedule, rng, lambda call: replace(call, params=rng.choice(schedule.calls).params))


def other_kernel(schedule: Schedule, rng: random.Random) -> Schedule:
    return _call_changed(schedule, rng, lambda call: replace(call, kernel=rng.choice(schedule.calls).kernel))


def _call_changed(schedule: Schedule, rng: random.Random, change: Callable[[Call], Call]) -> Schedule:
    at = rng.randrange(len(schedule.calls))
    return replace(
        schedule, calls=(*schedule.calls[:at], change(schedule.calls[at]), *schedule.calls[at + 1 :])
    )  # fmt: skip


def smaller_arena(schedule: Schedule, rng: random.Random) -> Schedule:
    return replace(schedule, arena_bytes=max(schedule.arena_bytes - rng.choice([1, 16, 256]), 0))


def other_input(schedule: Schedule, rng: random.Random) -> Schedule:
    moved = {name: max(start + rng.choice([-16, 16, 64]), 0) for name, start in schedule.inputs.items()}
    return replace(schedule, inputs=moved)


ALL: tuple[Fault, ...] = (
    other_offset, other_home, other_order, fewer_calls, more_calls, other_scratch, other_params, other_kernel,
    smaller_arena, other_input,
)  # fmt: skip


# ---- tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MADE))
def test_faults_are_found(name: str) -> None:
    """A fault may change nothing: then the outputs are the same."""
    rng, found = random.Random(name), 0
    check_calls(scheduled(name))
    for number in range(FAULTS):
        broken = ALL[number % len(ALL)](scheduled(name), rng)
        try:
            check_calls(broken)
        except InternalError:
            found += 1
            continue
        for tensor, value in computed(broken).items():
            same(value, outputs(name)[tensor])
    assert found >= LEAST


@pytest.mark.parametrize("name", ["two units", "one after the other"])
def test_a_wait_that_is_left_out_or_late_is_found(name: str) -> None:
    schedule = scheduled(name)
    assert any(schedule.waits)
    for at, waited in enumerate(schedule.waits):
        for number in waited:
            less = tuple(one for one in waited if one != number)
            missing = (*schedule.waits[:at], less, *schedule.waits[at + 1 :])
            late = (*missing[:-1], (*missing[-1], number))
            for waits in (missing, late) if at < len(schedule.calls) else (missing,):
                with pytest.raises(InternalError, match=r"waited for|nobody waits|is submitted while"):
                    check_calls(replace(schedule, waits=waits))


def test_a_result_in_the_place_of_what_is_still_read_is_found() -> None:
    """As it would be if a layer were thought to read element by element that does not."""
    schedule = scheduled("residual")
    call = next(
        call
        for call in schedule.calls
        if not call.node.op.elementwise and schedule.places[call.node.inputs[0]].kind == ARENA
    )
    places = {**schedule.places, call.node.key: schedule.places[call.node.inputs[0]]}
    with pytest.raises(InternalError, match="where it reads"):
        check_calls(replace(schedule, places=places))


def changed_first(schedule: Schedule, change: Callable[[Call], Call]) -> Schedule:
    first, *others = schedule.calls
    return replace(schedule, calls=(change(first), *others))


def test_calls_of_other_engines_and_nodes_are_found() -> None:
    schedule = scheduled("two units")
    assert len({call.engine for call in schedule.calls}) > 1
    other = next(call.engine for call in schedule.calls if call.engine != schedule.calls[0].engine)
    with pytest.raises(InternalError, match="has no kernel"):
        check_calls(changed_first(schedule, lambda call: replace(call, engine=other)))
    schedule = scheduled("residual")
    call = schedule.calls[0]
    broken = replace(call.node, inputs=(*call.node.inputs[:-1], call.node.inputs[0]))
    with pytest.raises(InternalError, match="is not a node of the graph"):
        check_calls(changed_first(schedule, lambda call: replace(call, node=broken)))


def test_all_kinds_of_sharing_are_there() -> None:
    """So that the faults above are put into each of them."""
    schedules = [scheduled(name) for name in MADE]
    assert any(schedule.inputs for schedule in schedules)
    assert any(any(schedule.waits) for schedule in schedules)
    assert any(schedule.graph.states for schedule in schedules)
    assert any(call.scratch is not None for schedule in schedules for call in schedule.calls)
    assert any(idle(schedule) for schedule in schedules)
