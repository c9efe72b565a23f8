"""Cycles of a block of Thumb instructions on each core. `docs/cortex_m.md` gives the tables with their sources.

A core that issues one instruction at a time is data here: a `Timing`. What a block before has left behind in the
pipeline is not known; nearly all blocks end with a jump, which empties it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from tilewright.emulator.counting import BlockCost
from tilewright.emulator.decoding import NO_REGISTERS, Instruction, Kind
from tilewright.emulator.dual_issue import in_pairs, one_by_one
from tilewright.records import dataclass


@dataclass(frozen=True)
class Timing:
    """Cycles; what is not named takes one."""

    load: int
    store: int
    store_at_sum: int
    """Where the address is the sum of two registers."""
    overlaps: bool
    """Whether a load or store right behind a load takes one less, if the load does not change its address."""
    several: int
    """Of loads and stores of several words, beyond one for each."""
    divide: int
    system: int
    jump: int
    """Beyond the cycle of the jump itself, where it is taken."""
    call: int
    computed_jump: int
    loaded_jump: int
    """Where the program counter comes from memory."""
    table_jump: int
    split_target: int
    """More where a jump comes to an instruction of 4 bytes that lies in two words."""
    address_wait: int
    """Where an address is computed from the result of the instruction before."""
    load_wait: int
    """Where what was loaded is used right away, other than as a sum or to be stored."""
    product_wait: int
    """The same of a product, other than as a sum."""
    shift_wait: int
    """The same of a result with a shifted operand."""
    float_wait: int
    """The same of floats."""
    pairs_jumps: bool
    """Whether a narrow jump is executed together with the narrow instruction before."""
    float_load: int = 0
    floats: Mapping[str, int] = field(default_factory=dict)


FLOATS = {
    "vmla": 3, "vmls": 3, "vnmla": 3, "vnmls": 3, "vfma": 3, "vfms": 3, "vfnma": 3, "vfnms": 3, "vdiv": 14, "vsqrt": 14,
}  # fmt: skip

M0PLUS = Timing(
    load=2, store=2, store_at_sum=2, overlaps=False, several=1, divide=0, system=3, jump=1, call=2, computed_jump=1,
    loaded_jump=2, table_jump=0, split_target=0, address_wait=0, load_wait=0, product_wait=0, shift_wait=0,
    float_wait=0, pairs_jumps=False,
)  # fmt: skip
M4 = Timing(
    load=2, store=1, store_at_sum=2, overlaps=True, several=1, divide=7, system=2, jump=1, call=1, computed_jump=2,
    loaded_jump=3, table_jump=5, split_target=1, address_wait=1, load_wait=0, product_wait=0, shift_wait=0,
    float_wait=1, pairs_jumps=False, float_load=2, floats=FLOATS,
)  # fmt: skip
M33 = Timing(
    load=1, store=1, store_at_sum=1, overlaps=False, several=0, divide=7, system=2, jump=1, call=1, computed_jump=2,
    loaded_jump=3, table_jump=5, split_target=0, address_wait=0, load_wait=1, product_wait=1, shift_wait=1,
    float_wait=1, pairs_jumps=True, float_load=1, floats=FLOATS,
)  # fmt: skip
TIMINGS = {"cortex-m0plus": M0PLUS, "cortex-m4": M4, "cortex-m33": M33}
PAIRING = "cortex-m7"
"""Issues two instructions at a time."""
REMARKS = {
    "cortex-m0plus": "the manual's cycles", "cortex-m4": "the manual's cycles",
    "cortex-m33": "published measurements of its instructions",
    PAIRING: "a lower bound: instructions are issued in pairs, and all branches are predicted",
    "cortex-m55": "a lower bound: a vector instruction takes two cycles, and nothing stalls",
}  # fmt: skip
"""What an estimate is."""


ENDLESS = bytes.fromhex("fee7"), bytes.fromhex("fff7febf")
"""Jumps to themselves, narrow and wide."""


def block_cost(instructions: Sequence[Instruction], core: str) -> BlockCost:
    if core == PAIRING:
        pairs = in_pairs(instructions)
        return BlockCost(len(instructions), pairs, 0, extra=one_by_one(instructions) - pairs, extra_leaving=1)
    timing = TIMINGS[core]
    cycles, leaving = _cycles(instructions, timing), _leaving(instructions, timing)
    return BlockCost(len(instructions), cycles, leaving, _entered(instructions[0], timing))


def _cycles(instructions: Sequence[Instruction], timing: Timing) -> int:
    first = _alone(instructions[0], timing)
    return first + sum(_behind(before, one, timing) for before, one in pairwise(instructions))


def _alone(one: Instruction, timing: Timing) -> int:
    """Of an instruction that the one before does not matter for."""
    if one.kind is Kind.SEVERAL:
        return timing.several + one.words
    if one.kind in (Kind.LOAD, Kind.STORE) and one.name.startswith("v"):
        return timing.float_load + one.words - 1
    if one.kind is Kind.LOAD:
        return timing.load
    if one.kind is Kind.STORE:
        return timing.store_at_sum if one.has_register_offset else timing.store
    if one.kind is Kind.DIVIDE:
        return timing.divide
    if one.kind is Kind.SYSTEM:
        return timing.system
    if one.name == "vmov" and len(one.writes | one.reads) == 4:
        return 2
    return timing.floats.get(one.name, 1)


def _behind(before: Instruction, one: Instruction, timing: Timing) -> int:
    if one.kind is Kind.CONDITION and (before.is_narrow or timing.pairs_jumps):
        return 0
    if timing.pairs_jumps and one.kind is Kind.JUMP and one.is_narrow and before.is_narrow:
        return 0
    return _alone(one, timing) - _overlap(before, one, timing) + _wait(before, one, timing)


def _overlap(before: Instruction, one: Instruction, timing: Timing) -> int:
    """A load keeps the address bus for one of its cycles only: the next load or store has it in the other one."""
    if not timing.overlaps or before.kind is not Kind.LOAD or one.kind not in (Kind.LOAD, Kind.STORE):
        return 0
    if before.writes & one.base or before.name.startswith("v") or one.name.startswith("v"):
        return 0
    return _alone(one, timing) - 1


def _wait(before: Instruction, one: Instruction, timing: Timing) -> int:
    """What an instruction waits for the result of the one before. Stores take theirs later."""
    to_address = before.writes & one.base
    to_result = NO_REGISTERS if one.kind in (Kind.STORE, Kind.SEVERAL) else before.writes & one.reads
    if before.kind is Kind.FLOAT:
        return timing.float_wait * (bool(to_result) and before.name != "vmov")
    if before.kind in (Kind.LOAD, Kind.SEVERAL):
        return timing.load_wait * bool(to_result or to_address)
    late = {Kind.MULTIPLY: timing.product_wait, Kind.SHIFTED: timing.shift_wait}.get(before.kind, 0)
    return max(late * bool(to_result or to_address), timing.address_wait * bool(to_address))


def _leaving(instructions: Sequence[Instruction], timing: Timing) -> int:
    """Cycles more where the jump at the end of a block is taken."""
    last = instructions[-1]
    if last.loads_pc:
        return timing.loaded_jump
    if last.kind is Kind.JUMP and timing.pairs_jumps and len(instructions) > 1:
        before = instructions[-2]
        is_paired = last.is_narrow and before.is_narrow
        return timing.jump + (is_paired and before.sets_flags)
    taken = {
        Kind.CALL: timing.call, Kind.COMPUTED_JUMP: timing.computed_jump, Kind.TABLE_JUMP: timing.table_jump,
    }  # fmt: skip
    return taken.get(last.kind, timing.jump)


def _entered(first: Instruction, timing: Timing) -> int:
    return timing.split_target if not first.is_narrow and first.address % 4 else 0
