"""A Cortex-M as an object: load an ELF, run it in an emulator, look inside. It has the virtual SoC's methods."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tilewright.emulator.counting import BlockCost, BlockCounter
from tilewright.emulator.devices import AttachedDevice
from tilewright.emulator.timing import block_cost, disassembler
from tilewright.errors import CompileError
from tilewright.sim.activity import Activity
from tilewright.sim.elf import MACHINE_ARM, Elf, read_elf
from tilewright.sim.platform import PAGE, Platform
from tilewright.sim.probing import EngineJob, Probe
from tilewright.sim.results import CoreReport, Report
from tilewright.sim.user import UserDevice, c_callbacks, heard, python_callbacks
from tilewright.sim.watchdog import Watchdog

SYSTEM = 0xE000_0000
"""Where the core's own registers are."""
SYSTEM_BYTES = 0x10_0000
BREAKPOINT_EXCEPTION = 7
WRITE_CHARACTER, WRITE_TEXT, EXIT, EXIT_EXTENDED = 0x03, 0x04, 0x18, 0x20
"""Operations of Arm's semihosting, by which a program prints and ends."""
FINE = 0x20026
"""The reason that a program gives which ends as it should."""
NOWHERE = 0xFFFF_FFF0
LONGEST_TEXT = 4096


class Emulator:
    """One core with a program in it. Deterministic: the same program executes the same instructions."""

    counts_calls = True
    """Not all cores have a counter that programs could read."""

    def __init__(self, platform: Platform) -> None:
        unicorn, self._arm = _unicorn()
        self.platform, self.elf = platform, None
        self.stdout, self.exit_code = "", None
        self._stopped: BaseException | None = None
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self._uc.ctl_set_cpu_model(getattr(self._arm, _MODELS[self._core]))
        for memory in platform.memories:
            self._uc.mem_map(memory.base, -(-memory.size // PAGE) * PAGE)
        self._uc.mem_map(SYSTEM, SYSTEM_BYTES)
        self._uc.hook_add(unicorn.UC_HOOK_INTR, self._exception)
        self._decoder = disassembler()
        stop = unicorn.unicorn_py3.unicorn.uclib.uc_emu_stop
        self._counter = BlockCounter(self._cost, self._interrupted, stop)
        self._add_hook(unicorn)
        self._pc = 0
        self._devices: dict[str, AttachedDevice] = {}
        self._watchdog: Watchdog | None = None

    elf: Elf | None
    exit_code: int | None

    @property
    def _core(self) -> str:
        return self.platform.groups[0].name

    def _add_hook(self, unicorn: Any) -> None:
        """The C function itself: a call of Python for every block would take most of the time."""
        library = unicorn.unicorn_py3.unicorn.uclib
        function, data = self._counter.hook
        handle = ctypes.c_size_t()
        everywhere = ctypes.c_uint64(1), ctypes.c_uint64(0)
        engine, kind = self._uc._uch, ctypes.c_int(unicorn.UC_HOOK_BLOCK)
        library.uc_hook_add(
            engine, ctypes.byref(handle), kind, ctypes.c_void_p(function), ctypes.c_void_p(data), *everywhere
        )

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
            self._uc.mem_write(segment.load_address, segment.data)
        vectors = self._uc.mem_read(min(segment.load_address for segment in elf.segments), 8)
        self._uc.reg_write(self._arm.UC_ARM_REG_SP, int.from_bytes(vectors[:4], "little"))
        self._pc = int.from_bytes(vectors[4:], "little")
        self.elf = elf
        return elf

    def attach(self, name: str, device: UserDevice | str | Path, includes: tuple[Path, ...] = ()) -> None:
        """Put a user's device, an object or a C file, at the place that the platform has for it."""
        place = self.platform.devices[self.platform.device_index(name)]
        if isinstance(device, UserDevice):
            self._watchdog = self._watchdog or Watchdog()
            callbacks = python_callbacks(device, name, self._watchdog, self._failed)
        else:
            callbacks = c_callbacks(Path(device).resolve(), None, includes)
        made = AttachedDevice(name, callbacks, self._uc, lambda: self.cycle)
        self._devices[name] = made
        self._uc.mmio_map(place.base, -(-place.size // PAGE) * PAGE, made.read, None, made.write, None)

    @property
    def user_devices(self) -> list[str]:
        return list(self._devices)

    def registers(self, name: str, count: int) -> list[int]:
        """What was written to or read from the first registers of a user's device last."""
        return self._devices[name].shown[:count]

    def _failed(self, error: BaseException) -> None:
        self._stopped = self._stopped or error
        self._uc.emu_stop()

    def run(self, max_cycles: int | None = None) -> Report:
        self._go(NOWHERE, max_cycles)
        if self.exit_code is None:
            raise CompileError(self._place(), f"the program has not ended after {self.cycle} cycles", "")
        return self.report()

    def run_until(self, address: int | str, cycle: int | None = None) -> bool:
        """Run until the core comes to an address (or function). False if the program ended before."""
        self._go(self.address(address), cycle)
        return self.exit_code is None

    def _go(self, until: int, most: int | None) -> None:
        if self._watchdog is None:
            return self._emulate(until, most)
        with self._watchdog.watching(), heard(self._failed):
            return self._emulate(until, most)

    def _emulate(self, until: int, most: int | None) -> None:
        unicorn, _ = _unicorn()
        if most is not None:
            self._counter.limit(most)
        if until == self._pc & ~1:
            self._step()
        try:
            self._uc.emu_start(self._pc | 1, until)
        except unicorn.UcError as error:
            raise CompileError(self._place(), f"the core stopped: {error}", "") from None
        finally:
            self._pc = self._uc.reg_read(self._arm.UC_ARM_REG_PC)
        if self._stopped is not None:
            raise self._stopped

    def _step(self) -> None:
        """One instruction, where the core stands at the place that it is to come to."""
        self._uc.emu_start(self._pc | 1, NOWHERE, count=1)
        self._pc = self._uc.reg_read(self._arm.UC_ARM_REG_PC)

    def _place(self) -> str:
        address = self._uc.reg_read(self._arm.UC_ARM_REG_PC)
        name = "?" if self.elf is None else self.elf.function_at(address)
        return f"{self._core}, {address:#x} in {name}"

    # ---- what the emulator calls ----

    def _cost(self, address: int, size: int) -> BlockCost:
        return block_cost(bytes(self._uc.mem_read(address, size)), address, self._decoder)

    def _interrupted(self) -> bool:
        """Python's own handlers of signals have run by now, where there were signals."""
        return False

    def _exception(self, uc: Any, number: int, _: object) -> None:
        pc = uc.reg_read(self._arm.UC_ARM_REG_PC)
        if number != BREAKPOINT_EXCEPTION:
            self._stopped = CompileError(self._place(), f"exception {number}", "")
            uc.emu_stop()
            return
        operation, argument = (uc.reg_read(register) for register in (self._arm.UC_ARM_REG_R0, self._arm.UC_ARM_REG_R1))
        if operation == WRITE_CHARACTER:
            self.stdout += chr(uc.mem_read(argument, 1)[0])
        elif operation == WRITE_TEXT:
            self.stdout += bytes(uc.mem_read(argument, LONGEST_TEXT)).split(b"\0")[0].decode("utf-8", "replace")
        elif operation in (EXIT, EXIT_EXTENDED):
            self.exit_code = self._code(operation, argument)
            uc.emu_stop()
        uc.reg_write(self._arm.UC_ARM_REG_PC, (pc + 2) | 1)

    def _code(self, operation: int, argument: int) -> int:
        """Of the two forms of its end, the second has a block of two words: the reason, and a code."""
        if operation == EXIT:
            return 0 if argument == FINE else 1
        return int.from_bytes(self._uc.mem_read(argument + 4, 4), "little")

    # ---- looking inside ----

    @property
    def cycle(self) -> int:
        return self._counter.cycles

    def address(self, place: int | str) -> int:
        if isinstance(place, int):
            return place
        if self.elf is None or place not in self.elf.symbols:
            raise CompileError(place, "is not a symbol of the program", "give its name in the symbol table")
        return self.elf.symbols[place]

    def read(self, address: int | str, size: int) -> bytes:
        return bytes(self._uc.mem_read(self.address(address), size))

    def write(self, address: int | str, data: bytes) -> None:
        self._uc.mem_write(self.address(address), data)

    def read_word(self, address: int | str) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def argument(self, number: int) -> int:
        """Of the function that the core is about to enter."""
        return int(self._uc.reg_read(self._arm.UC_ARM_REG_R0 + number))

    # ---- results ----

    def probe(self, addresses: Iterable[int], metered: Iterable[int] = ()) -> None:
        self._counter.note({*addresses, *metered})

    def probes(self) -> list[Probe]:
        return [
            Probe(event.cycles, 0, event.address, event.instructions, {}, activity_of(event.cycles, event.instructions))
            for event in self._counter.events
        ]

    def jobs(self) -> list[EngineJob]:
        return [job for device in self._devices.values() for job in device.jobs]

    def activity(self) -> Activity:
        return activity_of(self._counter.cycles, self._counter.instructions)

    def report(self) -> Report:
        cycles, instructions = self._counter.cycles, self._counter.instructions
        core = CoreReport(self._core, 0, cycles, instructions, {})
        return Report(cycles, self.exit_code, self.stdout, (core,), {}, {}, {})


def activity_of(cycles: int, instructions: int) -> Activity:
    return Activity({"cycles": cycles, "instructions": instructions})


_MODELS = {
    "cortex-m0plus": "UC_CPU_ARM_CORTEX_M0", "cortex-m4": "UC_CPU_ARM_CORTEX_M4", "cortex-m7": "UC_CPU_ARM_CORTEX_M7",
    "cortex-m33": "UC_CPU_ARM_CORTEX_M33",
}  # fmt: skip


def _unicorn() -> tuple[Any, Any]:
    try:
        import unicorn
        from unicorn import arm_const
    except ImportError:
        raise CompileError(
            "unicorn", "is not installed: it runs programs for Cortex-M", "pip install unicorn"
        ) from None
    return unicorn, arm_const
