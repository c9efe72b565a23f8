"""Atomic operations: every one with edge operands, and what makes them atomic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.assembling import BASE, assemble, elf_of, run_code
from tilewright.errors import CompileError
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.simulator import Simulator

MASK = 0xFFFFFFFF
EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678]
PLACE = BASE + 0x1000


def signed(value: int) -> int:
    return value - (value >> 31 << 32)


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "amoswap.w": lambda memory, operand: operand,
    "amoadd.w": lambda memory, operand: memory + operand & MASK,
    "amoxor.w": lambda memory, operand: memory ^ operand,
    "amoand.w": lambda memory, operand: memory & operand,
    "amoor.w": lambda memory, operand: memory | operand,
    "amomin.w": lambda memory, operand: min(memory, operand, key=signed),
    "amomax.w": lambda memory, operand: max(memory, operand, key=signed),
    "amominu.w": min,
    "amomaxu.w": max,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    code = assemble(f"sw a3, 0(a1)\n {name}.aqrl a0, a2, (a1)")
    for memory in EDGES:
        for operand in EDGES:
            simulator = run_code(code, {"a1": PLACE, "a2": operand, "a3": memory})
            assert simulator.register(0, "a0") == memory
            assert simulator.read_word(PLACE) == OPERATIONS[name](memory, operand)


@pytest.mark.parametrize("name", ["amoadd.w", "amoswap.w"])
def test_result_over_its_own_operands(name: str) -> None:
    simulator = run_code(assemble(f"{name} a1, a2, (a1)"), {"a1": PLACE, "a2": 5})
    assert (simulator.register(0, "a1"), simulator.read_word(PLACE)) == (0, 5)
    simulator = run_code(assemble(f"{name} a2, a2, (a1)"), {"a1": PLACE, "a2": 5})
    assert (simulator.register(0, "a2"), simulator.read_word(PLACE)) == (0, 5)
    simulator = run_code(assemble(f"{name} x0, a2, (a1)"), {"a1": PLACE, "a2": 5})
    assert (simulator.register(0, "x0"), simulator.read_word(PLACE)) == (0, 5)


@pytest.mark.parametrize(
    ("before", "fails", "after"),
    [
        ("lr.w a0, (a1)", 0, 7),
        ("nop", 1, 0),
        ("lr.w a0, (a4)", 1, 0),
        ("lr.w a0, (a1)\n sc.w a3, a2, (a4)", 1, 0),
        ("lr.w a0, (a1)\n sc.w a3, a2, (a1)", 1, 7),
        ("lr.w a0, (a1)\n sw a1, 0(a1)", 1, PLACE),
    ],
)
def test_conditional_store(before: str, fails: int, after: int) -> None:
    """Not without a reservation, of that place, that was not used yet."""
    code = assemble(f"{before}\n sc.w a3, a2, (a1)")
    simulator = run_code(code, {"a1": PLACE, "a2": 7, "a4": PLACE + 64})
    assert simulator.register(0, "a3") == fails
    assert simulator.read_word(PLACE) == after


def test_cores_that_count_together_lose_nothing() -> None:
    cores, turns = 8, 50
    source = f"""
        li a1, {PLACE}
        li s0, {turns}
    1:  lr.w a0, (a1)
        addi a0, a0, 1
        sc.w a2, a0, (a1)
        bnez a2, 1b
        addi s0, s0, -1
        bnez s0, 1b
        li a2, 1
        li a3, {PLACE + 64}
        amoadd.w a4, a2, (a3)
        li a5, {cores - 1}
        bne a4, a5, 2f
        li a5, 0x1a1040a0
        lui a6, 0x80000
        sw a6, 0(a5)
    2:  j 2b
    """
    with Simulator(manycore(cores)) as simulator:
        simulator.load(elf_of(assemble(source)))
        simulator.run(1_000_000)
        assert simulator.read_word(PLACE) == cores * turns


@pytest.mark.parametrize("what", ["lr.w a0, (a1)", "sc.w a0, a2, (a1)", "amoadd.w a0, a2, (a1)"])
def test_misaligned(what: str) -> None:
    with pytest.raises(CompileError, match=r"4 bytes at 0x80001002, which is not aligned to it"):
        run_code(assemble(what), {"a1": PLACE + 2, "a2": 1})
