"""A check of what goes on beside other steps of a plan: jobs of accelerators in flight, and copies by DMA."""

from __future__ import annotations

from collections.abc import Set

from tilewright.errors import InternalError
from tilewright.ops.identity import Identity
from tilewright.planner.check.plan_lifetimes import begins_at
from tilewright.planner.check.plan_tiles import is_dense
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.home import ARENA


def check_in_flight(plan: Plan) -> None:
    """Nobody reads a result, or writes an operand, while an accelerator may still be at work for it."""
    graph = plan.mapped.graph
    for number, step in enumerate(plan.steps):
        if not step.in_flight:
            continue
        copied = any(operand.is_result and operand.streamed for operand in step.option.operands)
        if step.option.mode != "offload" or step.option.grid.tiles > 1 or copied:
            raise InternalError(step.option.node.where, "cannot stay in flight while later layers run")
        made = {plan.homes[name].owner for name in step.option.node.outputs if name}
        read = {plan.homes[name].owner for name in step.option.node.inputs if name} - graph.constants.keys()
        for later in _begun_within(plan, number + 1, number + step.in_flight):
            reads = {plan.homes[name].owner for name in later.option.node.inputs if name}
            writes = {plan.homes[name].owner for name in later.option.node.outputs if name}
            shared = (reads & made) | (writes & (read | made))
            if shared and not _comes_behind(step, later, shared):
                raise InternalError(later.option.node.where, f"does not wait for {step.option.node.where}")


def _comes_behind(step: Step, later: Step, shared: Set[str]) -> bool:
    """Whether an accelerator that does one thing after the other has both, and works where the tensors lie."""
    options = step.option, later.option
    if options[0].engine != options[1].engine or not all(one.kernel.in_order for one in options):
        return False
    moved = {later.option.owners[operand.name] for operand in later.option.operands if operand.streamed}
    return all(one.mode == "offload" for one in options) and not shared & moved


def _begun_within(plan: Plan, first: int, last: int) -> list[Step]:
    """The steps that begin during some."""
    return [step for number, step in enumerate(plan.steps) if number >= first and begins_at(number, step) <= last]


def check_dma_copies(plan: Plan) -> None:
    """A DMA copy goes between L1 and another memory, and what it copies is complete when it begins."""
    for number, step in enumerate(plan.steps):
        if step.option.mode != "dma_copy":
            continue
        where = step.option.node.where
        if not isinstance(step.option.node.op, Identity):
            raise InternalError(where, "is a dma_copy, but its operator does not just copy")
        homes = plan.homes[step.option.node.inputs[0]], plan.homes[step.option.node.key]
        inside = [home.is_in(plan.memories.tiles.name) for home in homes]
        behind = [home.is_in(memory.name) for home in homes for memory in plan.memories.behind]
        grid = step.option.grid
        dense = [is_dense(grid, name, tuple(slice(0, size) for size in grid.types[name].shape)) for name in ("X", "Y")]
        if not dense[0] and not (dense[1] and inside[1]):
            raise InternalError(where, f"is copied from {homes[0]}, where it does not lie side by side")
        if sum(inside) != 1 or any(behind):
            raise InternalError(where, f"is copied from {homes[0]} to {homes[1]}, which no transfer of the DMA does")
        if step.prefetch_distance and homes[1].kind == ARENA and not inside[1]:
            raise InternalError(where, f"is copied to {homes[1]} before its turn")
        for before in plan.steps[begins_at(number, step) : number]:
            if homes[0].owner in (plan.homes[name].owner for name in before.option.node.outputs if name):
                raise InternalError(where, f"is copied before {before.option.node.where} has made it")
