"""An accelerator of one's own on the virtual SoC, in Python and in C: python run.py

The engine adds up n products of 32-bit words: 3 cycles of set-up, one cycle per product, then event line 5.
Registers: 0 address of a, 4 address of b, 8 n (a store starts), 12 result, 16 busy.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.simulator import Simulator
from tilewright.sim.user.device import UserDevice
from tilewright.toolchain.compiler import BARE, find_cross_compiler

FOLDER = Path(__file__).parent
PLATFORM = SIRACUSA.with_device("mac", 0x3000_0000, latency=2)
A, B, COUNT, RESULT, BUSY = 0, 4, 8, 12, 16
SETUP, CYCLES_PER_MAC, LINE = 3, 1, 5


class MacEngine(UserDevice):
    def __init__(self) -> None:
        self.a = self.b = self.n = self.result = self.done = 0

    def read(self, offset: int, now: int) -> int:
        return {RESULT: self.result, BUSY: int(now < self.done)}.get(offset, 0)

    def write(self, offset: int, value: int, now: int) -> None:
        if offset == A:
            self.a = value
        elif offset == B:
            self.b = value
        elif offset == COUNT:
            self.n, self.done = value, now + SETUP + value * CYCLES_PER_MAC

    def tick(self, now: int) -> int | None:
        if not self.n:
            return None
        if now < self.done:
            return self.done
        a, b = (struct.unpack(f"<{self.n}I", self.host.read(at, 4 * self.n)) for at in (self.a, self.b))
        self.result, self.n = sum(x * y for x, y in zip(a, b, strict=True)), 0
        self.host.raise_event(cores=1, line=LINE, now=now)
        return None


def build_program(folder: Path) -> Path:
    """The program that uses the engine, with the compiler that pip installed."""
    target = ["-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c", "-O2", "-g", "-static", BARE]
    sources = [str(FOLDER / name) for name in ("start.S", "program.c")]
    find_cross_compiler().run([*target, "-T", str(FOLDER / "link.ld"), *sources, "-o", "program.elf"], folder)
    return folder / "program.elf"


def run(device: UserDevice | Path, program: Path) -> tuple[int, int]:
    """Result and cycles, as the program leaves them behind."""
    with Simulator(PLATFORM) as simulator:
        simulator.attach("mac", device)
        simulator.load(program)
        simulator.run(max_cycles=100_000)
        return simulator.read_word("result"), simulator.read_word("cycles")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Path(folder))
        devices: dict[str, UserDevice | Path] = {"Python": MacEngine(), "C": FOLDER / "mac_engine.c"}
        for language, device in devices.items():
            result, cycles = run(device, program)
            print(f"{language}: result {result}, {cycles} cycles")


if __name__ == "__main__":
    main()
