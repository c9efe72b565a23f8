"""A check of where the tensors of a plan live: memories have room, and whoever works on a tensor reaches it."""

from __future__ import annotations

from tilewright.errors import InternalError
from tilewright.planner.check.states import check_state
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.cluster.tiling_option import Operand
from tilewright.planner.home import CONSTANT, INPUT, OUTPUT, Home
from tilewright.target.memory import CORES, Memory, Paths


def check_homes(plan: Plan) -> None:
    _check_capacity(plan)
    _check_owners(plan)
    _check_readers(plan)
    _check_states(plan)


def _check_capacity(plan: Plan) -> None:
    """In a memory behind the home, activations lie behind its constants."""
    if plan.tile_bytes > plan.budget.total:
        raise InternalError("plan", f"{plan.tile_bytes} bytes of {plan.budget.total} in {plan.memories.tiles.name}")
    for memory in plan.memories.behind:
        owners = {home.owner for home in plan.homes.values() if _is_constant_in(home, memory)}
        unit = memory.constants_alignment
        constants = sum(-(-plan.mapped.graph.types[name].bytes // unit) * unit for name in owners)
        taken = plan.arena(memory).peak + constants
        if taken > (memory.bytes or 0):
            raise InternalError("plan", f"{taken} bytes of {memory.bytes} in {memory.name}")


def _check_owners(plan: Plan) -> None:
    """Every tensor has a home; constants and the caller's tensors live with their owners."""
    graph = plan.mapped.graph
    for name in graph.types:
        home = plan.homes.get(name)
        if home is None:
            raise InternalError(f"tensor '{name}'", "has no home")
        if home.kind == CONSTANT and home.owner not in graph.constants:
            raise InternalError(f"tensor '{name}'", f"lives with the constants, but '{home.owner}' is none")
        if home.kind in (INPUT, OUTPUT) and home.owner not in (*graph.inputs, *graph.outputs):
            raise InternalError(f"tensor '{name}'", f"lives with the caller, who does not know '{home.owner}'")
    for name in {*graph.inputs, *graph.outputs} - set(graph.constants):
        if plan.homes[name].kind not in (INPUT, OUTPUT):
            raise InternalError(f"tensor '{name}'", f"is the caller's, but lives {plan.homes[name]}")


def _check_readers(plan: Plan) -> None:
    """Whoever works on a tensor reaches it where it lives."""
    memories = plan.memories
    for step in plan.steps:
        for operand in step.option.operands:
            home = plan.homes[operand.tensor]
            for memory in memories.beside:
                if _is_constant_in(home, memory) and not _reads(memories, memory, step, operand):
                    raise InternalError(step.option.node.where, f"reads '{operand.tensor}' from {memory.name}")
            if any(_is_constant_in(home, memory) for memory in memories.behind) and home.owner not in step.staged:
                raise InternalError(step.option.node.where, f"reads '{operand.tensor}' from {home.memory}")
            if home.is_in(memories.tiles.name) != (home.owner in step.option.inside):
                raise InternalError(step.option.node.where, f"expects '{operand.tensor}' elsewhere than {home}")


def _reads(memories: Paths, memory: Memory, step: Step, operand: Operand) -> bool:
    """An accelerator its weights; cores and the DMA what they reach there."""
    if operand.name in step.option.kernel.resident and memory is memories.weights:
        return True
    return (memories.tile_link.name if operand.streamed else CORES) in memory.reachable_by


def _check_states(plan: Plan) -> None:
    """What is kept between calls is in L2: L1 is every network's. Nothing else writes there."""
    owners = {name: home.owner for name, home in plan.homes.items()}
    for state in plan.mapped.graph.states:
        home = plan.homes[state.before]
        if not home.is_in(plan.memories.home.name):
            raise InternalError(f"state '{state.name}'", f"is kept in {home}, not in {plan.memories.home.name}")
        check_state(plan.mapped.graph, owners, state)


def accelerator_reaches(plan: Plan, step: Step, operand: Operand) -> bool:
    home = plan.homes[operand.tensor]
    resident = operand.name in step.option.kernel.resident
    return _is_constant_in(home, plan.memories.weights) if resident else home.is_in(plan.memories.tiles.name)


def _is_constant_in(home: Home, memory: Memory | None) -> bool:
    return memory is not None and (home.kind, home.memory) == (CONSTANT, memory.name)
