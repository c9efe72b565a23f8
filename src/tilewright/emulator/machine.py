"""A Cortex-M as an object: load an ELF, run it in an emulator, look inside. It has the virtual SoC's methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tilewright.emulator.counting import BlockCost, BlockCounter, Total
from tilewright.emulator.decoding import Instruction, decoded, disassembler
from tilewright.emulator.devices import Devices
from tilewright.emulator.faults import Cause, Fault, Unfinished, stack_overrun
from tilewright.emulator.results import activity_of, function_times, probes_of, report_of
from tilewright.emulator.semihosting import REQUEST, answer
from tilewright.emulator.stack import stack_of
from tilewright.emulator.timing import ENDLESS, REMARKS, block_cost
from tilewright.emulator.unicorn_core import (
    BREAKPOINT_EXCEPTION,
    CALL_EXCEPTION,
    CYCLE_COUNTER,
    EXCEPTIONS,
    NOWHERE,
    UnicornCore,
)
from tilewright.emulator.vectors import vectors_address
from tilewright.emulator.waits import Waits
from tilewright.errors import CompileError, present
from tilewright.sim.activity import Activity
from tilewright.sim.platform import PAGE, Memory, Platform
from tilewright.sim.program.elf import MACHINE_ARM, Elf, read_elf, symbol_address
from tilewright.sim.program.lines import place_of
from tilewright.sim.results import Report
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.user.device import UserDevice
from tilewright.sim.watching.probes import EngineJob, Probe
from tilewright.sim.watching.traces import FunctionTime

SLICE = 20_000_000
"""Instructions between two looks at the keyboard."""
ASKED_EVERY = 61
"""Times that a block is executed until its pointers are looked at again, as they may point to another memory then.
A prime: what recurs every few times is met in all of its phases."""
NEAR = 1 << 16
"""Bytes below a stack: an access there has left it."""
WITHOUT_COUNTER = ("cortex-m0plus",)
CPACR = 0xE000_ED88
"""Coprocessor Access Control Register: whether the floating-point unit is on."""
THUMB = 1 << 24


class Emulator:
    """One core with a program in it. Deterministic: the same program executes the same instructions."""

    counts_calls = True
    """Not all cores have a counter that programs could read."""

    elf: Elf | None
    exit_code: int | None

    def __init__(self, platform: Platform) -> None:
        self.platform, self.elf = platform, None
        self.stdout, self.exit_code = "", None
        self.has_counter = self._core not in WITHOUT_COUNTER
        self._fault: Fault | None = None
        self._endless = False
        self._cpu = UnicornCore(platform, self._counter_read)
        self._decoder = disassembler()
        self._waits = Waits(platform, self._core, self._cpu.register, self._word_at)
        self._known: dict[tuple[int, int], tuple[BlockCost, list[Instruction]]] = {}
        self._counter = BlockCounter(
            self._cost, self._cpu.stop_function, self._code_memory.port, ASKED_EVERY if self._waits.are_there else 0
        )
        self._cpu.add_hooks(self._exception, self._undefined, self._invalid, self._counter.hook)
        self._devices = Devices(self._cpu.engine, lambda: self.cycle)
        self._pc = 0

    @property
    def _core(self) -> str:
        return self.platform.groups[0].name

    @property
    def _code_memory(self) -> Memory:
        return next((memory for memory in self.platform.memories if memory.is_flash), self.platform.memories[0])

    def close(self) -> None:
        self._counter.close()

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- program ----

    def load(self, program: str | Path) -> Elf:
        """Put a program into memory; the core begins where the first words of it say."""
        elf = read_elf(program, MACHINE_ARM)
        for segment in elf.segments:
            filled = len(segment.data)
            self._check_fits(elf, segment.load_address, filled)
            self._check_fits(elf, segment.address + filled, segment.size - filled)
            self._cpu.write(segment.load_address, segment.data)
            self._erase(segment.load_address + filled)
        self.elf = elf
        self._reset()
        return elf

    def snapshot(self) -> Elf:
        """Of a program that has not run: to begin with it again."""
        return present(self.elf, "emulator", "has no program")

    def restore(self, elf: Elf) -> None:
        """The program as it was loaded; what it has left in memory stays there."""
        for segment in elf.segments:
            self._cpu.write(segment.load_address, segment.data)
        self.stdout, self.exit_code = "", None
        self._reset()

    def _reset(self) -> None:
        elf = self.snapshot()
        table = vectors_address(elf)
        stack, start = self.read_word(table), self.read_word(table + 4)
        if not start & 1 or not (self._is_memory(start, 2) and self._is_memory(stack - 4, 4)):
            raise CompileError(
                elf.path, f"does not begin with a vector table: its first words are {stack:#010x} and {start:#010x}",
                "the end of the stack and the odd address of the first function come first, as on the chip",
            )  # fmt: skip
        self._cpu.set_register("SP", stack)
        self._pc = start

    def _erase(self, address: int) -> None:
        """Flash behind a program holds ones, which are no instruction."""
        for memory in self.platform.memories:
            if memory.is_flash and memory.base <= address < memory.base + memory.size:
                self._cpu.write(address, b"\xff" * min(PAGE, memory.base + memory.size - address))

    def _check_fits(self, elf: Elf, address: int, size: int) -> None:
        if not size or self._is_memory(address, size):
            return
        places = ", ".join(f"{m.name} {m.base:#x}..{m.base + m.size:#x}" for m in self.platform.memories)
        what = f"segment {address:#x}..{address + size:#x} lies outside the memories of {self.platform.name}"
        raise CompileError(elf.path, what, f"link it into one of: {places}")

    def _is_memory(self, address: int, size: int) -> bool:
        """Also of several memories, one behind the other."""
        found = next((m for m in self.platform.memories if m.base <= address < m.base + m.size), None)
        if found is None:
            return False
        end = found.base + found.size
        return address + size <= end or self._is_memory(end, address + size - end)

    def attach(self, name: str, device: UserDevice | RtlDevice | str | Path, includes: tuple[Path, ...] = ()) -> None:
        """Put a user's device, an object or a C file, at the place that the platform has for it."""
        self._devices.attach(self.platform.devices[self.platform.device_index(name)], device, includes)

    @property
    def user_devices(self) -> list[str]:
        return self._devices.names

    def registers(self, name: str, count: int) -> list[int]:
        """What was written to or read from the first registers of a user's device last."""
        return self._devices.registers(name, count)

    def run(self, max_cycles: int | None = None) -> Report:
        """Run until the program exits; what goes wrong is an error with its place."""
        self._go(NOWHERE, max_cycles)
        if self.exit_code is None:
            raise self._unfinished()
        return self.report()

    def run_until(self, address: int | str, cycle: int | None = None) -> bool:
        """Run until the core comes to a function, or to where it jumps. False if the program ended before."""
        self._go(self.address(address), cycle)
        if self._counter.has_paused:
            raise self._unfinished()
        return self._counter.has_arrived

    def _go(self, until: int, most: int | None) -> None:
        """In slices, so that an interrupt from the keyboard is heard."""
        self._counter.stop_at(until, until == self._pc & ~1)
        with self._devices.watched():
            while self.exit_code is None and (most is None or self.cycle < most):
                self._counter.pause_after(SLICE if most is None else min(SLICE, most - self.cycle))
                self._start()
                if not self._counter.has_paused:
                    return

    def _start(self) -> None:
        try:
            self._cpu.start(self._pc)
        except self._cpu.error as error:
            if self._fault is None and self._counter.failed is None:
                raise CompileError(self._place(), f"the emulator stopped: {error}", "report this as a bug") from None
        finally:
            self._pc = self._cpu.register("PC")
        if self._counter.failed:
            raise self._counter.failed
        self._devices.raise_failure()
        if self._fault is not None:
            raise self._stopped(self._fault)
        if self._endless:
            raise CompileError(
                self._place(), "the program is in an endless loop: a branch to itself", "end the program with exit()"
            )

    # ---- what the emulator calls ----

    def _cost(self, address: int, size: int) -> BlockCost:
        if (address, size) in self._known:
            return self._waits.added(*self._known[address, size])
        code = self._cpu.read(address, size)
        instructions = list(decoded(code, address, self._decoder))
        if code in ENDLESS:
            self._endless = True
            self._cpu.stop()
        self._check_floats(instructions)
        self._known[address, size] = found = (block_cost(instructions, self._core), instructions)
        return self._waits.added(*found)

    def _check_floats(self, instructions: Sequence[Instruction]) -> None:
        """The emulated unit is always on; a chip's is off until the program says otherwise."""
        first = next((one for one in instructions if one.name.startswith("v")), None)
        if first is None or self.read_word(CPACR) >> 20 & 0xF == 0xF:
            return
        self._fault = Fault(Cause.NO_UNIT, self._core)
        self._cpu.set_register("PC", first.address | 1)
        self._cpu.stop()

    def _word_at(self, address: int) -> int | None:
        return self.read_word(address) if self._is_memory(address, 4) else None

    def _exception(self, _: object, number: int, __: object) -> None:
        pc = self._cpu.register("PC")
        if number == BREAKPOINT_EXCEPTION and self.read(pc, len(REQUEST)) == REQUEST:
            self._answer(pc + len(REQUEST))
            return
        cause = EXCEPTIONS.get(number, Cause.EXCEPTION)
        self._fault = self._fault or Fault(cause, self._core, pc, 4, number)
        if number == CALL_EXCEPTION:
            self._cpu.set_register("PC", (pc - 2) | 1)
        self._cpu.stop()

    def _counter_read(self, uc: Any, offset: int, size: int, _: object) -> int:
        """The counter of cycles, as of the beginning of the block that reads it; all else there is 0."""
        return self.cycle % (1 << 32) if offset == CYCLE_COUNTER and self.has_counter else 0

    def _answer(self, behind: int) -> None:
        found = answer(self._cpu.register("R0"), self._cpu.register("R1"), self.read)
        self.stdout += found.text
        self.exit_code = found.exit_code
        self._cpu.set_register("R0", found.result)
        self._cpu.set_register("PC", behind | 1)
        if self.exit_code is not None:
            self._cpu.stop()

    def _undefined(self, uc: Any, _: object) -> bool:
        cause = Cause.UNDEFINED if self._cpu.register("XPSR") & THUMB else Cause.STATE
        self._fault = self._fault or Fault(cause, self._core, self._cpu.register("PC"))
        return False

    def _invalid(self, uc: Any, kind: int, address: int, size: int, value: int, _: object) -> bool:
        self._fault = self._fault or Fault(self._cpu.cause_of(kind), self._core, address, size)
        return False

    # ---- errors ----

    def _unfinished(self) -> Unfinished:
        what = f"the program has not ended after {self.cycle} cycles"
        return Unfinished(self._place(), what, "look where it loops, or allow more: --max-cycles")

    def _stopped(self, fault: Fault) -> CompileError:
        return self._overrun(fault) or CompileError(self._place(), fault.what, fault.hint)

    def _overrun(self, fault: Fault) -> CompileError | None:
        """Where the core has run off the end of its stack."""
        stack = self.stack
        if stack is None or fault.cause not in (Cause.READ, Cause.WRITE, Cause.READ_ONLY):
            return None
        start, end = stack
        if not (start - NEAR <= fault.address < start or self._cpu.register("SP") < start):
            return None
        return stack_overrun(self._place(), end - start)

    def place(self, pc: int) -> str:
        """Function and source line of an address, as far as the program tells."""
        return place_of(self.elf, pc)

    def _place(self) -> str:
        pc = self._cpu.register("PC")
        came = "" if self._is_memory(pc, 2) else f", called from {self.place(self._cpu.register('LR') & ~1)}"
        return f"{self._core}, cycle {self.cycle}, {self.place(pc)}{came}"

    # ---- looking inside ----

    @property
    def total(self) -> Total:
        return self._counter.total

    @property
    def estimate(self) -> str:
        """What its cycles are."""
        return f"{REMARKS[self._core]}, {self._waits}"

    @property
    def cycle(self) -> int:
        return self.total.cycles

    @property
    def stack(self) -> tuple[int, int] | None:
        """Where it begins and ends, if the program says."""
        return None if self.elf is None else stack_of(self.elf)

    def address(self, place: int | str) -> int:
        return place if isinstance(place, int) else symbol_address(self.elf, place)

    def read(self, address: int | str, size: int) -> bytes:
        return self._cpu.read(self.address(address), size)

    def write(self, address: int | str, data: bytes) -> None:
        self._cpu.write(self.address(address), data)

    def read_word(self, address: int | str) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def argument(self, number: int) -> int:
        """Of the function that the core is about to enter."""
        return self._cpu.register(f"R{number}")

    # ---- results ----

    def probe(self, addresses: Iterable[int], metered: Iterable[int] = ()) -> None:
        self._counter.note({*addresses, *metered})

    def probes(self) -> list[Probe]:
        return probes_of(self._counter.events)

    def profile(self) -> list[FunctionTime]:
        """Cycles per function, the longest first, without those of jumps and waits."""
        return function_times(self.elf, self._counter.blocks)

    def jobs(self) -> list[EngineJob]:
        return self._devices.jobs

    def activity(self) -> Activity:
        return activity_of(self.total)

    def report(self) -> Report:
        return report_of(self._core, self.total, self.exit_code, self.stdout)
