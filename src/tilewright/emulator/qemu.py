"""A Cortex-M in QEMU as an object: what machine.py's emulator does, for cores that it does not have."""

from __future__ import annotations

import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

from tilewright.emulator import vector_timing
from tilewright.emulator.counting import BlockCost
from tilewright.emulator.decoding import decoded, disassembler
from tilewright.emulator.doorbell import REGISTERS, RING, WORD, DoorbellHost, ended, ring, waits
from tilewright.emulator.faults import stack_overrun
from tilewright.emulator.qemu_counting import FAULT, NOTED, BlockTable
from tilewright.emulator.qemu_machines import machine_of
from tilewright.emulator.qemu_process import VECTORS, QemuProcess, find_qemu
from tilewright.emulator.qemu_remote import Lost, Remote
from tilewright.emulator.results import activity_of, probes_of, report_of
from tilewright.emulator.semihosting import ELAPSED, REQUEST, answer
from tilewright.emulator.stack import stack_of
from tilewright.emulator.timing import REMARKS, block_cost
from tilewright.emulator.vectors import vectors_address
from tilewright.errors import CompileError, Refusal
from tilewright.sim.activity import Activity
from tilewright.sim.platform import Platform
from tilewright.sim.program.elf import MACHINE_ARM, Elf, bytes_between, code_sections, read_elf, symbol_address
from tilewright.sim.results import Report
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.user.device import UserDevice
from tilewright.sim.watching.probes import EngineJob, Probe

POLL = 0.2
"""Seconds between two looks at how far a program has come."""
LONGEST_STAND = 60.0
"""Seconds without an instruction after which QEMU is taken to hang."""
STACK_POINTER, PROGRAM_COUNTER = 13, 15
STACKED_PLACE = 24
"""Bytes of what a core saves at a fault before the place of it."""
FAULT_STATUS, FAULT_ADDRESS = 0xE000_ED28, 0xE000_ED38
SMALLEST_TABLE = 8
"""Bytes: the stack and the first instruction."""
HANDLERS = range(2, 8)
"""Of faults, in the vector table."""
WITH_VECTORS = "cortex-m55"


class Qemu:
    """One core with a program in it. Deterministic: the same program executes the same instructions."""

    user_devices: tuple[str, ...] = ()
    counts_calls = True
    _device: tuple[str, UserDevice] | None = None

    def __init__(self, platform: Platform) -> None:
        find_qemu()
        self.platform, self.machine = platform, machine_of(platform)
        self.elf: Elf | None = None
        self.stdout = ""
        self.exit_code: int | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-qemu-")
        self._core = platform.groups[0].name
        self._faults: dict[int, int] = {}
        self._jobs: list[EngineJob] = []

    def attach(self, name: str, device: UserDevice | RtlDevice | str | Path, includes: tuple[Path, ...] = ()) -> None:
        """One object in Python, which programs reach by a doorbell."""
        if self._device is not None or not isinstance(device, UserDevice):
            raise CompileError(f"device {name}", "QEMU takes one device, in Python", "leave --emulator qemu out")
        self._device = name, device

    def close(self) -> None:
        """QEMU ends; so it does where this object is forgotten, or Python ends."""
        if self.elf is not None:
            self._end()
        self._folder.cleanup()

    def __enter__(self) -> Qemu:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- program ----

    def load(self, program: str | Path) -> Elf:
        """Start QEMU with it; the core begins where the first words of it say."""
        elf = read_elf(program, MACHINE_ARM)
        start = vectors_address(elf)
        vectors = bytes_between(elf, start, start + 4 * VECTORS)
        if len(vectors) < SMALLEST_TABLE:
            raise CompileError(str(program), f"has no vector table at {start:#x}", "link it for this board")
        words = [int.from_bytes(vectors[at : at + 4], "little") for at in range(0, len(vectors), 4)]
        self._faults = {word & ~1: FAULT for word in words[HANDLERS.start : HANDLERS.stop] if word}
        self._table = BlockTable(Path(self._folder.name), _costs(self._core, elf))
        self._table.note(self._faults)
        process = QemuProcess(self.machine, self._core, Path(program).absolute(), start, vectors, self._table)
        self._process, self._end = process, weakref.finalize(self, process.end)
        self.elf = elf
        try:
            self._remote = Remote(process.connection)
            for place in _requests(elf):
                self._remote.break_at(place)
        except Lost:
            raise self._lost() from None
        return elf

    def run(self, max_cycles: int | None = None) -> Report:
        self._go(None, max_cycles)
        if self.exit_code is None:
            raise CompileError(
                self._place(self._pc),
                f"the program has not ended after {self.cycle} cycles",
                "look where it loops, or allow more: --max-cycles",
            )
        return self.report()

    def run_until(self, address: int | str, cycle: int | None = None) -> bool:
        """Run until the core comes to an address (or function). False if the program ended before."""
        self._go(self.address(address), cycle)
        return self.exit_code is None

    def _go(self, until: int | None, most: int | None) -> None:
        """On and on, with the program's requests answered, to a place, to its end or to a number of cycles."""
        try:
            if until is not None:
                if until == self._pc:
                    self._remote.step()
                self._remote.break_at(until)
            while self.exit_code is None and self._stops_within(most) and self._pc != until:
                self._answer()
            if until is not None:
                self._remote.no_break_at(until)
        except Lost:
            raise self._lost() from None

    def _stops_within(self, most: int | None) -> bool:
        """Let the core run until a breakpoint; False where the limit came first. Cycles are at least as many as
        instructions, and those are quickly counted."""
        self._remote.go_on()
        seen, changed = -1, time.monotonic()
        while not self._remote.stopped(POLL):
            done = self._table.instructions
            if self._table.fault:
                self._halt()
                raise self._fault()
            if done != seen:
                seen, changed = done, time.monotonic()
            if time.monotonic() - changed > LONGEST_STAND:
                raise Lost
            if most is not None and done > most:
                self._halt()
                return False
        return True

    def _halt(self) -> None:
        self._remote.interrupt()
        if not self._remote.stopped(LONGEST_STAND):
            raise Lost

    def _answer(self) -> None:
        """What the program asks with the breakpoint that it has come to."""
        operation, argument = self.argument(0), self.argument(1)
        if operation == RING and self._device is not None:
            self._ring(argument, *self._device)
        if operation == ELAPSED:
            self._remote.write(argument, self.cycle.to_bytes(8, "little"))
        found = answer(operation, argument, self._remote.read)
        self.stdout += found.text
        self.exit_code = found.exit_code
        self._remote.set_register(0, found.result)
        self._remote.set_register(PROGRAM_COUNTER, self._pc + len(REQUEST))

    def _ring(self, block: int, name: str, device: UserDevice) -> None:
        """The core goes on while the device works, until it needs the results."""
        host, now = DoorbellHost(self._saved, self._remote.write), self.cycle
        given = self._remote.read(block, WORD * (REGISTERS + 1))
        try:
            registers = self._ended(device, host, given, now) if waits(given) else ring(device, host, given, now)
        except Refusal as error:
            raise error.at(f"device {name}, cycle {now}") from None
        self._remote.write(block, registers)
        if host.cycles:
            self._jobs.append(EngineJob(name, now, now + host.cycles))

    def _ended(self, device: UserDevice, host: DoorbellHost, given: bytes, now: int) -> bytes:
        end = max(now, self._jobs[-1].end if self._jobs else now)
        self._table.stand(end - now)
        return ended(device, host, given, end)

    def _saved(self, address: int, size: int) -> bytes:
        """Memory by way of a file, which is quicker than packets."""
        path = Path(self._folder.name) / "saved"
        self._remote.save(address, size, path)
        return path.read_bytes()

    @property
    def _pc(self) -> int:
        return self._remote.register(PROGRAM_COUNTER)

    def _place(self, address: int) -> str:
        name = "?" if self.elf is None else self.elf.function_at(address)
        return f"{self._core}, {address:#x} in {name}"

    def _lost(self) -> CompileError:
        """QEMU has gone, and what is known is the block that it was in."""
        error = self._process.died()
        return CompileError(f"{error.where}, {self._place(self._table.current)}", error.what, error.hint)

    def _fault(self) -> CompileError:
        """The core stands in the handler of a fault, and the place of it on the stack."""
        stack = self._remote.register(STACK_POINTER)
        start, end = (self.elf and stack_of(self.elf)) or (0, 0)
        if stack < start:
            return stack_overrun(self._core, end - start)
        place = int.from_bytes(self._remote.read(stack + STACKED_PLACE, 4), "little")
        status, address = (int.from_bytes(self._remote.read(at, 4), "little") for at in (FAULT_STATUS, FAULT_ADDRESS))
        return CompileError(
            self._place(place),
            f"the core faulted: fault status (CFSR) {status:#010x}, fault address {address:#010x}",
            "look up the status bits in the core's manual; a wild pointer, or an array that is too short?",
        )

    # ---- again ----

    def snapshot(self) -> tuple[int, int]:
        """Where the core stands, with which stack."""
        return self._remote.register(STACK_POINTER), self._pc

    def restore(self, place: tuple[int, int]) -> None:
        """The core stands there again; memory and counters stay as they are."""
        for number, value in zip((STACK_POINTER, PROGRAM_COUNTER), place, strict=True):
            self._remote.set_register(number, value)
        self.exit_code = None

    # ---- looking inside ----

    @property
    def cycle(self) -> int:
        return self._table.now.cycles

    @property
    def estimate(self) -> str:
        """What its cycles are."""
        return f"{REMARKS[self._core]}, no wait states"

    def address(self, place: int | str) -> int:
        return place if isinstance(place, int) else symbol_address(self.elf, place)

    def read(self, address: int | str, size: int) -> bytes:
        return self._remote.read(self.address(address), size)

    def write(self, address: int | str, data: bytes) -> None:
        self._remote.write(self.address(address), data)

    def read_word(self, address: int | str) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def argument(self, number: int) -> int:
        """Of the function that the core is about to enter."""
        return self._remote.register(number)

    # ---- results ----

    def probe(self, addresses: Iterable[int], metered: Iterable[int] = ()) -> None:
        self._table.note({**self._faults, **dict.fromkeys((*addresses, *metered), NOTED)})

    def probes(self) -> list[Probe]:
        return probes_of(self._table.events)

    def jobs(self) -> list[EngineJob]:
        return self._jobs

    def activity(self) -> Activity:
        return activity_of(self._table.now)

    def report(self) -> Report:
        return report_of(self._core, self._table.now, self.exit_code, self.stdout)


def _requests(elf: Elf) -> list[int]:
    """Where the program may ask for something: QEMU stops there. Data that looks like it does no harm."""
    return [
        address + at
        for address, code in code_sections(elf)
        for at in range(0, len(code) - 1, 2)
        if code[at : at + 2] == REQUEST
    ]


def _costs(core: str, elf: Elf) -> Callable[[int, int], BlockCost]:
    """Of blocks of a program, by address and bytes."""
    decoder = None if core == WITH_VECTORS else disassembler()

    def cost(address: int, size: int) -> BlockCost:
        code = bytes_between(elf, address, address + size)
        if decoder is None:
            return vector_timing.block_cost(code)
        return block_cost(list(decoded(code, address, decoder)), core)

    return cost
