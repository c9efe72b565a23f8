"""The validator of plans finds what is wrong with one, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests.planner.networks import broadcasts, leftovers, many_readers
from tests.planner.planning import prepared
from tests.support.models import residual
from tilewright.errors import InternalError
from tilewright.planner.check.plan import check_plan
from tilewright.planner.cluster.plan import Home, Plan, Step
from tilewright.planner.cluster.tiling_option import TilingOption
from tilewright.planner.keys import PARAMS
from tilewright.target.settings import Settings
from tilewright.tiling.tiles import Cut


@cache
def tiled() -> Plan:
    """A plan with several tiles, double buffers and constants."""
    return prepared(broadcasts()).plan(Settings(2, 4_000, buffering="double"))


@cache
def l1() -> Plan:
    """A plan whose tensors stay in L1."""
    return prepared(residual()).plan(Settings(2))


@cache
def from_l3() -> Plan:
    return prepared(broadcasts()).plan(Settings(2, 4_000, home="L3"))


def with_step(plan: Plan, number: int, change: Callable[[Step], Step]) -> Plan:
    steps = list(plan.steps)
    steps[number] = change(steps[number])
    return replace(plan, steps=tuple(steps))


def with_way(plan: Plan, number: int, change: Callable[[TilingOption], TilingOption]) -> Plan:
    return with_step(plan, number, lambda step: replace(step, option=change(step.option)))


def with_operand(plan: Plan, number: int, name: str, **changes: object) -> Plan:
    def change(option: TilingOption) -> TilingOption:
        found = (o._replace(**changes) if o.name == name else o for o in option.operands)  # type: ignore[arg-type]
        return replace(option, operands=tuple(found))

    return with_way(plan, number, change)


def complaint(plan: Plan) -> str:
    with pytest.raises(InternalError) as error:
        check_plan(plan)
    return f"{error.value.where}: {error.value.what}"


@pytest.mark.in_turns(5)
def test_good_plans_pass() -> None:
    for plan in (tiled(), l1(), from_l3()):
        assert check_plan(plan) is plan
    assert tiled().steps[0].option.grid.tiles > 2
    assert any(home.is_in("L1") for home in l1().homes.values())
    assert any(step.staged for step in from_l3().steps)


def test_more_than_l1() -> None:
    small = replace(tiled(), budget=replace(tiled().budget, total=100))
    assert complaint(small) == f"plan: {tiled().tile_bytes} bytes of 100 in L1"


def test_a_tensor_without_a_home() -> None:
    homes = dict(l1().homes)
    del homes["body_conv"]
    assert complaint(replace(l1(), homes=homes)) == "tensor 'body_conv': has no home"


def test_a_tensor_at_a_wrong_home() -> None:
    name = next(name for name, home in l1().homes.items() if home.is_in("L1"))
    lost = {**l1().homes, name: Home("arena", name, "L2", 0)}
    assert "elsewhere than L2+0" in complaint(replace(l1(), homes=lost))
    assert "but lives L2+0" in complaint(replace(l1(), homes={**l1().homes, "image": Home("arena", "image", "L2", 0)}))
    constant = {**l1().homes, name: Home("constant", name)}
    assert (
        complaint(replace(l1(), homes=constant)) == f"tensor '{name}': lives with the constants, but '{name}' is none"
    )


def test_tiles_that_leave_gaps() -> None:
    def shorter(option: TilingOption) -> TilingOption:
        first, *others = option.grid.cuts
        return replace(option, grid=replace(option.grid, cuts=(Cut(first.loop, first.extent - 1, first.size), *others)))

    assert "leave gaps or overlap" in complaint(with_way(tiled(), 0, shorter))


def test_a_buffer_that_is_too_small() -> None:
    size = next(operand.bytes for operand in tiled().steps[0].option.operands if operand.name == "A")
    assert f"a tile of A has {size} bytes, its buffer {size - 1}" in complaint(
        with_operand(tiled(), 0, "A", bytes=size - 1)
    )


def test_too_few_buffers() -> None:
    count = next(operand.buffers for operand in tiled().steps[0].option.operands if operand.name == "A")
    assert count > 1
    text = f"{count - 1} buffers of A, {count} are needed"
    assert text in complaint(with_operand(tiled(), 0, "A", buffers=count - 1))


def test_a_missing_buffer() -> None:
    def without(step: Step) -> Step:
        return replace(step, offsets={name: at for name, at in step.offsets.items() if name != "A"})

    assert "A has no buffer" in complaint(with_step(tiled(), 0, without))


def test_buffers_that_overlap() -> None:
    def stacked(step: Step) -> Step:
        return replace(step, offsets={**step.offsets, "A": step.offsets["Y"]})

    assert "overlap" in complaint(with_step(tiled(), 0, stacked))


def test_a_buffer_beyond_the_peak() -> None:
    def beyond(step: Step) -> Step:
        return replace(step, offsets={**step.offsets, "A": tiled().tiles_arena.peak + 8})

    assert "beyond the peak" in complaint(with_step(tiled(), 0, beyond))


def test_parameters_without_a_place() -> None:
    assert "its parameters take" in complaint(with_way(tiled(), 0, lambda option: replace(option, params=4)))
    assert PARAMS in tiled().steps[0].offsets


def test_working_memory_without_a_place() -> None:
    plan = prepared(leftovers()).plan(Settings(8))
    number = next(i for i, step in enumerate(plan.steps) if step.option.scratch)
    less = with_way(plan, number, lambda option: replace(option, scratch=option.scratch - 8))
    assert "bytes of working memory, there are" in complaint(less)


def test_a_window_that_is_not_side_by_side() -> None:
    """The first tile by columns, used where it lies."""

    def by_columns(option: TilingOption) -> TilingOption:
        return replace(option, grid=replace(option.grid, cuts=(Cut("d2", 37, 20),)), params=2 * option.params)

    plan = with_way(tiled(), 0, by_columns)
    assert "but not side by side" in complaint(with_operand(plan, 0, "A", streamed=False))


def test_a_constant_of_l3_that_nobody_staged() -> None:
    number = next(i for i, step in enumerate(from_l3().steps) if step.staged)
    bare = with_step(from_l3(), number, lambda step: replace(step, staged={}))
    assert "from L3" in complaint(bare)


def test_a_tensor_that_is_written_over() -> None:
    """`a` is read by the last layers; `b` must not take its place."""
    plan = prepared(many_readers()).plan(Settings(2))
    homes = {**plan.homes, "b": plan.homes["a"], "c": plan.homes["a"]}
    assert "which is still needed" in complaint(_dma_copy(plan, homes))


def _dma_copy(plan: Plan, homes: dict[str, Home]) -> Plan:
    """The plan with other homes, which its layers expect."""
    steps = []
    for step in plan.steps:
        owners = {homes[operand.tensor].owner for operand in step.option.operands}
        l1 = frozenset(owner for owner in owners if homes[owner].is_in("L1"))
        steps.append(replace(step, option=replace(step.option, inside=l1)))
    return replace(plan, homes=homes, steps=tuple(steps))
