"""Cycles of a block on Cortex-M7, which starts up to two instructions in a cycle, in order.

Arm has published no table. Latencies and pairs are those of the compiler's model of the core (LLVM, ARMScheduleM7.td)
and of measurements by others, as `docs/cortex_m.md` lists them. Jumps are foreseen, caches hit, and two loads meet
in different banks: no block takes fewer cycles in pairs, and one by one it takes more.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.emulator.decoding import FLOAT_SUMS, JUMPS, Instruction, Kind

LATER = 2
"""Cycles until a product can be used, or a byte that was loaded."""
FLOAT_RESULT, FLOAT_SUM = 3, 5
NEXT_SUM, NEXT_FLOAT_SUM = 1, 3
"""Cycles until something can be added to a product, or to a product of floats."""
DIVISION = 7
ALONE = {"vdiv": 16, "vsqrt": 14}
"""Nothing else starts until they are done."""


def in_pairs(instructions: Sequence[Instruction]) -> int:
    return _cycles(instructions, 2)


def one_by_one(instructions: Sequence[Instruction]) -> int:
    return _cycles(instructions, 1)


def _cycles(instructions: Sequence[Instruction], width: int) -> int:
    ready: dict[str, int] = {}
    """Register -> the first cycle in which something may use it."""
    ready_sum: dict[str, int] = {}
    """The same for what adds to it."""
    cycle, started = 0, list[Instruction]()
    for one in instructions:
        waits = [ready.get(name, 0) for name in one.reads | one.base] + [ready_sum.get(name, 0) for name in one.sum]
        earliest = max(waits, default=0)
        if started and (len(started) == width or earliest > cycle or not _may_join(started[0], one)):
            cycle, started = cycle + _taken(started), []
        cycle = max(cycle, earliest)
        started.append(one)
        ready |= dict.fromkeys(one.writes, cycle + _latency(one))
        ready_sum |= dict.fromkeys(one.writes, cycle + (NEXT_FLOAT_SUM if one.kind is Kind.FLOAT else NEXT_SUM))
    return cycle + _taken(started)


def _may_join(first: Instruction, second: Instruction) -> bool:
    kinds = first.kind, second.kind
    if Kind.SEVERAL in kinds or Kind.DIVIDE in kinds or Kind.SYSTEM in kinds:
        return False
    if first.writes & (second.reads | second.base | second.writes):
        return False
    if first.kind in JUMPS and second.kind in JUMPS:
        return False
    return not any(kinds == (one, other) or kinds == (other, one) for one, other in APART)


APART = (
    (Kind.MULTIPLY, Kind.MULTIPLY), (Kind.MULTIPLY, Kind.STORE), (Kind.STORE, Kind.STORE), (Kind.FLOAT, Kind.FLOAT),
    (Kind.SHIFTED, Kind.SHIFTED),
)  # fmt: skip
"""Of these the core has one."""


def _taken(started: Sequence[Instruction]) -> int:
    """Cycles until the next ones may start."""
    return max(_length(one) for one in started)


def _length(one: Instruction) -> int:
    if one.kind is Kind.SEVERAL:
        return -(-one.words // 2)
    if one.kind is Kind.DIVIDE:
        return DIVISION
    return ALONE.get(one.name, 1)


def _latency(one: Instruction) -> int:
    if one.kind is Kind.FLOAT:
        return FLOAT_SUM if one.name in FLOAT_SUMS else ALONE.get(one.name, FLOAT_RESULT)
    if one.kind is Kind.MULTIPLY or (one.kind is Kind.LOAD and one.name not in ("ldr", "vldr")):
        return LATER
    return _length(one)
