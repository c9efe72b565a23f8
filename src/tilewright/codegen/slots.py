"""Buffers and conditions of a schedule as C: which one a turn has, and in which tiles something is due."""

from __future__ import annotations

from tilewright.codegen.expressions import Expression, plus, times
from tilewright.planner.schedule.layer_schedule import Slots, When
from tilewright.target.memory import Memory, Paths


def array_name(memories: Paths, memory: Memory) -> str:
    """What a memory's array is called; that of L1 is one for all networks of a program."""
    return f"tw_{memory.symbol}" if memory == memories.tiles else memory.symbol


def slot_address(symbol: str, slots: Slots) -> str:
    """The buffer of a turn, in the array of its memory."""
    core: Expression = times("tw_core()", slots.bytes * slots.turns) if slots.cores > 1 else 0
    return f"{symbol} + {plus(slots.offset, core, times(_turn(slots), slots.bytes))}"


def first_address(symbol: str, slots: Slots) -> str:
    """The buffer of the first turn on the first core."""
    return f"{symbol} + {slots.offset}"


def slot_number(slots: Slots) -> Expression:
    """Which of all the buffers a turn has."""
    return plus(times("tw_core()", slots.turns) if slots.cores > 1 else 0, _turn(slots))


def _turn(slots: Slots) -> Expression:
    if slots.turns == 1:
        return 0
    return "tw_odd(turn)" if slots.period == 1 else f"tw_odd(turn / {slots.period})"


def condition(when: When) -> str:
    """Empty where it always holds."""
    if when.per_core:
        return "" if when.period else "turn == 0"
    if not when.period:
        return "tile == 0"
    terms = ["tile > 0"] if when.not_first else []
    if when.period > 1:
        terms.append(f"tile % {when.period} == 0")
    return " && ".join(terms)


def guarded(when: When, lines: list[str]) -> list[str]:
    """Lines that are executed in some tiles."""
    needed = condition(when)
    return [f"  if ({needed}) {{", *(f"  {line}" for line in lines), "  }"] if needed else lines
