"""Memories of a board that constants may be copied to: the one with the variables, and another that is no slower."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.board.copy_choice import Room
from tilewright.planner.board.memory import board_memory
from tilewright.planner.schedule.schedule import Schedule
from tilewright.sim.platform import Platform
from tilewright.target.memory import ARENA, Memory, holding

SECTION, FLAG = ".copies", "-DTW_COPIES"
"""Of constants in the further memory, and what start-up code is told so that it copies them."""


def rooms(schedule: Schedule) -> list[Room]:
    """The fastest first, and of equal ones the memory with the variables."""
    ram, target = board_memory(schedule)[0], schedule.target
    found = [(wait(target.platform, ram.memory), Room(ram.memory.name, ram.bytes - ram.needed))]
    if target.runner.emulator:
        others = [(wait(target.platform, one), Room(one.name, _left(schedule, one))) for one in _others(schedule)]
        best = min(others, key=lambda one: (one[0], -one[1].left), default=None)
        found += [best] if best and best[0] <= found[0][0] else []
    return [room for _, room in sorted(found, key=lambda one: one[0])]


def with_copies(placed: Allocation, memories: Collection[str]) -> Allocation:
    """For a target whose start-up code fills these memories."""
    target = placed.mapped.target
    further = [memory.name for memory in _further(target.memories) if memory.name in memories]
    if not further:
        return placed
    changed = tuple(replace(one, copies=SECTION) if one.name in further else one for one in target.memories)
    filled = replace(target, memories=changed, flags=(*target.flags, FLAG))
    return replace(placed, mapped=replace(placed.mapped, target=filled))


def wait(platform: Platform, memory: Memory) -> int:
    """Cycles of an access beyond the first."""
    names = memory.banks or (memory.symbol,)
    return max(max(place.latency.values(), default=0) for place in platform.memories if place.name in names)


def _others(schedule: Schedule) -> list[Memory]:
    return _further(schedule.target.memories)


def _further(memories: tuple[Memory, ...]) -> list[Memory]:
    return holding(memories, ARENA)[1:]


def _left(schedule: Schedule, memory: Memory) -> int:
    return (memory.bytes or 0) - schedule.arenas.get(memory.name, 0)
