"""Small programs for the tests: assembled with zig, or put together from instruction words."""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tilewright.sim.program.elf import Elf, parse_elf
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import BARE, compile_objects, find_compiler

PROGRAMS = Path(__file__).parent / "programs"
BASE = 0x8000_0000
COREV = "+m+a+c+f+xcvmem+xcvmac+xcvsimd+xcvalu+xcvbitmanip+xcvbi"
FOREVER = struct.pack("<I", 0x0000006F)
"""A jump to itself."""
TARGET = ["-target", "riscv32-freestanding"]
ALONE = """
    csrr t0, mhartid
    li   t1, {hart}
    beq  t0, t1, 1f
0:  wfi
    j    0b
1:
"""
"""All cores but one sleep."""


@cache
def assemble(source: str, features: str = "+m+a+c+f") -> bytes:
    """The bytes of .text."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.S").write_text(f".text\n{source}\n")
        options = {Path(folder) / "x.S": [*TARGET, f"-mcpu=generic_rv32{features}"]}
        (made,) = compile_objects(options, Path(folder), find_compiler())
        return section(made.read_bytes(), b".text")


def assemble_each(instructions: Iterable[str], features: str) -> list[bytes]:
    """Of instructions of four bytes, by one start of the assembler."""
    code = assemble("\n".join(instructions), features)
    return [code[at : at + 4] for at in range(0, len(code), 4)]


def section(data: bytes, wanted: bytes) -> bytes:
    (offset,) = struct.unpack_from("<I", data, 32)
    size, count, names = struct.unpack_from("<HHH", data, 46)
    headers = [struct.unpack_from("<IIIIII", data, offset + i * size) for i in range(count)]
    for name, _, _, _, at, length in headers:
        start = headers[names][4] + name
        if data[start : data.index(b"\0", start)] == wanted:
            return data[at : at + length]
    raise AssertionError(f"no section {wanted!r}")


def elf_of(code: bytes, base: int = BASE) -> Elf:
    """A linked program with nothing but this code."""
    return parse_elf(elf_bytes(code, base), "test")


def elf_bytes(code: bytes, base: int = BASE, machine: int = 243, kind: int = 2) -> bytes:
    head = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, base, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    return head + struct.pack("<IIIIIIII", 1, 84, base, base, len(code), len(code), 7, 4) + code


def run_words(words: list[int], registers: dict[str, int], platform: str = "rv32") -> Simulator:
    return run_code(struct.pack(f"<{len(words)}I", *words), registers, platform)


def run_code(code: bytes, registers: dict[str, int], platform: str = "rv32") -> Simulator:
    """Run from the first to behind the last instruction."""
    simulator = Simulator(platform)
    simulator.load(elf_of(code + FOREVER))
    for name, value in registers.items():
        simulator.set_register(0, name, value)
    assert simulator.run_until(BASE + len(code), cycle=1_000_000)
    return simulator


@cache
def _programs() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tilewright-test-")


def program_folder() -> Path:
    """Goes away with the process."""
    return Path(_programs().name)


@cache
def built(name: str, *flags: str) -> Path:
    """A C program of this folder, linked for Siracusa."""
    key = hashlib.sha256("".join([name, *flags]).encode()).hexdigest()[:12]
    folder = program_folder()
    program = folder / f"{key}.elf"
    options = ["-mcpu=generic_rv32+m+c", "-O2", "-g", "-gdwarf-4", "-fomit-frame-pointer", "-static", BARE]
    sources = [str(PROGRAMS / "start.S"), str(PROGRAMS / name)]
    find_compiler().run(
        [*TARGET, *options, *flags, "-T", str(PROGRAMS / "link.ld"), *sources, "-o", str(program)], folder
    )
    return program
