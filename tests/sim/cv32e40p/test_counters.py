"""Performance counters of the cores."""

from __future__ import annotations

import pytest

from tests.sim.assembling import BASE, assemble, run_code

COUNT = "csrw 0xcc0, a1\n csrw 0x79f, x0\n csrwi 0xcc1, 1\n {}\n csrwi 0xcc1, 0\n csrr a2, 0x785\n csrr a3, 0x786"


@pytest.mark.parametrize(
    ("load", "loads"),
    [
        ("lw t0, 4(a0)", 1),
        ("lw t0, 1(a0)", 2),
        ("lh t0, 1(a0)", 1),
        ("lhu t0, 3(a0)", 2),
        ("lb t0, 3(a0)", 1),
        ("flw ft0, 2(a0)", 2),
        (".insn i 0x0b, 2, t0, a4, 4", 2),
        (".insn i 0x0b, 1, t0, a4, 4", 1),
        (".insn r 0x03, 7, 0x10, t0, a0, a5", 2),
        ("sw t0, 4(a0)", 0),
    ],
)
def test_a_load_from_two_words_counts_twice(load: str, loads: int) -> None:
    registers = {"a0": BASE + 0x1000, "a1": 0xFFFFFFFF, "a4": BASE + 0x1001, "a5": 3}
    simulator = run_code(assemble(COUNT.format(load)), registers)
    assert simulator.register(0, "a2") == loads
    assert simulator.register(0, "a3") == (1 if load.startswith("sw") else 0)
