"""Declared instructions on all cores that take them: values, cycles, and the header that compilers get."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from numpy.random import default_rng

from tests.instruction.folders import DOT4, POPCOUNT, written
from tests.sim.assembling import FOREVER, TARGET, elf_of, section
from tilewright.instruction.declaration import Instruction, read_instruction
from tilewright.instruction.header import header
from tilewright.instruction.semantics import simulated
from tilewright.instruction.usage import occurrences
from tilewright.sim.platforms import find_platform
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import compile_objects, find_compiler

PLACES = {
    "microcontroller": 0x8000_0000, "siracusa": 0x1C00_0000, "quad": 0x8000_0000, "snitch": 0x8000_0000,
}  # fmt: skip
"""Platforms, and where code may lie."""
RD, RS1, RS2 = 10, 11, 12
LOAD_RS1 = 0x00002583 | 13 << 15
"""lw a1, 0(a3)"""


def word(one: Instruction, last: int = RS2) -> int:
    return one.match | RD << 7 | RS1 << 15 | last << 20


def ran(platform: str, one: Instruction, words: list[int], **registers: int) -> Simulator:
    """The core that boots executes these words."""
    whole, base = find_platform(platform), PLACES[platform]
    core = next(sum(g.cores for g in whole.groups[:at]) for at, group in enumerate(whole.groups) if group.boots)
    simulator = Simulator(replace(whole, instructions=(simulated(one),)))
    code = struct.pack(f"<{len(words)}I", *words)
    simulator.load(elf_of(code + FOREVER, base))
    for name, value in registers.items():
        simulator.set_register(core, name, value)
    assert simulator.run_until(base + len(code), cycle=100_000, core=core)
    return simulator


def result(simulator: Simulator) -> int:
    core = next(core for core in range(simulator.platform.cores) if simulator.register(core, "a5") == 77)
    return simulator.register(core, "a0")


@pytest.mark.parametrize("platform", PLACES)
def test_values(tmp_path: Path, platform: str) -> None:
    """A sum of products into what was there, a constant in the place of the second register, and one of 12 bits."""
    marks = {"a5": 77}
    dot = replace(read_instruction(DOT4), opcode="custom-3", funct3=7, funct7=111)
    found = ran(platform, dot, [word(dot)], a0=1000, a1=0x7F80_01FF, a2=0x7F80_0203, **marks)
    assert result(found) == 1000 + 127 * 127 + 128 * 128 + 2 - 3
    shift = read_instruction(
        written(tmp_path, operands='["rd", "rs1", "imm5"]', semantics='"rs1.u32 >> imm"', funct7="90", funct3="7")
    )
    assert result(ran(platform, shift, [word(shift, 31)], a1=0x8000_0000, **marks)) == 1
    add = read_instruction(
        written(tmp_path, operands='["rd", "rs1", "imm12"]', semantics='"rs1.u32 + (uint32_t)imm"', funct3="6")
    )
    assert result(ran(platform, add, [word(add) & 0xFFFFF | 0xFFE << 20], a1=10, **marks)) == 8


def test_latency_and_waits() -> None:
    """It takes its cycles, waits for what is loaded, and does not for what it does not read."""
    dot = read_instruction(DOT4)

    def cycles(latency: int, words: list[int]) -> int:
        return ran("microcontroller", replace(dot, latency=latency), words, a3=0x8000_0000).cycle

    assert cycles(5, [word(dot)] * 3) - cycles(1, [word(dot)] * 3) == 12
    other = word(dot) & ~(31 << 15) | 14 << 15
    assert cycles(1, [LOAD_RS1, word(dot)]) - cycles(1, [LOAD_RS1, other]) == 1


def test_bits_of_weights() -> None:
    """The example: sixteen products, from planes of bits."""
    one, random = read_instruction(POPCOUNT), default_rng(3)
    weights, values = random.integers(-2, 2, 16), random.integers(0, 256, 16)
    planes = [sum(int(value >> bit & 1) << at for at, value in enumerate(values)) for bit in range(8)]
    packed = sum(int(weight >> bit & 1) << (16 * bit + at) for at, weight in enumerate(weights) for bit in range(2))
    total = 0
    for low in (6, 4, 2, 0):
        both = planes[low] | planes[low + 1] << 16
        total = result(ran("microcontroller", one, [word(one)], a0=4 * total, a1=both, a2=packed, a5=77))
    assert total == int(weights @ values) & 0xFFFFFFFF


def test_x0_is_nothing() -> None:
    """Neither what is added to, nor what is written."""
    dot = read_instruction(DOT4)
    to_zero = word(dot) & ~(31 << 7)
    assert result(ran("microcontroller", dot, [to_zero, to_zero, 0x00000513 | 0 << 15], a1=-1, a2=-1, a5=77)) == 0


def test_header(tmp_path: Path) -> None:
    """What a compiler makes of it is the word that the simulator knows."""
    more = {"name": '"more"', "operands": '["rd+", "rs1", "imm12"]', "semantics": '"rd.u32 + (uint32_t)imm"'}
    less = {
        "name": '"less"',
        "summary": '"less */ int x; /*"',
        "operands": '["rd", "rs1", "imm5"]',
        "semantics": '"rs1.u32 >> imm"',
    }
    places = [DOT4, written(tmp_path / "a", funct7="3")]
    places += [written(tmp_path / "b", funct3="1", **more), written(tmp_path / "c", funct3="2", **less)]
    found = [read_instruction(place) for place in places]
    (tmp_path / "instructions.h").write_text(header(found))
    (tmp_path / "x.c").write_text(
        '#include "instructions.h"\nuint32_t f(uint32_t a, uint32_t b);\nuint32_t f(uint32_t a, uint32_t b) {\n'
        "  a = tw_own_dot4(a, b, tw_own_twice(b));\n  a = tw_own_more(a, b, -5);\n  return tw_own_less(a, 31);\n}\n"
    )
    options = [*TARGET, "-mcpu=generic_rv32+m", "-O2", "-Wall", "-Wextra", "-Werror"]
    (made,) = compile_objects({tmp_path / "x.c": options}, tmp_path, find_compiler())
    code = section(made.read_bytes(), b".text")
    elf = replace(elf_of(code), functions=((0x8000_0000, "f"),))
    assert [occurrences(elf, one.mask, one.match) for one in found] == [1] * 4
