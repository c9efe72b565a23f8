"""Activations that live in L3: chosen where L2 does not hold them, right on the virtual SoC, checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from onnx import ModelProto

import tilewright as tw
from tests.planner.networks import NETWORKS
from tests.planner.planning import Prepared, prepared
from tests.planner.simulating import painted, program_of, sanitized
from tests.support.models import model, node
from tests.support.quantiser import quantise
from tilewright.errors import CompileError, InternalError
from tilewright.planner.check.plan import check_plan
from tilewright.planner.cluster.capacity import io_bytes
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.home import Home
from tilewright.profiling.memory_map import memory_maps
from tilewright.target.settings import Settings
from tilewright.targets import find

pytestmark = pytest.mark.in_turns(8)

MEMORIES = find("siracusa").paths
RESERVED = MEMORIES.home.reserved
"""Bytes of L2 that the program around the network has."""


def skips() -> ModelProto:
    """Two long connections over convolutions."""
    random = np.random.default_rng(1)
    shapes = {"a": (8, 4, 3, 3), "b": (8, 8, 3, 3), "c": (8, 8, 3, 3), "d": (8, 1, 3, 3), "e": (4, 8, 1, 1)}
    constants = {f"w{n}": random.normal(0, 0.3, shape).astype(np.float32) for n, shape in shapes.items()}
    nodes = [
        node("Conv", "x wa", "a", pads=[1, 1, 1, 1]), node("Relu", "a", "ra"),
        node("Conv", "ra wb", "b", pads=[1, 1, 1, 1]), node("Relu", "b", "rb"),
        node("Conv", "rb wc", "c", pads=[1, 1, 1, 1]), node("Add", "c rb", "p"),
        node("Conv", "p wd", "d", pads=[1, 1, 1, 1], group=8), node("Add", "d ra", "q"), node("Relu", "q", "r"),
        node("Conv", "r we", "y"),
    ]  # fmt: skip
    return model(nodes, {"x": (1, 4, 22, 26)}, ["y"], constants)


def quantised_skips() -> ModelProto:
    made = skips()
    return quantise(made, {"x": np.random.default_rng(2).normal(0, 1, (1, 4, 22, 26)).astype(np.float32)})


Network = Callable[[], ModelProto]


@cache
def ready(network: Network) -> Prepared:
    return prepared(network())


def cramped(network: Network, left: int, l1: int, cores: int = 8, buffering: str = "auto") -> Settings:
    """L2 has `left` bytes beside inputs and outputs, and WMEM is the NPU's alone."""
    size = RESERVED + io_bytes(ready(network).meaning, MEMORIES) + left
    return Settings(cores, l1, size, "L3", buffering, time_limit=1.0, weight_memory=False)


def in_l3(plan: Plan) -> set[str]:
    return {home.owner for home in plan.homes.values() if home.is_in("L3")}


CASES = {
    "floats": (skips, 16_000, 16_000, 8, "auto"),
    "quantised, with an NPU": (quantised_skips, 8_000, 8_000, 8, "auto"),
    "one core": (NETWORKS["odd_sizes"], 2_500, 4_000, 1, "single"),
    "tiles of one core": (NETWORKS["wide_integers"], 1_000, 3_000, 8, "auto"),
    "parts of a Concat": (NETWORKS["joined"], 1_000, 4_000, 3, "double"),
}


@cache
def compiled(case: str) -> tw.Program:
    network, *others = CASES[case]
    return tw.compile(network(), target="siracusa", settings=cramped(network, *others))


def planned(case: str) -> Plan:
    return compiled(case).plan


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("case", CASES)
def test_networks_agree(case: str) -> None:
    """On the virtual SoC, where nothing touches what is in flight."""
    program = compiled(case)
    assert in_l3(program.plan)
    check = program.check()
    assert check.agrees, str(check.first_difference)
    elf = program_of(program, program.random_inputs())
    assert f"cycles {check.result.cycles}\n" in sanitized(elf)
    assert min(painted(program, elf).unused()) >= 16, "a stack was used to its end"


def test_numpy_gets_the_same_from_the_plan() -> None:
    """Every part passes through its buffers."""
    for case in ("tiles of one core", "parts of a Concat"):
        network = ready(CASES[case][0])
        network.check_plan(planned(case), network.inputs())


def test_each_mode_takes_part() -> None:
    found = {
        (step.option.mode, step.option.double)
        for case in ("floats", "quantised, with an NPU", "tiles of one core")
        for step in planned(case).steps
        if step.staging_offsets
    }
    assert {("cooperative", True), ("per_core", False)} <= found
    assert any(mode == "offload" for mode, _ in found)
    assert ("per_core", True) not in found


def test_only_what_no_other_memory_holds() -> None:
    network, settings = ready(NETWORKS["wide_integers"]), planned("tiles of one core").settings
    assert in_l3(planned("tiles of one core"))
    with_spare = network.plan(replace(settings, weight_memory=True))
    assert not in_l3(with_spare)
    assert any(home.is_in("WMEM") for home in with_spare.homes.values())
    with_room = network.plan(replace(settings, l2=None))
    assert {home.memory for home in with_room.homes.values() if home.kind == "arena"} <= {"L1", "L2"}


def test_the_memory_map_shows_them() -> None:
    plan = planned("tiles of one core")
    l2, l3 = (next(m for m in memory_maps(plan) if m.memory == name) for name in ("L2", "L3"))
    assert in_l3(plan) <= {region.name for region in l3.regions}
    assert "activations spilled from L2" in l3.remark
    assert any(region.name.endswith("from or to L3") for region in l2.regions)


def test_what_does_not_fit_either_is_refused() -> None:
    """Not even the smallest tile fits its staging buffer in L2; with what is said to be missing it does."""
    network = NETWORKS["wide_integers"]
    with pytest.raises(CompileError) as error:
        ready(network).plan(cramped(network, 200, 3_000))
    assert error.value.where.startswith("L2, node ")
    found = re.search(r"at least (\d+) bytes are needed .*, (\d+) are left .*: (\d+) are missing", error.value.what)
    assert found is not None
    needed, left, missing = map(int, found.groups())
    assert missing == needed - left > 0
    assert in_l3(ready(network).plan(cramped(network, 200 + missing, 3_000)))


# ---- the validator --------------------------------------------------------------------------------------------------


def complaint(plan: Plan) -> str:
    with pytest.raises(InternalError) as error:
        check_plan(plan)
    return error.value.what


def sound() -> tuple[Plan, int, str]:
    """A plan, one of its steps, and an operand of that which lives in L3."""
    plan = planned("tiles of one core")
    number = next(i for i, step in enumerate(plan.steps) if step.staging_offsets)
    return plan, number, next(iter(plan.steps[number].staging_offsets))


def changed(plan: Plan, number: int, change: Callable[[Step], Step]) -> Plan:
    return replace(plan, steps=(*plan.steps[:number], change(plan.steps[number]), *plan.steps[number + 1 :]))


def with_operand(plan: Plan, number: int, name: str, **changes: object) -> Plan:
    def change(step: Step) -> Step:
        found = (o._replace(**changes) if o.name == name else o for o in step.option.operands)  # type: ignore[arg-type]
        return replace(step, option=replace(step.option, operands=tuple(found)))

    return changed(plan, number, change)


def test_a_sound_plan_passes() -> None:
    plan, _, _ = sound()
    assert check_plan(plan) is plan


def test_a_layer_that_looks_elsewhere() -> None:
    plan, number, name = sound()
    assert "elsewhere than L3+" in complaint(with_operand(plan, number, name, spilled=False))


def test_a_layer_that_works_in_l3() -> None:
    plan, number, name = sound()
    assert "where it lies, in L3" in complaint(with_operand(plan, number, name, streamed=False))


def test_a_part_without_a_staging_buffer() -> None:
    plan, number, name = sound()
    lost = changed(plan, number, lambda step: replace(step, staging_offsets={}))
    assert complaint(lost) == f"{name} has no staging buffer in L2"


def test_buffers_that_overlap_in_l2() -> None:
    plan, number, _ = sound()
    l2 = changed(
        plan,
        number,
        lambda step: replace(step, staging_offsets=dict.fromkeys(step.staging_offsets, plan.home_arena.peak)),
    )
    assert "beyond the peak" in complaint(l2)
    two = next(i for i, step in enumerate(plan.steps) if len(step.staging_offsets) > 1)
    same = changed(plan, two, lambda step: replace(step, staging_offsets=dict.fromkeys(step.staging_offsets, 0)))
    assert "overlap" in complaint(same)


def test_two_buffers_of_per_core_tiles() -> None:
    plan, _, _ = sound()
    number = next(i for i, step in enumerate(plan.steps) if step.staging_offsets and step.option.mode == "per_core")
    twice = changed(plan, number, lambda step: replace(step, option=replace(step.option, double=True)))
    assert "per_core tiles have two buffers" in complaint(twice)


def test_more_than_l3_has() -> None:
    plan, _, _ = sound()
    arena = plan.arena(plan.memories.spill)
    large = replace(arena, solution=replace(arena.solution, peak=2**23 + 16))
    assert "in L3" in complaint(replace(plan, arenas={**plan.arenas, "L3": large}))


def test_tensors_that_overlap_in_l3() -> None:
    plan = planned("floats")
    homes = {n: Home("arena", h.owner, "L3", 0) if h.is_in("L3") else h for n, h in plan.homes.items()}
    assert "overlap" in complaint(replace(plan, homes=homes))


def test_profiles_say_who_waits_for_l3() -> None:
    program = compiled("tiles of one core")
    layers = program.profile(program.random_inputs()).profile.layers
    stored = [number for number, step in enumerate(program.plan.steps) if step.staging_offsets]
    assert {layers[number].home for number in stored} == {"L3"}
    assert all(layers[number].waiting > 0 for number in stored)
