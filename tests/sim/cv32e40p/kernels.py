"""The kernels of rtl/kernels.c on the simulator and on the CV32E40P's RTL: checksums and cycles."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.sim.cv32e40p.verilated import BENCH, run_rtl
from tilewright.sim.program.elf import Elf, read_elf
from tilewright.sim.simulator import Simulator
from tilewright.toolchain.compiler import find_compiler

FEATURES = "+m+c+xcvmem+xcvmac+xcvsimd+xcvalu+xcvbitmanip+xcvbi"
FLAGS = ["-target", "riscv32-freestanding", "-g0", "-fomit-frame-pointer", "-static", "-fno-sanitize=all"]
KERNELS = re.findall(r"defined\(KERNEL_(\w+)\)", (BENCH / "kernels.c").read_text())


@dataclass(frozen=True)
class Measured:
    name: str
    rtl: int
    ours: int
    checksums: tuple[int, int]
    """By the RTL and by the simulator."""

    @property
    def error(self) -> float:
        return self.ours / self.rtl - 1


def build_kernel(name: str, features: str = FEATURES, level: str = "-O2") -> Elf:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kernel.elf"
        sources = [str(BENCH / "start.S"), str(BENCH / "kernels.c")]
        options = [f"-mcpu=generic_rv32{features}", level, f"-DKERNEL_{name}", "-T", str(BENCH / "link.ld")]
        find_compiler().run([*FLAGS, *options, *sources, "-o", str(program)], Path(folder))
        return read_elf(program)


def image_of(elf: Elf) -> tuple[int, bytearray]:
    """The memory that the program starts with, and its address."""
    base = min(segment.address for segment in elf.segments)
    image = bytearray(max(segment.address + segment.size for segment in elf.segments) - base + 64)
    for segment in elf.segments:
        image[segment.address - base : segment.address - base + len(segment.data)] = segment.data
    return base, image


def measure(name: str, features: str = FEATURES, level: str = "-O2") -> Measured:
    elf = build_kernel(name, features, level)
    base, image = image_of(elf)
    begin, end, result = (elf.symbols[symbol] for symbol in ("begin", "end", "result"))
    assert elf.entry == base
    rtl = run_rtl(bytes(image), base, begin, end)
    cycles, found = simulate(elf)
    wanted = int.from_bytes(rtl.memory[result - base : result - base + 4], "little")
    return Measured(name, rtl.cycles, cycles, (wanted, found))


def simulate(elf: Elf) -> tuple[int, int]:
    """Cycles between begin and end, and the checksum."""
    with Simulator("cv32e40p") as simulator:
        simulator.load(elf)
        assert simulator.run_until("begin")
        began = simulator.report().cores[0].cycles
        assert simulator.run_until("end")
        return simulator.report().cores[0].cycles - began, simulator.read_word("result")
