"""What programs for Cortex-M call instead of a library of the compiler's: copies and divisions."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright import targets
from tilewright.emulator.machine import Emulator
from tilewright.sim.program.elf import Elf
from tilewright.toolchain.compiler import compile_objects, find_compiler, link_without_runtime

FLASH, RAM = 0x0800_0000, 0x2000_0000
RUNTIME = targets.find("cortex-m4").folder / "runtime"
SCRIPT = f"""
ENTRY(tw_reset)
SECTIONS {{
  . = {FLASH:#x};
  .text : {{ KEEP(*(.vectors)) KEEP(*(.text .text.*)) *(.rodata .rodata.*) }}
  /DISCARD/ : {{ *(.ARM.*) *(.comment) }}
}}
"""
CALLER = """
    .syntax unified
    .thumb
    .section .vectors,"a",%progbits
    .word 0x20001000
    .word tw_reset
    .text
    .globl tw_reset
    .type tw_reset, %function
    .thumb_func
tw_reset:
1:  ldr  r4, =0x20000f00
    ldmia r4!, {r0, r1, r2, r3, r5}
    blx  r5
    ldr  r4, =0x20000f80
    stmia r4!, {r0, r1, r2, r3}
    bl   done
    b    1b
    .globl done
    .thumb_func
done:
    bx   lr
"""
ARGUMENTS, RESULTS = RAM + 0xF00, RAM + 0xF80


class Called:
    """Functions of the runtime, one call at a time."""

    def __init__(self, emulator: Emulator, elf: Elf) -> None:
        self.emulator, self.elf = emulator, elf

    def __call__(self, name: str, *words: int) -> tuple[int, ...]:
        given = [*(word % 2**32 for word in words), *[0] * (4 - len(words)), self.elf.symbols[name] | 1]
        self.emulator.write(ARGUMENTS, struct.pack("<5I", *given))
        assert self.emulator.run_until("done", self.emulator.cycle + 100_000)
        return struct.unpack("<4I", self.emulator.read(RESULTS, 16))


@pytest.fixture(scope="module", params=["cortex-m4", "cortex-m0plus"])
def call(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    folder: Path = tmp_path_factory.mktemp("runtime")
    target = targets.find(request.param)
    (folder / "caller.S").write_text(CALLER)
    (folder / "link.ld").write_text(SCRIPT)
    names = [RUNTIME / "memory.S", folder / "caller.S"]
    names += [RUNTIME / "division.S", RUNTIME / "division.c"] if request.param != "cortex-m0plus" else []
    objects = compile_objects({name: list(target.flags) for name in names}, folder, find_compiler())
    link_without_runtime(objects, [], folder / "x.elf", find_compiler(), [*target.flags, "-static", "-T", "link.ld"])
    with Emulator(target.platform) as emulator:
        yield Called(emulator, emulator.load(folder / "x.elf"))


@pytest.mark.in_turns(3)
def test_copies(call: Called) -> None:
    numbers = random.Random(1)
    for _ in range(200):
        size = numbers.choice((numbers.randrange(20), numbers.randrange(100)))
        to, source = (RAM + 0x2000 + numbers.randrange(150) for _ in range(2))
        before = numbers.randbytes(300)
        call.emulator.write(RAM + 0x2000, before)
        wanted, at, start = bytearray(before), to - RAM - 0x2000, source - RAM - 0x2000
        wanted[at : at + size] = before[start : start + size]
        apart = to + size <= source or source + size <= to
        assert call("memcpy" if apart and numbers.random() < 0.7 else "memmove", to, source, size)[0] == to
        assert call.emulator.read(RAM + 0x2000, 300) == wanted, (to, source, size)
        wanted[at : at + size] = bytes([size]) * size
        assert call("memset", to, size + 0x500, size)[0] == to
        assert call.emulator.read(RAM + 0x2000, 300) == wanted, (to, size)


@pytest.mark.parametrize("call", ["cortex-m4"], indirect=True)
def test_divisions(call: Called) -> None:
    numbers = random.Random(2)
    for _ in range(200):
        value, by = (numbers.getrandbits(numbers.randrange(1, 65)) for _ in range(2))
        check_division(call, "__aeabi_uldivmod", value, by or 1, signed=False)
        signs = (numbers.choice((-1, 1)) for _ in range(2))
        check_division(call, "__aeabi_ldivmod", next(signs) * (value >> 1), next(signs) * (by >> 1 or 1), signed=True)


def check_division(call: Called, name: str, value: int, by: int, signed: bool) -> None:
    operands = struct.unpack(
        "<4I", value.to_bytes(8, "little", signed=signed) + by.to_bytes(8, "little", signed=signed)
    )
    found = struct.pack("<4I", *call(name, *operands))
    quotient, rest = (int.from_bytes(found[at : at + 8], "little", signed=signed) for at in (0, 8))
    exact = abs(value) // abs(by) * (1 if (value < 0) == (by < 0) else -1)
    assert (quotient, rest) == (exact, value - exact * by), (value, by)
