"""Whether a network fits the memories of a board: RAM for what changes, flash for what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.errors import CompileError, present
from tilewright.planner.schedule import Schedule
from tilewright.target.memory import Memory


@dataclass(frozen=True)
class Use:
    """The bytes of a memory by what they are for."""

    memory: Memory
    parts: Mapping[str, int]

    @property
    def needed(self) -> int:
        return sum(self.parts.values())

    @property
    def bytes(self) -> int:
        return present(self.memory.bytes, f"memory {self.memory.name}", "has no size")


def board_memory(schedule: Schedule) -> tuple[Use, ...]:
    """Of a target with a board: what each memory is used for."""
    target = schedule.target
    board = present(target.board, f"target {target.name}", "has no board")
    ram, flash = target.memories
    return (
        Use(ram, {
            "the arena": schedule.arena_bytes, "inputs and outputs": schedule.io_bytes, "the stack": board.stack,
            "variables of the program": ram.reserved,
        }),
        Use(flash, {"constants": schedule.flash_bytes, "code": flash.reserved}),
    )  # fmt: skip


def check_board_memory(schedule: Schedule) -> Schedule:
    """The schedule, if its board holds it; what does not fit is refused with all numbers."""
    if schedule.target.board is None:
        return schedule
    for use in board_memory(schedule):
        if use.needed > use.bytes:
            parts = ", ".join(f"{size} for {what}" for what, size in use.parts.items() if size)
            raise CompileError(
                f"{use.memory.name} of {use.bytes} bytes",
                f"{use.needed} bytes are needed ({parts}): {use.needed - use.bytes} are missing",
                f"make the network smaller, or give it more: --memory {use.memory.symbol}={use.needed}",
            )
    return schedule
