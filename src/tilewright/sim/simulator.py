"""The virtual SoC as an object: load an ELF, run it, look inside.

sim = Simulator("siracusa")
sim.load("program.elf")
result = sim.run()
print(result.stdout, result.cycles)
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.activity import Activity, CActivity, activity_of
from tilewright.sim.energy import Energy
from tilewright.sim.faults import BREAKPOINT, DEADLOCK, DEVICE, EXIT, LIMIT, describe, standstill
from tilewright.sim.heard import tell
from tilewright.sim.isa.declared import declare
from tilewright.sim.isa.register_names import register_number
from tilewright.sim.library import CFault, load
from tilewright.sim.loading import load_program
from tilewright.sim.platform import Kind, Platform, to_c
from tilewright.sim.platform_rules import check_headers, check_platform
from tilewright.sim.platforms import check_cores, find_platform
from tilewright.sim.program.elf import Elf, read_elf, symbol_address
from tilewright.sim.program.lines import place_of
from tilewright.sim.results import Report
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.statistics import Statistics
from tilewright.sim.user.device import UserDevice
from tilewright.sim.user.watched import WatchedDevices
from tilewright.sim.watching.probes import EngineJob, Probe, Transfer, core_flags, jobs, noted, transfers
from tilewright.sim.watching.traces import FunctionTime, function_times, write_trace

SLICE, MOST_SLICE = 2_000, 500_000
"""Cycles between two looks at the keyboard: at first, and at most."""
SLICE_SECONDS = 0.25
"""That a slice should take: interrupts are heard at once, and looking costs nothing."""
FOREVER = (1 << 63) - 1
ADDRESSES = 1 << 32


def next_slice(cycles: int, seconds: float) -> int:
    """After a slice of so many cycles that took so long."""
    wanted = cycles * SLICE_SECONDS / max(seconds, 1e-6)
    return int(min(max(wanted, SLICE), cycles * 4, MOST_SLICE))


@dataclass(frozen=True)
class Snapshot:
    state: bytes = field(repr=False)
    stdout: str = field(repr=False)
    cycle: int
    exit_code: int | None
    owner: object = field(repr=False)


class Simulator:
    """One SoC with a program in it. Deterministic: the same program takes the same cycles."""

    counts_calls = False
    """Programs count the cycles of a call by themselves."""

    def __init__(self, platform: Platform | str = "siracusa", compiler: str | None = None) -> None:
        self._open: int | None = None
        self.platform = find_platform(platform) if isinstance(platform, str) else platform
        check_platform(self.platform)
        self._library = load(compiler)
        self._open = self._library.tw_new(to_c(self.platform))
        for one in self.platform.instructions:
            declare(self._library, self._open, one)
        self.elf: Elf | None = None
        self.stdout = ""
        self.exit_code: int | None = None
        self._devices = WatchedDevices(partial(self._library.tw_stop, self._open), compiler)
        self._functions: list[tuple[int, str]] = []
        self._finds_misuse = False
        self._slice = SLICE

    def close(self) -> None:
        if self._open:
            self._library.tw_delete(self._open)
            self._open = None
            self._devices.close()

    @property
    def _sim(self) -> int:
        if self._open is None:
            raise CompileError("simulator", "is closed", "make a new one")
        return self._open

    def _checked_core(self, core: int) -> int:
        if not 0 <= core < self.platform.cores:
            last = self.platform.cores - 1
            raise CompileError(f"core {core}", f"{self.platform.name} has cores 0 to {last}", f"choose 0 to {last}")
        return core

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    # ---- program ----

    def load(self, program: str | Path | Elf) -> Elf:
        """Put a program into memory and its entry point into the cores that boot."""
        elf = program if isinstance(program, Elf) else read_elf(program)
        if self.exit_code is not None or self.cycle:
            raise CompileError(
                elf.path, "cannot be loaded: the simulator has already run", "make a new one for each program"
            )
        if self._finds_misuse:
            check_headers(self.platform, elf)
        check_cores(self.platform, elf)
        load_program(self._library, self._sim, self.platform, elf)
        self.elf = elf
        return elf

    def check(
        self, unwritten: bool = False, protected: bool = False, transfers: bool = False, misuse: bool = False
    ) -> None:
        """Before load(): look for reads of never-written memory, writes to code and constants, accesses to what a DMA
        transfer is moving, and uses of devices and memories that they are not made for. Slower; the cycles stay the
        same."""
        self._finds_misuse = misuse
        self._library.tw_check(self._sim, unwritten | protected << 1 | transfers << 2 | misuse << 3)

    def attach(self, name: str, device: UserDevice | RtlDevice | str | Path, includes: tuple[Path, ...] = ()) -> None:
        """Put a user's device, an object, Verilog or a C file, at the place that the platform has for it. A C file may
        include headers of the folders `includes`."""
        index = self.platform.device_index(name)
        callbacks = self._devices.callbacks(name, device, includes)
        with self._devices.watched():
            self._library.tw_attach(self._sim, index, ctypes.byref(callbacks))
        self._devices.raise_failure()

    @property
    def user_devices(self) -> list[str]:
        """Names of the places for a user's devices."""
        return [device.name for device in self.platform.devices if device.kind == Kind.USER]

    def registers(self, name: str, count: int) -> list[int]:
        """What was written to or read from the first registers of a user's device last."""
        values = (ctypes.c_uint32 * min(count, 256))()
        self._library.tw_device_shown(self._sim, self.platform.device_index(name), values, len(values))
        return list(values)

    # ---- running ----

    @property
    def cycle(self) -> int:
        return int(self._library.tw_now(self._sim))

    @property
    def estimate(self) -> str:
        """What its cycles are, where they follow from data about a core; nothing where a chip's were measured."""
        if not any(group.timing for group in self.platform.groups):
            return ""
        ports = [
            f"{memory.port.wait} cycles for {memory.port.line_bytes} bytes of {memory.name} that are in no cache"
            for memory in self.platform.memories if memory.port.wait
        ]  # fmt: skip
        return ", ".join(["the core's cycles as published or assumed", *(ports or ["no wait states"])])

    def run(self, max_cycles: int | None = None) -> Report:
        """Run until the program exits; what goes wrong is an error with core, cycle and place."""
        reason = self._run_to(FOREVER if max_cycles is None else max_cycles)
        if reason == LIMIT:
            raise self._error(self._fault())
        return self.report()

    def run_until(self, address: int | str | None = None, cycle: int | None = None, core: int | None = None) -> bool:
        """Run until a core comes to an address (or function), or until a cycle. False if the program ended before."""
        if address is None:
            return self._run_to(FOREVER if cycle is None else cycle) == LIMIT
        self._set_breakpoints([self.address(address)])
        try:
            while True:
                reason = self._run_to(FOREVER if cycle is None else cycle)
                if reason != BREAKPOINT or core is None or self._fault().core == core:
                    return reason in (BREAKPOINT, LIMIT)
        finally:
            self._set_breakpoints([])

    def step(self, core: int) -> bool:
        """Run until this core is about to execute its next instruction. False if the program ended."""
        self._library.tw_step(self._sim, self._checked_core(core))
        try:
            return self._run_to(FOREVER) == BREAKPOINT
        finally:
            self._library.tw_step(self._sim, -1)

    def lock(self, core: int | None) -> None:
        """For debuggers: let only this core run, the others stand still; None lets all run again."""
        self._library.tw_lock(self._sim, -1 if core is None else self._checked_core(core))

    def run_slice(self, breakpoints: list[int], cycles: int) -> int | None:
        """Some cycles: the core that came to a breakpoint, -1 if the program ended, None if neither."""
        self._set_breakpoints(breakpoints)
        try:
            reason = self._run_to(self.cycle + cycles)
            return int(self._fault().core) if reason == BREAKPOINT else -1 if reason == EXIT else None
        finally:
            self._set_breakpoints([])

    def run_to_breakpoint(self, addresses: Iterable[int | str]) -> tuple[int, int] | None:
        """Run until a core comes to one of the addresses: (core, pc), or None if the program ended."""
        self._set_breakpoints([self.address(a) for a in addresses])
        try:
            if self._run_to(FOREVER) != BREAKPOINT:
                return None
            fault = self._fault()
            return int(fault.core), int(fault.pc)
        finally:
            self._set_breakpoints([])

    def _run_to(self, stop: int) -> int:
        if self.elf is None and self._sim:
            raise CompileError("simulator", "has no program", "load() one first")
        with self._devices.watched():
            return self._run_slices(stop)

    def _run_slices(self, stop: int) -> int:
        """In slices, so that an interrupt from the keyboard is heard."""
        while True:
            until, start = min(stop, self.cycle + self._slice), time.perf_counter()
            reason = int(self._library.tw_run(self._sim, until))
            self._slice = next_slice(self._slice, time.perf_counter() - start)
            self._take_output()
            tell(self.cycle)
            self._devices.raise_failure()
            if reason == LIMIT and until < stop:
                continue
            if reason == EXIT:
                self.exit_code = int(self._library.tw_exit_code(self._sim))
            if reason not in (EXIT, LIMIT, BREAKPOINT):
                raise self._error(self._fault())
            return reason

    def _take_output(self) -> None:
        size = self._library.tw_output_bytes(self._sim)
        if not size:
            return
        buffer = ctypes.create_string_buffer(size)
        taken = self._library.tw_take_output(self._sim, buffer, size)
        self.stdout += buffer.raw[:taken].decode("utf-8", "replace")

    def _set_breakpoints(self, addresses: list[int]) -> None:
        array = (ctypes.c_uint32 * max(1, len(addresses)))(*addresses)
        if not self._library.tw_set_breakpoints(self._sim, array, len(addresses)):
            raise CompileError("breakpoints", f"{len(addresses)} are too many", "set at most 64 at a time")

    # ---- looking inside ----

    def address(self, place: int | str) -> int:
        """An address, or that of a symbol."""
        if isinstance(place, int):
            if not 0 <= place < ADDRESSES:
                raise CompileError(f"{place:#x}", "is not an address", "addresses have 32 bits")
            return place
        return symbol_address(self.elf, place)

    def read(self, address: int | str, size: int, group: int = 0) -> bytes:
        at = self.address(address)
        buffer = ctypes.create_string_buffer(size)
        if not self._library.tw_read(self._sim, group, at, buffer, size):
            raise self.platform.outside(at, size)
        return buffer.raw

    def write(self, address: int | str, data: bytes, group: int = 0) -> None:
        at = self.address(address)
        if not self._library.tw_write(self._sim, group, at, data, len(data)):
            raise self.platform.outside(at, len(data))
        self._library.tw_flush_code(self._sim)

    def read_word(self, address: int | str) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def register(self, core: int, name: str | int) -> int:
        return int(self._library.tw_get_register(self._sim, self._checked_core(core), register_number(name)))

    def argument(self, number: int) -> int:
        """Of the function that the first core is about to enter."""
        return self.register(0, f"a{number}")

    def set_register(self, core: int, name: str | int, value: int) -> None:
        number = register_number(name)
        self._library.tw_set_register(self._sim, self._checked_core(core), number, value & 0xFFFFFFFFFFFFFFFF)

    def snapshot(self) -> Snapshot:
        buffer = ctypes.create_string_buffer(self._library.tw_snapshot_bytes(self._sim))
        self._library.tw_save(self._sim, buffer)
        return Snapshot(buffer.raw, self.stdout, self.cycle, self.exit_code, self)

    def restore(self, snapshot: Snapshot) -> None:
        """Back to a snapshot of this same simulator."""
        if snapshot.owner is not self:
            raise CompileError("snapshot", "is of another simulator", "restore it where it was taken")
        self._library.tw_restore(self._sim, snapshot.state)
        self.stdout, self.exit_code = snapshot.stdout, snapshot.exit_code

    # ---- results ----

    def report(self) -> Report:
        found = self._statistics
        energy = self.energy() if self.platform.energy else None
        return Report(
            self.cycle, self.exit_code, self.stdout, found.core_reports(), found.core_bytes(), found.device_bytes(),
            found.busy(), energy,
        )  # fmt: skip

    @property
    def _statistics(self) -> Statistics:
        return Statistics(self._library, self._sim, self.platform)

    def activity(self) -> Activity:
        """What cores, memories and engines have done so far."""
        counts = CActivity()
        self._library.tw_activity(self._sim, ctypes.byref(counts))
        return activity_of(counts, self._memories)

    def energy_of(self, activity: Activity) -> Energy | None:
        """What some activity has cost, where that is known."""
        return self.energy(activity) if self.platform.energy else None

    def energy(self, activity: Activity | None = None) -> Energy:
        """What some activity, or all so far, has cost: exact sums, as good as the platform's model is."""
        if self.platform.energy is None:
            raise CompileError(self.platform.name, "has no model of its energy", "give Platform.energy")
        return self.platform.energy.of(activity or self.activity())

    @property
    def _memories(self) -> list[str]:
        return [memory.name for memory in self.platform.memories]

    # ---- watching ----

    def own_instruction(self, mask: int, match: int) -> str:
        """The name of an instruction that a core has already and whose words are among these; empty where there is
        none."""
        found = (self._library.tw_collides(self._sim, group, mask, match) for group in range(len(self.platform.groups)))
        return next((name.decode() for name in found if name), "")

    def watch(self, trace: bool = False) -> None:
        """From now on count cycles per function and, if asked, note when each function and device runs."""
        self._functions = list(dict(self.elf.functions).items()) if self.elf else []
        starts = (ctypes.c_uint32 * max(1, len(self._functions)))(*(start for start, _ in self._functions))
        self._library.tw_observe(self._sim, starts, len(self._functions), trace)

    def count_from(self, places: Sequence[int]) -> None:
        """From now on count the instructions between these addresses, which ascend: `counted` says them."""
        self._functions = [(place, "") for place in places]
        self._library.tw_observe(self._sim, (ctypes.c_uint32 * max(1, len(places)))(*places), len(places), False)

    def counted(self) -> list[int]:
        """Instructions from each place to the next one, of all cores."""
        self._library.tw_observe_close(self._sim)
        cells, cores = self._library.tw_profile(self._sim), self.platform.cores
        rows = range(1, len(self._functions) + 1)
        return [sum(cells[row * cores + core].instructions for core in range(cores)) for row in rows]

    def profile(self) -> list[FunctionTime]:
        """Cycles per function since watch(), the longest first."""
        self._library.tw_observe_close(self._sim)
        count = (len(self._functions) + 1) * self.platform.cores
        cells = self._library.tw_profile(self._sim)
        return function_times(
            [name for _, name in self._functions], cells[:count] if cells else [], self.platform.cores
        )

    def write_trace(self, path: str | Path) -> None:
        """What happened since watch(trace=True), for https://ui.perfetto.dev."""
        self._library.tw_observe_close(self._sim)
        count, lost = ctypes.c_uint32(), ctypes.c_uint32()
        spans = self._library.tw_spans(self._sim, ctypes.byref(count), ctypes.byref(lost))
        names = [name for _, name in self._functions]
        write_trace(Path(path), self.platform, names, spans[: count.value] if spans else [], lost.value)

    def probe(
        self, addresses: Iterable[int | str], cores: Iterable[int] = (0,), metered: Iterable[int | str] = ()
    ) -> None:
        """From now on note when these cores pass these addresses or functions; earlier probes are forgotten. At the
        metered ones also note what the platform has done by then. Costs no cycle and hardly any time."""
        meters = {self.address(a) for a in metered}
        places = sorted({self.address(a) for a in addresses} | meters)
        flags = core_flags({self._checked_core(core) for core in cores}, self.platform.cores)
        array = (ctypes.c_uint32 * len(places))(*places)
        self._library.tw_probe(self._sim, array, bytes(p in meters for p in places), len(places), flags)

    def probes(self) -> list[Probe]:
        """What was noted since probe(), each core's in the order of its execution."""
        return noted(self._library, self._sim, self._memories)

    def transfers(self) -> list[Transfer]:
        """What the DMA has done since probe() on commands of these cores, in the order of completion."""
        return transfers(self._library, self._sim)

    def jobs(self) -> list[EngineJob]:
        """What accelerators have done since probe(), in order; a user's device may be at work until then."""
        return jobs(self._library, self._sim, [device.name for device in self.platform.devices])

    def guard_stacks(self, taken: Mapping[int, int], sizes: Sequence[int]) -> None:
        """From now on a core that takes more of its stack than the bytes that it has stops the program. `taken`: what
        instructions take, by the addresses behind them; `sizes`: of each core's stack, 0 where it is not watched."""
        if len(sizes) != self.platform.cores:
            raise CompileError("stacks", f"{len(sizes)} sizes for {self.platform.cores} cores", "give one for each")
        sites = sorted(taken)
        array = ctypes.c_uint32 * max(1, len(sites))
        self._library.tw_guard_stacks(
            self._sim, array(*sites), array(*(taken[site] for site in sites)), len(sites),
            (ctypes.c_uint32 * len(sizes))(*sizes),
        )  # fmt: skip

    # ---- errors ----

    def _fault(self) -> CFault:
        fault = CFault()
        self._library.tw_fault(self._sim, ctypes.byref(fault))
        return fault

    def place(self, pc: int) -> str:
        """Function and source line of an address, as far as the program tells."""
        return place_of(self.elf, pc)

    def _error(self, fault: CFault) -> CompileError:
        if fault.reason in (DEADLOCK, LIMIT):
            return standstill(fault.reason, self.cycle, self._core_places())
        if fault.reason == DEVICE and fault.value:
            return self._gave_up(fault) or describe(fault, self._device_place(fault))
        core = self.platform.core_name(fault.core)
        return describe(fault, f"{core}, cycle {fault.cycle}, {self.place(fault.pc)}")

    def _device_place(self, fault: CFault) -> str:
        return f"device {self.platform.devices[fault.value - 1].name}, cycle {fault.cycle}"

    def _gave_up(self, fault: CFault) -> CompileError | None:
        """A device that has ended the run by itself says why."""
        said = self._library.tw_device_said(self._sim, fault.value - 1)
        if not said:
            return None
        what, _, hint = said.decode(errors="replace").partition("\n")
        return CompileError(self._device_place(fault), what, hint)

    def _core_places(self) -> str:
        return "\n".join(f"    {cores}: {does}, {self.place(pc)}" for cores, does, pc in self._statistics.places())
