"""The parts of an arena, as C has them: parts of a board's lie in memories that do not adjoin."""

from __future__ import annotations

from tilewright.planner.schedule.schedule import Schedule


def arenas_of(schedule: Schedule) -> dict[str, int]:
    """What the parts are called, and the bytes of each."""
    sizes = enumerate(schedule.arenas.values())
    return {f"arena_{number}" if number else "arena": max(size, 1) for number, size in sizes}


def arena_address(schedule: Schedule, memory: str, offset: int) -> str:
    """Of a byte of the part that lies in a memory."""
    names = dict(zip(schedule.arenas, arenas_of(schedule), strict=True))
    return f"{names[memory]} + {offset}"
