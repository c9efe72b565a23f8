"""Small programs for the virtual MemPool: assembled for one core while the others sleep, or built from C for all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.sim.assembling import ALONE, BASE, FOREVER, PROGRAMS, TARGET, assemble, elf_of, program_folder
from tilewright.errors import CompileError
from tilewright.sim.platform import Platform
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import BARE, find_compiler

FEATURES = "+m+a"
SEQUENTIAL = 4096
INTERLEAVED = 64 * SEQUENTIAL
"""Where L1 of 64 tiles begins to be interleaved."""
DATA = BASE + 0x10_0000


def program(body: str, hart: int | None = 0) -> tuple[bytes, int]:
    """The code, and the address behind it. Without a hart all cores run it."""
    start = "" if hart is None else ALONE.format(hart=hart)
    code = assemble(f".option norvc\n{start}{body}", FEATURES)
    return code + FOREVER, BASE + len(code)


def loaded(
    body: str, hart: int | None = 0, platform: str | Platform = "mempool", **checks: bool
) -> tuple[Simulator, int]:
    code, end = program(body, hart)
    simulator = Simulator(platform)
    simulator.check(**checks)
    simulator.load(elf_of(code))
    return simulator, end


def run(
    body: str, hart: int = 0, data: dict[int, bytes] | None = None, platform: str | Platform = "mempool", **checks: bool
) -> Simulator:
    """From the first to behind the last instruction of one core."""
    simulator, end = loaded(body, hart, platform, **checks)
    for address, content in (data or {}).items():
        simulator.write(address, content)
    assert simulator.run_until(end, cycle=1_000_000, core=hart)
    assert simulator.register(hart, "pc") == end
    return simulator


def until_asleep(simulator: Simulator) -> None:
    with pytest.raises(CompileError, match="all cores are asleep"):
        simulator.run(1_000_000)


def run_all(body: str, platform: str | Platform = "mempool") -> Simulator:
    """By all cores, which sleep afterwards."""
    simulator, _ = loaded(f"{body}\n 9: wfi\n j 9b", None, platform)
    until_asleep(simulator)
    return simulator


def cycles(body: str, before: str = "", hart: int = 0, platform: str | Platform = "mempool") -> int:
    """Between two readings of the counter around some code, the second time that it runs."""
    again = f"""
        li s11, 2
        {before}
    .balign 32
    2:  fence
        csrr s10, mcycle
        {body}
        csrr s9, mcycle
        addi s11, s11, -1
        bnez s11, 2b
    """
    simulator = run(again, hart, platform=platform)
    return simulator.register(hart, "s9") - simulator.register(hart, "s10") - 1


@cache
def built(name: str, tiles: int, *flags: str) -> Path:
    """A C program of this folder for all cores of so many tiles."""
    folder = program_folder()
    target = folder / f"{Path(name).stem}{tiles}{abs(hash(flags)):x}.elf"
    options = [f"-mcpu=generic_rv32{FEATURES}", "-O2", "-g", "-gdwarf-4", "-fomit-frame-pointer", "-static", BARE]
    sources = [str(PROGRAMS / "mempool_start.S"), str(PROGRAMS / name)]
    script = target.with_suffix(".ld")
    script.write_text((PROGRAMS / "mempool.ld").read_text().replace("256K", str(tiles * SEQUENTIAL)))
    find_compiler().run([*TARGET, *options, *flags, "-T", str(script), *sources, "-o", str(target)], folder)
    return target
