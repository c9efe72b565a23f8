"""Random RV32IMAFC programs against unicorn: all registers and the memory that they write, aligned or not."""

from __future__ import annotations

import random
import struct

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tilewright.sim.simulator import Simulator

unicorn = pytest.importorskip("unicorn")
from unicorn import riscv_const  # noqa: E402

DATA, DATA_SIZE = 0x8001_0000, 256
DATA_REGISTER = 8  # s0
LENGTH = 300
NOP = 0x13
R_TYPE = [0x33 | f3 << 12 | f7 << 25 for f3 in range(8) for f7 in (0, 1)] + [0x40000033, 0x40005033]
I_TYPE = [0x13 | f3 << 12 for f3 in (0, 2, 3, 4, 6, 7)]
SHIFTS = [0x1013, 0x5013, 0x40005013]
LOADS = [0x03 | f3 << 12 for f3 in (0, 1, 2, 4, 5)]
STORES = [0x23 | f3 << 12 for f3 in range(3)]
ATOMICS = [0x202F | f5 << 27 for f5 in (0, 1, 4, 8, 12, 16, 20, 24, 28)]
BRANCHES = [0x63 | f3 << 12 for f3 in (0, 1, 4, 5, 6, 7)]


def random_register(rng: random.Random) -> int:
    return rng.choice([r for r in range(32) if r != DATA_REGISTER])


def random_word(rng: random.Random) -> int:
    rd, rs1, rs2 = random_register(rng), rng.randrange(32), rng.randrange(32)
    kind = rng.randrange(11)
    if kind == 10:
        return rng.choice(ATOMICS) | rd << 7 | DATA_REGISTER << 15 | rs2 << 20
    if kind < 4:
        return rng.choice(R_TYPE) | rd << 7 | rs1 << 15 | rs2 << 20
    if kind < 6:
        return rng.choice(I_TYPE) | rd << 7 | rs1 << 15 | rng.getrandbits(12) << 20
    if kind == 6:
        return rng.choice([*SHIFTS, 0x37, 0x17]) & 0xFE00707F | rd << 7 | rs1 << 15 | rng.getrandbits(5) << 20
    if kind == 7:
        return rng.choice(LOADS) | rd << 7 | DATA_REGISTER << 15 | rng.randrange(DATA_SIZE - 4) << 20
    if kind == 8:
        offset = rng.randrange(DATA_SIZE - 4)
        return rng.choice(STORES) | DATA_REGISTER << 15 | rs2 << 20 | (offset & 31) << 7 | offset >> 5 << 25
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


def check(code: bytes, rng: random.Random, data: bytes | None = None) -> None:
    edges = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF]
    registers = [rng.choice([rng.getrandbits(32), rng.getrandbits(5), *edges]) for _ in range(32)]
    registers[0], registers[DATA_REGISTER] = 0, DATA
    data = data or rng.randbytes(DATA_SIZE)
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


COMPRESSED_KINDS = [
    *(f"c.{name} {{p}}, {{q}}" for name in ("sub", "xor", "or", "and")),
    *("c.addi {r}, {n}", "c.li {r}, {m}", "c.lui {r}, {u}", "c.slli {r}, {u}", "c.srli {p}, {u}", "c.srai {p}, {u}"),
    *("c.andi {p}, {m}", "c.mv {r}, {s}", "c.add {r}, {s}", "c.lw {p}, {w}(s0)", "c.sw {p}, {w}(s0)"),
    *("c.beqz {p}, 1f\n c.addi {r}, {n}\n1:", "c.bnez {p}, 1f\n c.add {r}, {s}\n1:", "c.j 1f\n c.mv {r}, {s}\n1:"),
    *("add {r}, {r}, {s}", "mul {r}, {r}, {s}", "sh {r}, {w}(s0)", "lbu {r}, {w}(s0)"),
    "li x31, {u}\n1: c.addi {p}, {n}\n addi x31, x31, -1\n bnez x31, 1b",
]
"""p, q: registers that every compressed instruction can name; r, s: any but x0, s0 and x31."""


def compressed_line(rng: random.Random) -> str:
    near, far = [9, *range(10, 16)], [r for r in range(3, 31) if r != DATA_REGISTER]
    p, q, r, t = rng.choice(near), rng.choice(near), rng.choice(far), rng.choice(far)
    n, m = rng.choice([-32, -1, 1, 31, rng.randint(1, 31)]), rng.randint(-32, 31)
    registers = {"p": f"x{p}", "q": f"x{q}", "r": f"x{r}", "s": f"x{t}"}
    return rng.choice(COMPRESSED_KINDS).format(**registers, n=n, m=m, u=rng.randint(1, 31), w=rng.randrange(0, 124, 4))


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("seed", range(15))
def test_random_compressed(seed: int) -> None:
    rng = random.Random(seed)
    code = assemble("\n ".join(compressed_line(rng) for _ in range(LENGTH)), "+m+c")
    assert any(code[i] & 3 != 3 for i in range(0, len(code), 2))
    check(code, rng)


FLOAT_EDGES = [
    *(0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFA00000),
    *(0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F7FFFFF, 0x4B000001),
    *(0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x3F000000, 0x3FC00000, 0x5F000000),
]
ROUNDED_FLOAT = [0x00000053, 0x08000053, 0x10000053, 0x18000053]  # add, sub, mul, div
ROUNDED_ONE = [0x58000053, 0xC0000053, 0xC0100053, 0xD0000053, 0xD0100053]  # sqrt, conversions
SIGN_INJECTION = [0x20000053 | f3 << 12 for f3 in range(3)]
MIN_MAX = [0x28000053, 0x28001053]
COMPARISONS = [0xA0000053 | f3 << 12 for f3 in range(3)]
MOVES = [0xE0000053, 0xE0001053, 0xF0000053]
FUSED = [0x43, 0x47, 0x4B, 0x4F]


def float_word(rng: random.Random, plain: list[int]) -> int:
    rd, rs1, rs2, mode = rng.randrange(32), rng.randrange(32), rng.randrange(32), rng.choice([0, 1, 2, 3, 4, 7])
    into = rd if rd != DATA_REGISTER else 0
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(FUSED) | rd << 7 | mode << 12 | rs1 << 15 | rs2 << 20 | rng.randrange(32) << 27
    if kind <= 2:
        return rng.choice(ROUNDED_FLOAT) | rd << 7 | mode << 12 | rs1 << 15 | rs2 << 20
    if kind == 3:
        return rng.choice(ROUNDED_ONE) | into << 7 | mode << 12 | rs1 << 15
    if kind == 4:
        return rng.choice(plain) | rd << 7 | rs1 << 15 | rs2 << 20
    return rng.choice([word | rs2 << 20 for word in COMPARISONS] + MOVES) | into << 7 | rs1 << 15


def float_program(rng: random.Random, plain: list[int]) -> bytes:
    """Load all registers, calculate in a mode of rounding, put the flags into a register, store all."""
    at = f"(x{DATA_REGISTER})"
    begin = [
        "li x5, 0x6000",
        "csrs mstatus, x5",
        f"csrwi fcsr, {rng.randrange(5) << 5 & 31}",
        f"csrwi frm, {rng.randrange(5)}",
    ]
    begin += [f"flw f{i}, {4 * i}{at}" for i in range(32)]
    middle = []
    for _ in range(100):
        middle += [f".word {float_word(rng, plain):#x}", f"flw f{rng.randrange(32)}, {rng.randrange(0, 256, 4)}{at}"]
    end = ["csrr x6, fcsr", *(f"fsw f{i}, {4 * i}{at}" for i in range(32))]
    return assemble("\n ".join([*begin, *middle, *end]), "+m+c+f")


def quiet(word: int) -> int:
    return word | 0x00400000 if word & 0x7F800000 == 0x7F800000 and word & 0x007FFFFF else word


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("signals", [True, False])
def test_random_float(signals: bool, seed: int) -> None:
    """Minimum and maximum only without signalling NaNs: unicorn follows a draft there, we the ratified F 2.2."""
    rng = random.Random(f"{seed} {signals}")
    words = [rng.choice([*FLOAT_EDGES, rng.getrandbits(32), rng.getrandbits(24) | 0x3F000000]) for _ in range(64)]
    words = words if signals else [quiet(word) for word in words]
    plain = SIGN_INJECTION + ([] if signals else MIN_MAX)
    check(float_program(rng, plain), rng, struct.pack("<64I", *words))
