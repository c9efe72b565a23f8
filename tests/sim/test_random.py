"""Random RV32IMC programs against unicorn: all registers and the memory that they write."""

from __future__ import annotations

import random
import struct

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tilewright.simulate import Simulator

unicorn = pytest.importorskip("unicorn")
from unicorn import riscv_const  # noqa: E402

DATA, DATA_SIZE = 0x8001_0000, 256
DATA_REGISTER = 8  # s0
LENGTH = 300
NOP = 0x13
R_TYPE = [0x33 | f3 << 12 | f7 << 25 for f3 in range(8) for f7 in (0, 1)] + [0x40000033, 0x40005033]
I_TYPE = [0x13 | f3 << 12 for f3 in (0, 2, 3, 4, 6, 7)]
SHIFTS = [0x1013, 0x5013, 0x40005013]
LOADS = [(0x03 | f3 << 12, size) for f3, size in ((0, 1), (1, 2), (2, 4), (4, 1), (5, 2))]
STORES = [(0x23 | f3 << 12, size) for f3, size in ((0, 1), (1, 2), (2, 4))]
BRANCHES = [0x63 | f3 << 12 for f3 in (0, 1, 4, 5, 6, 7)]


def random_register(rng: random.Random) -> int:
    return rng.choice([r for r in range(32) if r != DATA_REGISTER])


def random_word(rng: random.Random) -> int:
    rd, rs1, rs2 = random_register(rng), rng.randrange(32), rng.randrange(32)
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(R_TYPE) | rd << 7 | rs1 << 15 | rs2 << 20
    if kind < 6:
        return rng.choice(I_TYPE) | rd << 7 | rs1 << 15 | rng.getrandbits(12) << 20
    if kind == 6:
        return rng.choice([*SHIFTS, 0x37, 0x17]) & 0xFE00707F | rd << 7 | rs1 << 15 | rng.getrandbits(5) << 20
    if kind == 7:
        word, size = rng.choice(LOADS)
        return word | rd << 7 | DATA_REGISTER << 15 | rng.randrange(0, DATA_SIZE - 4, size) << 20
    if kind == 8:
        word, size = rng.choice(STORES)
        offset = rng.randrange(0, DATA_SIZE - 4, size)
        return word | DATA_REGISTER << 15 | rs2 << 20 | (offset & 31) << 7 | offset >> 5 << 25
    return rng.choice(BRANCHES) | rs1 << 15 | rs2 << 20 | 8 << 7  # over the next instruction


def by_unicorn(code: bytes, registers: list[int], data: bytes) -> tuple[list[int], bytes]:
    machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    machine.mem_map(BASE, 0x20000)
    machine.mem_write(BASE, code)
    machine.mem_write(DATA, data)
    for i in range(1, 32):
        machine.reg_write(riscv_const.UC_RISCV_REG_X0 + i, registers[i])
    machine.emu_start(BASE, BASE + len(code))
    found = [machine.reg_read(riscv_const.UC_RISCV_REG_X0 + i) for i in range(32)]
    return found, bytes(machine.mem_read(DATA, DATA_SIZE))


def by_simulator(code: bytes, registers: list[int], data: bytes) -> tuple[list[int], bytes]:
    with Simulator("rv32") as simulator:
        simulator.load(elf_of(code + FOREVER))
        simulator.write(DATA, data)
        for i in range(1, 32):
            simulator.set_register(0, i, registers[i])
        assert simulator.run_until(BASE + len(code), cycle=1_000_000)
        return [simulator.register(0, i) for i in range(32)], simulator.read(DATA, DATA_SIZE)


def check(code: bytes, rng: random.Random) -> None:
    edges = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF]
    registers = [rng.choice([rng.getrandbits(32), rng.getrandbits(5), *edges]) for _ in range(32)]
    registers[0], registers[DATA_REGISTER] = 0, DATA
    data = rng.randbytes(DATA_SIZE)
    assert by_simulator(code, registers, data) == by_unicorn(code, registers, data)


@pytest.mark.parametrize("seed", range(40))
def test_random_words(seed: int) -> None:
    rng = random.Random(seed)
    words = [*(random_word(rng) for _ in range(LENGTH)), NOP]
    check(struct.pack(f"<{len(words)}I", *words), rng)


COMPRESSED = """
c.addi a0, -3; c.li a1, 17; c.lui a2, 5; c.srli a0, 3; c.srai a1, 2; c.andi a2, 14; c.sub a0, a1; c.xor a1, a2
c.or a2, a3; c.and a3, a4; c.slli t0, 7; c.mv t1, a0; c.add t1, a1; c.sw a1, 8(s0); c.lw a5, 8(s0); c.nop
c.beqz a0, 1f; c.addi a1, 1; 1: c.bnez a1, 2f; c.addi a2, 1; 2: c.j 3f; c.addi a3, 1; 3: c.addi a4, 1
mv sp, s0; c.addi4spn a0, sp, 16; c.swsp a1, 20(sp); c.lwsp a2, 20(sp); c.addi16sp sp, 32
c.jal 4f; c.addi a5, 1; 4: c.mv a3, ra; addi a3, a3, 12; c.jr a3; c.nop; c.nop; c.nop
"""


@pytest.mark.parametrize("seed", range(5))
def test_compressed(seed: int) -> None:
    code = assemble(COMPRESSED.replace(";", "\n"), "+m+c")
    check(code, random.Random(seed))
