"""Copies that are nothing but transfers, and outputs that layers of the network read too."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import tilewright as tw
from tests.planner.check.test_plan import complaint, with_step, with_way
from tests.planner.networks import cached
from tests.planner.planning import Prepared, prepared
from tests.planner.simulating import in_noise, program_of, sanitized
from tests.support.models import model, node
from tilewright.codegen.dma import Shaped, copy
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import TensorType
from tilewright.ops.identity import Identity
from tilewright.passes.fit.tile_outputs import tile_outputs
from tilewright.pipeline import import_model
from tilewright.planner.cluster.plan import Home, Plan
from tilewright.planner.schedule.layer_schedule import DMA_IN, DMA_IN_STRIDED, DMA_OUT, DMA_OUT_ROWS
from tilewright.target.settings import Settings
from tilewright.tiling.dma_shapes import dma_shape
from tilewright.tiling.tiles import Inside, TileGrid


@cache
def network() -> Prepared:
    return prepared(cached())


@cache
def planned() -> Plan:
    return network().plan(Settings(8))


def where(plan: Plan, tensor: str) -> str:
    """The memory of a tensor in an arena, or whose it is."""
    home = plan.homes[tensor]
    return home.memory if home.kind == "arena" else home.kind


def moves(plan: Plan) -> list[tuple[int, str, str]]:
    """The steps that are DMA copies, from where to where."""
    return [
        (number, where(plan, step.option.node.inputs[0]), where(plan, step.option.node.key))
        for number, step in enumerate(plan.steps)
        if step.option.mode == "dma_copy"
    ]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("l1", [None, 4_000, 16_000])
def test_caches_are_copied_into_place_and_out(l1: int | None) -> None:
    plan = network().check(Settings(8, l1), network().inputs())
    assert ("input", "L1") in [(source, target) for _, source, target in moves(plan)]
    assert ("L1", "output") in [(source, target) for _, source, target in moves(plan)]


def test_what_is_copied_for_the_caller_begins_while_the_network_reads_it() -> None:
    plan = planned()
    number = next(number for number, step in enumerate(plan.steps) if step.option.node.key == "rows")
    step, before = plan.steps[number], plan.steps[number - 1]
    assert step.prefetch_distance == 1
    assert plan.homes[step.option.node.inputs[0]].owner in before.option.owners.values()
    assert before.option.mode == "cooperative"


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", [1, 8])
def test_moved_on_the_machine(cores: int) -> None:
    program = tw.compile(cached(), target="siracusa", settings=Settings(cores))
    check = program.check()
    assert check.agrees, str(check.first_difference)
    elf = program_of(program, program.random_inputs())
    assert sanitized(elf) == in_noise(elf)


def of(plan: Plan, source: str, target: str) -> int:
    return next(number for number, *ends in moves(plan) if ends == [source, target])


def test_moved_before_it_is_made() -> None:
    number = of(planned(), "L1", "output")
    assert "has made it" in complaint(
        with_step(planned(), number, lambda step: replace(step, prefetch_distance=number))
    )


def test_copied_between_homes_in_l2() -> None:
    number = of(planned(), "L1", "output")
    source = planned().steps[number].option.node.inputs[0]
    owner = planned().homes[source].owner
    l2 = {name: Home("arena", owner, "L2") if home.owner == owner else home for name, home in planned().homes.items()}
    options = [replace(step.option, inside=step.option.inside - {owner}) for step in planned().steps]
    steps = tuple(replace(step, option=option) for step, option in zip(planned().steps, options, strict=True))
    assert "which no transfer of the DMA does" in complaint(replace(planned(), homes=l2, steps=steps))


def test_copied_into_l3() -> None:
    number = of(planned(), "L1", "output")
    result, graph = planned().steps[number].option.node.key, planned().mapped.graph
    others = replace(graph, outputs=tuple(name for name in graph.outputs if name != result))
    homes = {**planned().homes, result: Home("arena", result, "L3")}
    plan = replace(planned(), mapped=replace(planned().mapped, graph=others), homes=homes)
    assert "which no transfer of the DMA does" in complaint(plan)


def test_copied_into_the_arena_of_l2_before_its_turn() -> None:
    number = of(planned(), "L1", "output")
    result = planned().steps[number].option.node.key
    graph = planned().mapped.graph
    others = replace(graph, outputs=tuple(name for name in graph.outputs if name != result))
    plan = replace(
        planned(), mapped=replace(planned().mapped, graph=others),
        homes={**planned().homes, result: Home("arena", result, "L2")},
    )  # fmt: skip
    assert "before its turn" in complaint(plan)


def test_only_copies_are_dma_copies() -> None:
    number = next(i for i, step in enumerate(planned().steps) if step.option.node.op.kind == "MatMul")
    assert "is a dma_copy, but its operator does not just copy" in complaint(
        with_way(planned(), number, lambda option: replace(option, mode="dma_copy"))
    )


def test_outputs_that_are_read_are_copied() -> None:
    graph = import_model(model([node("Relu", "x", "a"), node("Neg", "a", "y")], {"x": (4, 5)}, ["a", "y"]))
    found = tile_outputs(graph, 80)
    assert found.outputs == graph.outputs
    copies = [copy for copy in found.nodes if isinstance(copy.op, Identity)]
    assert [copy.outputs for copy in copies] == [("a",)]
    assert found.producers["y"].inputs == copies[0].inputs
    feeds = prepared(model([node("Relu", "x", "a")], {"x": (4, 5)}, ["a"])).inputs()
    assert all((evaluate(found, feeds)[name] == evaluate(graph, feeds)[name]).all() for name in graph.outputs)
    assert tile_outputs(graph, 79) is graph


def grid(shape: tuple[int, ...], inside: Inside | None) -> TileGrid:
    kind = TensorType("int16", shape)
    return TileGrid.of(Identity(copy=True), {"X": kind, "Y": kind}, ("Y",), inside={"Y": inside} if inside else {})


def test_the_commands_of_a_copy() -> None:
    dense, apart = (
        Shaped(one, dma_shape(one, "Y")) for one in (grid((2, 3, 4), None), grid((2, 3, 4), Inside((2, 5, 4), 1, 1)))
    )
    assert copy(dense, "l2", "l1", DMA_IN) == ["  tw_dma_in(l1, l2, 48);"]
    assert copy(dense, "l1", "l2", DMA_OUT) == ["  tw_dma_out(l2, l1, 48);"]
    assert copy(apart, "l2", "l1", DMA_IN_STRIDED) == ["  tw_dma_in_strided(l1 + 8, 40, l2, 24, 2, 24);"]
    assert copy(apart, "l1", "l2", DMA_OUT_ROWS) == ["  tw_dma_out_rows(l2 + 8, l1, 2, 24, 40);"]
