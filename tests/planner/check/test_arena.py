"""Schedules of machines without links: whatever the validator lets pass computes the right outputs, and faults are
found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
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
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.home import ARENA, Home
from tilewright.planner.program.program import CORES, WaitLayer
from tilewright.planner.schedule.build_program import build_arena_program
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
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
    "copied weights": lambda: (graph_of("quantised_convolutions"), "nucleo-l4r5zi", Settings(copied_weights=10**6)),
    "window": lambda: (window(), "cortex-m4", Settings()),
    "accumulator": lambda: (accumulator(), "cpu", Settings()),
    "two units": lambda: (branches(), "rv32", UNITS),
    "one after the other": lambda: (chain(), "rv32", UNITS),
}  # fmt: skip
"""Views, results in the place of operands, tensors inside others, inputs inside the arena, states, jobs."""

WAITS = r"waited for|nobody waits|is submitted while|while layer|elements of"
"""What is said where one is missing."""

FAULTS, LEAST = 40, 10
"""That are put into each schedule, and of which so many are found at the least: some change nothing."""

Fault = Callable[[Schedule, random.Random], Schedule]


def idle(schedule: Schedule) -> set[str]:
    """Nodes that nobody computes, as their results lie where they should."""
    computed = {layer.node.key for layer in schedule.layers}
    return {node.key for node in schedule.graph.nodes if not node.op.view} - computed


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


def with_homes(schedule: Schedule, homes: dict[str, Home]) -> Schedule:
    """Its layers look for tensors there too."""
    layers = tuple(
        replace(layer, arguments=tuple(replace(one, home=homes[one.operand.tensor]) for one in layer.arguments))
        for layer in schedule.layers
    )
    return replace(schedule, homes=homes, layers=layers)


def with_layers(schedule: Schedule, layers: Sequence[LayerSchedule]) -> Schedule:
    """In this order, with what was waited for at each place."""
    made = tuple(replace(layer, number=number) for number, layer in enumerate(layers))
    *waits, last = waits_of(schedule)
    waits += [()] * len(layers)
    return with_waits(replace(schedule, layers=made), [*waits[: len(layers)], last])


def waits_of(schedule: Schedule) -> list[tuple[int, ...]]:
    """Before every layer, and at the end."""
    bodies = schedule.program.agents[CORES]
    return [tuple(one.layer for one in body.before if isinstance(one, WaitLayer)) for body in bodies]


def with_waits(schedule: Schedule, waits: list[tuple[int, ...]]) -> Schedule:
    program = build_arena_program(schedule.layers, waits, schedule.cores)
    return replace(schedule, program=program)


def other_offset(schedule: Schedule, rng: random.Random) -> Schedule:
    name = rng.choice(sorted(name for name, home in schedule.homes.items() if home.kind == ARENA))
    others = [home.offset for home in schedule.homes.values() if home.kind == ARENA]
    home = schedule.homes[name]
    moved = rng.choice([home.offset + rng.choice([-64, -16, -4, -1, 1, 4, 16, 64]), rng.choice(others), 1 << 30])
    return with_homes(schedule, {**schedule.homes, name: replace(home, offset=moved)})


def other_home(schedule: Schedule, rng: random.Random) -> Schedule:
    one, other = rng.sample(sorted(schedule.homes), 2)
    return with_homes(schedule, {**schedule.homes, one: schedule.homes[other]})


def other_order(schedule: Schedule, rng: random.Random) -> Schedule:
    layers = list(schedule.layers)
    first, second = rng.sample(range(len(layers)), 2)
    layers[first], layers[second] = layers[second], layers[first]
    return with_layers(schedule, layers)


def fewer_layers(schedule: Schedule, rng: random.Random) -> Schedule:
    at = rng.randrange(len(schedule.layers))
    return with_layers(schedule, schedule.layers[:at] + schedule.layers[at + 1 :])


def more_layers(schedule: Schedule, rng: random.Random) -> Schedule:
    at, again = rng.randrange(len(schedule.layers)), rng.choice(schedule.layers)
    return with_layers(schedule, (*schedule.layers[:at], again, *schedule.layers[at:]))


def other_scratch(schedule: Schedule, rng: random.Random) -> Schedule:
    def moved(layer: LayerSchedule) -> LayerSchedule:
        own = layer.scratch
        if own is None:
            return layer
        moved = rng.choice([0, own.offset + 4, own.offset + 64])
        return replace(layer, scratch=rng.choice([None, replace(own, offset=moved), replace(own, bytes=own.bytes - 1)]))

    return _changed(schedule, rng, moved)


def other_params(schedule: Schedule, rng: random.Random) -> Schedule:
    return _changed(schedule, rng, lambda layer: replace(layer, tile_params=rng.choice(schedule.layers).tile_params))


def other_kernel(schedule: Schedule, rng: random.Random) -> Schedule:
    return _changed(
        schedule, rng, lambda one: replace(one, option=replace(one.option, kernel=rng.choice(schedule.layers).kernel))
    )


def _changed(schedule: Schedule, rng: random.Random, change: Callable[[LayerSchedule], LayerSchedule]) -> Schedule:
    at = rng.randrange(len(schedule.layers))
    layers = (*schedule.layers[:at], change(schedule.layers[at]), *schedule.layers[at + 1 :])
    return replace(schedule, layers=layers)


def smaller_arena(schedule: Schedule, rng: random.Random) -> Schedule:
    less = rng.choice([1, 16, 256])
    arenas = {name: max(size - less, 0) for name, size in schedule.arenas.items()}
    return replace(schedule, arenas=arenas)


def other_input(schedule: Schedule, rng: random.Random) -> Schedule:
    homes = dict(schedule.homes)
    for name, start in schedule.inputs.items():
        homes[name] = replace(homes[name], offset=max(start + rng.choice([-16, 16, 64]), 0))
    return with_homes(schedule, homes)


ALL: tuple[Fault, ...] = (
    other_offset, other_home, other_order, fewer_layers, more_layers, other_scratch, other_params, other_kernel,
    smaller_arena, other_input,
)  # fmt: skip


# ---- tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", sorted(MADE))
def test_faults_are_found(name: str) -> None:
    """A fault may change nothing: then the outputs are the same."""
    rng, found = random.Random(name), 0
    check_schedule(scheduled(name))
    for number in range(FAULTS):
        broken = ALL[number % len(ALL)](scheduled(name), rng)
        try:
            check_schedule(broken)
        except InternalError:
            found += 1
            continue
        for tensor, value in computed(broken).items():
            same(value, outputs(name)[tensor])
    assert found >= LEAST


@pytest.mark.parametrize("name", ["two units", "one after the other"])
def test_a_wait_that_is_left_out_or_late_is_found(name: str) -> None:
    schedule = scheduled(name)
    waits = waits_of(schedule)
    assert any(waits)
    for at, waited in enumerate(waits):
        for number in waited:
            missing = [*waits[:at], tuple(one for one in waited if one != number), *waits[at + 1 :]]
            late = [*missing[:-1], tuple(sorted((*missing[-1], number)))]
            for found in (missing, late) if at < len(schedule.layers) else (missing,):
                with pytest.raises(InternalError, match=WAITS):
                    check_schedule(with_waits(schedule, found))


def test_a_result_in_the_place_of_what_is_still_read_is_found() -> None:
    """As it would be if a layer were thought to read element by element that does not."""
    schedule = scheduled("residual")
    node = next(
        layer.node
        for layer in schedule.layers
        if not layer.node.op.elementwise and schedule.homes[layer.node.inputs[0]].kind == ARENA
    )
    homes = {**schedule.homes, node.key: schedule.homes[node.inputs[0]]}
    with pytest.raises(InternalError, match="where it reads"):
        check_schedule(with_homes(schedule, homes))


def with_option(schedule: Schedule, **changed: object) -> Schedule:
    first, *others = schedule.layers
    layers = (replace(first, option=replace(first.option, **changed)), *others)
    return replace(schedule, layers=layers)


def test_layers_of_other_engines_and_nodes_are_found() -> None:
    schedule = scheduled("two units")
    assert len({layer.engine for layer in schedule.layers}) > 1
    other = next(layer.engine for layer in schedule.layers if layer.engine != schedule.layers[0].engine)
    with pytest.raises(InternalError, match="has no kernel"):
        check_schedule(with_option(schedule, engine=other))
    schedule = scheduled("residual")
    node = schedule.layers[0].node
    broken = replace(node, inputs=(*node.inputs[:-1], node.inputs[0]))
    with pytest.raises(InternalError, match="is not a node of the graph"):
        check_schedule(with_option(schedule, node=broken))


def test_all_kinds_of_sharing_are_there() -> None:
    """So that the faults above are put into each of them."""
    schedules = [scheduled(name) for name in MADE]
    assert any(schedule.inputs for schedule in schedules)
    assert any(any(waits_of(schedule)) for schedule in schedules)
    assert any(schedule.graph.states for schedule in schedules)
    assert any(layer.scratch is not None for schedule in schedules for layer in schedule.layers)
    assert any(idle(schedule) for schedule in schedules)
