"""Self-checking programs in the style of the public RISC-V ISA tests: traps, and the verdict in `tohost`."""

from __future__ import annotations

import dataclasses

import pytest

from tests.sim.assembling import BASE, assemble, elf_of
from tilewright.sim.simulator import Simulator

TOHOST = BASE + 0x1000
ENVIRONMENT = f"""
    .option norvc
    j    reset
    .balign 64
trap:                       # ecall: the verdict is in gp; an illegal instruction is skipped and counted in s11
    csrr t5, mcause
    li   t6, 2
    beq  t5, t6, skip
    li   t6, 11
    bne  t5, t6, wrong
verdict:
    li   t6, {TOHOST}
    sw   gp, 0(t6)
    sw   zero, 4(t6)
    j    verdict
wrong:
    li   gp, 1337
    j    verdict
skip:
    addi s11, s11, 1
    csrr t5, mepc
    addi t5, t5, 4
    csrw mepc, t5
    mret
reset:
    csrr a0, mhartid
    auipc t0, 0
    addi t0, t0, %d         # trap
    csrw mtvec, t0
    auipc t0, 0
    addi t0, t0, 16
    csrw mepc, t0
    mret
"""
PASS = "li gp, 1\n ecall"
FAIL_5 = "li gp, 5 << 1 | 1\n ecall"


def run(body: str) -> Simulator:
    distance = 64 - len(assemble(ENVIRONMENT % 0)) + 4 * 7
    elf = elf_of(assemble(ENVIRONMENT % distance + body))
    simulator = Simulator("rv32")
    simulator.load(dataclasses.replace(elf, symbols={"tohost": TOHOST}))
    return simulator


@pytest.mark.parametrize(("body", "code"), [(PASS, 0), (FAIL_5, 5)])
def test_verdict(body: str, code: int) -> None:
    assert run(body).run(10_000).exit_code == code


def test_illegal_instruction_is_trapped() -> None:
    simulator = run(f".word 0xffffffff\n .word 0\n {PASS}")
    assert simulator.run(10_000).exit_code == 0
    assert simulator.register(0, "s11") == 2
