"""What is kept between calls has bytes of its own; schedules compute with it, and validators find what breaks it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.support.checks import same
from tests.support.states import NETWORKS, accumulator, calls, cell, feeds_of, large_product, random_network, window
from tilewright import pipeline
from tilewright.codegen.network import Writer
from tilewright.codegen.text_of import text_of
from tilewright.errors import CompileError, InternalError
from tilewright.ir.evaluate import States
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.memory.validate import check_placement
from tilewright.ops.add import Add
from tilewright.ops.identity import Identity
from tilewright.ops.max import Max
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.tanh import Tanh
from tilewright.ops.transpose import Transpose
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.check.plan import check_plan
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.check.states import check_states
from tilewright.planner.cluster import planning
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.lower_tiles import lower_tiles
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.memory_map import STATE, memory_maps
from tilewright.target.settings import DEFAULT, Settings

QUICK = Settings(2, time_limit=1.0)
STEPS = 3


def scheduled(graph: Graph, target: str, settings: Settings = QUICK) -> Schedule:
    made: Schedule = pipeline.stage(graph, target, "schedule", settings=DEFAULT if target == "generic" else settings)
    return made


def check_steps(graph: Graph, schedule: Schedule) -> None:
    """Each call on a fresh machine that holds nothing but the states of the one before."""
    made, states = schedule.graph, None
    for feeds, wanted in zip(feeds_of(graph, STEPS), calls(graph, feeds_of(graph, STEPS)), strict=True):
        found = interpret(schedule, feeds, states)
        states: States | None = {state.name: found[state.after] for state in made.states}  # type: ignore[no-redef]
        for name, tensor in zip(made.output_names, made.outputs, strict=True):
            same(found[tensor], wanted[name])


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("target", ["generic", "siracusa", "quad"])
@pytest.mark.parametrize("name", NETWORKS)
def test_schedules_keep_states(name: str, target: str) -> None:
    check_steps(NETWORKS[name](), scheduled(NETWORKS[name](), target))


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(30))
def test_random_networks(seed: int) -> None:
    graph = random_network(seed)
    check_steps(graph, scheduled(graph, ("generic", "siracusa", "quad")[seed % 3]))


@pytest.mark.parametrize("settings", [Settings(1, 4_000), Settings(2, 6_000, buffering="single"), Settings(8)])
def test_states_of_several_tiles(settings: Settings) -> None:
    """A state that L1 does not hold at once is read and written over tile by tile."""
    graph = accumulator(6_000)
    schedule = scheduled(graph, "siracusa", replace(settings, time_limit=1.0))
    check_steps(graph, schedule)
    assert settings.l1 is None or any(layer.tiles > 1 for layer in schedule.layers)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("settings", "copied"), [
    (Settings(2), False), (Settings(1, 6_000), False),
    (Settings(2, home="L3", l2=150_000), True), (Settings(2, 9_000, home="L3", l2=140_000), True),
])  # fmt: skip
def test_a_layer_in_parts_does_not_write_a_state_too_early(settings: Settings, copied: bool) -> None:
    schedule = scheduled(large_product(), "siracusa", replace(settings, time_limit=1.0))
    assert any(isinstance(node.op, Identity) for node in schedule.graph.nodes) == copied
    check_steps(large_product(), schedule)


def test_states_are_never_in_l1() -> None:
    schedule = scheduled(cell(), "siracusa")
    for state in schedule.graph.states:
        assert schedule.homes[state.before] == schedule.homes[state.after]
        assert schedule.homes[state.before].memory == "L2"


def test_the_state_of_a_single_memory_is_the_start_of_the_arena() -> None:
    found = allocated()
    offsets = [found.homes[state.before].offset for state in found.mapped.graph.states]
    assert offsets == [0, 32]
    assert found.state_bytes == 64
    others = [b for b in found.problem.buffers if b.name not in {(s.before,) for s in found.mapped.graph.states}]
    assert all(found.solution.offsets[buffer.name] >= 64 for buffer in others if buffer.bytes)
    assert "the first 64 bytes are state" in str(found)


def test_states_that_l2_does_not_hold_are_refused_before_it_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "decide", None)
    with pytest.raises(CompileError) as error:
        scheduled(accumulator(20_000), "siracusa", replace(QUICK, l2=150_000))
    said = "80000 bytes are kept there from call to call; 51696 are there: 28304 are missing"
    assert "L2, states of 'accumulator'" in str(error.value)
    assert said in str(error.value)
    assert "--trainable last:2, or give it more: --l2 178304" in str(error.value)


def test_first_values_lie_where_constants_have_a_memory_of_their_own() -> None:
    """L2 has room for the state, but not for its first value too."""
    graph, tight = accumulator(20_000), replace(QUICK, l2=345_000)
    source = text_of(Writer(scheduled(graph, "siracusa", tight), "accumulator")).source()
    assert 'static const float values[] __attribute__((section(".weights"))) = {' in source
    assert "static const float values[] = {" in text_of(Writer(scheduled(graph, "quad"), "accumulator")).source()
    with pytest.raises(CompileError) as error:
        scheduled(graph, "siracusa", replace(tight, memories=(("wmem", 512 * 1024 + 79_999),)))
    assert "WMEM, states of 'accumulator'" in str(error.value)
    assert "80000 bytes are first values of what is kept from call to call; 79999 are there" in str(error.value)


@pytest.mark.in_turns(5)
def test_states_stay_where_activations_have_to_leave() -> None:
    """The weight memory has room for the state alone, and L2 would hold the rest."""
    b = Builder("leaving")
    x, z = b.input("x", TensorType("float32", (60, 100))), b.input("z", TensorType("float32", (5000,)))
    s = b.state("s", np.zeros(5000, np.float32))
    (first,) = b(Transpose((1, 0)), [x])
    (second,) = b(Transpose((1, 0)), [first])
    (third,) = b(Transpose((1, 0)), [b(Tanh(), [second])[0]])
    b.output(b(ReduceMax((0,)), [b(Max(), [first, third])[0]])[0], "y")
    b.set_next_state("s", b(Add(), [s, z])[0])
    graph = b.build()
    tight = replace(QUICK, l1=4000, l2=200_000, memories=(("wmem", 512 * 1024 + 22_000),))
    schedule = scheduled(graph, "siracusa", tight)
    homes = {schedule.homes[tensor].memory for node in schedule.graph.nodes for tensor in node.outputs}
    assert "L3" in homes, homes
    assert {schedule.homes[state.before].memory for state in schedule.graph.states} == {"L2"}
    check_steps(graph, schedule)


# ---- validators -----------------------------------------------------------------------------------------------------


@cache
def allocated() -> Allocation:
    made: Allocation = pipeline.stage(cell(), "generic", "tiled")
    return made


@cache
def planned() -> Plan:
    made: Plan = pipeline.stage(window(), "siracusa", "tiled", settings=QUICK)
    return made


def test_an_overlap_in_the_arena_is_found() -> None:
    found = allocated()
    states = {(state.before,) for state in found.mapped.graph.states}
    other = next(buffer.name for buffer in found.problem.buffers if buffer.name not in states and buffer.bytes)
    broken = replace(found.solution, offsets={**found.solution.offsets, other: 0})
    with pytest.raises(InternalError, match="overlap"):
        check_placement(found.problem, broken)


def test_a_state_that_is_given_up_too_early_is_found() -> None:
    found, graph = allocated(), allocated().mapped.graph
    owners = {name: place.owner for name, place in found.homes.items()}
    check_states(graph, owners, found.problem)
    kept = graph.states[0].before
    shorter = tuple(replace(b, last=1) if b.name == (kept,) else b for b in found.problem.buffers)
    with pytest.raises(InternalError, match=r"state 'h'.*not for all"):
        check_states(graph, owners, replace(found.problem, buffers=shorter))


def test_a_value_that_is_not_in_its_place_at_the_end_is_found() -> None:
    found, graph = allocated(), allocated().mapped.graph
    owners = {name: place.owner for name, place in found.homes.items()} | {graph.states[0].after: "elsewhere"}
    with pytest.raises(InternalError, match="in the bytes of 'elsewhere'"):
        check_states(graph, owners, found.problem)


def test_a_reader_behind_the_new_value_is_found() -> None:
    found, graph = allocated(), allocated().mapped.graph
    owners = {name: place.owner for name, place in found.homes.items()}
    late = replace(graph, nodes=tuple(reversed(graph.nodes)))
    with pytest.raises(InternalError, match=r"written over|writes over"):
        check_states(late, owners, found.problem)


@pytest.mark.in_turns(6)
def test_an_overlap_in_l2_is_found() -> None:
    plan: Plan = pipeline.stage(window(3, 4_000), "siracusa", "tiled", settings=replace(QUICK, l1=30_000))
    (state,) = plan.mapped.graph.states
    other = next(home for name, home in plan.homes.items() if home.is_in("L2") and home.owner == name != state.before)
    homes = {
        name: replace(home, offset=other.offset) if home.owner == state.before else home
        for name, home in plan.homes.items()
    }
    with pytest.raises(InternalError, match="overlap"):
        check_plan(replace(plan, homes=homes))
    with pytest.raises(InternalError):
        check_schedule(lower_tiles(replace(plan, homes=homes)))


def test_a_state_in_l1_is_found() -> None:
    plan = planned()
    (state,) = plan.mapped.graph.states
    homes = {
        name: replace(home, memory="L1") if home.owner == state.before else home for name, home in plan.homes.items()
    }
    with pytest.raises(InternalError, match=r"state 'frames'|expects"):
        check_plan(replace(plan, homes=homes))


def test_the_memory_map_shows_states() -> None:
    l2 = memory_maps(planned())[1]
    (kept,) = (region for region in l2.regions if region.kind == STATE)
    assert kept.name == "frames"
    assert (kept.first, kept.last) == (0, len(planned().steps) - 1)
    assert "state frames is kept at L2+" in str(planned())
