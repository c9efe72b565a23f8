"""Random programs give a Snitch core the same results as a plain core, whatever runs beside what."""

from __future__ import annotations

import random

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, elf_of
from tests.sim.snitch.programs import ALONE, DATA
from tilewright.sim.simulator import Simulator

INTEGERS = ["t0", "t1", "t2", "t3", "t4", "s2", "s3", "a2", "a3"]
FLOATS = [f"f{i}" for i in (4, 5, 10, 11, 12)]
INTERESTING = [0x3F80_0000, 0x4049_0FDB, 1, 0x7F7F_FFFF, 0x8000_0000, 0x7FC0_0000]
WORDS, STEPS = 32, 200
TEMPLATES = """
    add {i}, {i}, {i}; sub {i}, {i}, {i}; xor {i}, {i}, {i}; sra {i}, {i}, {i}; sltu {i}, {i}, {i}; addi {i}, {i}, {n}
    mul {i}, {i}, {i}; mulh {i}, {i}, {i}; mulhsu {i}, {i}, {i}; div {i}, {i}, {i}; remu {i}, {i}, {i}
    slli {i}, {i}, {b}; sw {i}, {at}(s0); sh {i}, {at}(s0); sb {i}, {at}(s0); lw {i}, {at}(s0)
    lh {i}, {at}(s0); lbu {i}, {at}(s0)
    amoadd.w {i}, {i}, (s0); amomax.w {i}, {i}, (s0); fsw {f}, {at}(s0); flw {f}, {at}(s0)
    fadd.s {f}, {f}, {f}; fmul.s {f}, {f}, {f}; fmadd.s {f}, {f}, {f}, {f}; fnmsub.s {f}, {f}, {f}, {f}
    fdiv.s {f}, {f}, {f}; fmin.s {f}, {f}, {f}; fsgnjx.s {f}, {f}, {f}; fsqrt.s {f}, {f}; flt.s {i}, {f}, {f}
    fcvt.w.s {i}, {f}, rtz; fcvt.s.w {f}, {i}
""".replace(";", "\n").split("\n")  # fmt: skip


def source(seed: int) -> str:
    chosen = random.Random(seed)
    lines = [f"li s0, {DATA}", *(f"li {name}, {chosen.getrandbits(32)}" for name in INTEGERS)]
    for name in FLOATS:
        lines += [f"li a4, {chosen.choice([*INTERESTING, chosen.getrandbits(32)])}", f"fmv.w.x {name}, a4"]
    templates = [template.strip() for template in TEMPLATES if template.strip()]
    for _ in range(STEPS):
        parts = chosen.choice(templates).split("{")
        lines.append(parts[0] + "".join(_filled(chosen, part) for part in parts[1:]))
    return "\n".join([*lines, "csrr a5, fflags", f"fmv.x.w a6, {FLOATS[0]}", "mv a6, a6"])


def _filled(chosen: random.Random, part: str) -> str:
    kind, rest = part.split("}", 1)
    if kind in "if":
        return chosen.choice(INTEGERS if kind == "i" else FLOATS) + rest
    low, high, step = {"n": (-2048, 2048, 1), "b": (0, 32, 1), "at": (0, 4 * WORDS, 4)}[kind]
    return str(chosen.randrange(low, high, step)) + rest


def results(platform: str, code: bytes) -> tuple[list[int], bytes]:
    with Simulator(platform) as simulator:
        simulator.load(elf_of(code + FOREVER))
        assert simulator.run_until(BASE + len(code), cycle=1_000_000, core=0)
        registers = [simulator.register(0, name) & 0xFFFF_FFFF for name in [*INTEGERS, *FLOATS, "a5", "a6"]]
        return registers, simulator.read(DATA, 4 * WORDS)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    code = assemble(f".option norvc\n{ALONE.format(hart=0)}\n{source(seed)}", "+m+a+f")
    assert results("snitch", code) == results("rv32", code)
