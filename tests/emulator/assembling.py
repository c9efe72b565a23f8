"""Small Thumb programs for the tests: assembled with zig, with a vector table of their own in front."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.sim.assembling import elf_bytes, section
from tilewright import targets
from tilewright.emulator.machine import Emulator
from tilewright.sim.platform import Platform
from tilewright.sim.program.elf import MACHINE_ARM
from tilewright.toolchain.compiler import compile_objects, find_compiler

FLASH, RAM = 0x0800_0000, 0x2000_0000
STACK_END = RAM + 0x1000
CODE = FLASH + 8
"""Behind the vector table."""
BETWEEN = ".word 0xdeadbeef"
EXIT = """
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab
"""


@cache
def assemble(source: str, core: str = "cortex-m4") -> bytes:
    """The bytes of .text."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.S").write_text(f".syntax unified\n.thumb\n.text\n{source}\n")
        flags = [flag for flag in targets.find(core).flags if not flag.startswith(("-f", "-O"))]
        (made,) = compile_objects({Path(folder) / "x.S": flags}, Path(folder), find_compiler())
        return section(made.read_bytes(), b".text")


def assemble_each(sources: Sequence[str], core: str = "cortex-m4") -> list[bytes]:
    """By one start of the assembler; each begins at a multiple of 4."""
    joined = f"\n.balign 4\n{BETWEEN}\n".join(sources)
    return assemble(joined, core).split(bytes.fromhex("efbeadde"))


def program(source: str, folder: Path, core: str = "cortex-m4") -> Path:
    """An ELF file that begins with the source's first instruction."""
    code = struct.pack("<II", STACK_END, CODE | 1) + assemble(source, core)
    path = folder / "program.elf"
    path.write_bytes(elf_bytes(code, FLASH, MACHINE_ARM))
    return path


def loaded(source: str, folder: Path, core: str = "cortex-m4", platform: Platform | None = None) -> Emulator:
    emulator = Emulator(platform or targets.find(core).platform)
    emulator.load(program(source, folder, core))
    return emulator
