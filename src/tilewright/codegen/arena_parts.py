"""The parts of an arena, as C has them: parts of a board's lie in memories that do not adjoin."""

from __future__ import annotations

from tilewright.planner.schedule.schedule import Schedule


def arenas_of(schedule: Schedule) -> dict[str, int]:
    """What the parts are called, and the bytes of each."""
    parts = [part.bytes for part in schedule.parts] or [schedule.arena_bytes]
    return {f"arena_{number}" if number else "arena": max(size, 1) for number, size in enumerate(parts)}


def arena_address(schedule: Schedule, offset: int) -> str:
    """Of a byte of the arena."""
    for name, part in zip(arenas_of(schedule), schedule.parts, strict=False):
        if offset < part.end or part is schedule.parts[-1]:
            return f"{name} + {offset - part.start}"
    return f"arena + {offset}"
