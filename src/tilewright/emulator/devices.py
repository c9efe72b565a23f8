"""A user's device at an emulated core: registers at an address, memory and time of the machine."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.sim.platform import PAGE, Device
from tilewright.sim.rtl.build import RtlDevice
from tilewright.sim.user.device import NEVER, CHost, CUserDevice, UserDevice
from tilewright.sim.user.watched import WatchedDevices
from tilewright.sim.watching.probes import EngineJob

SHOWN = 256
"""Registers whose last value is kept, for who asks what went wrong."""


class AttachedDevice:
    """Called for every access of a core. Between accesses nothing can be seen of a device, so what was due by then is
    done first."""

    def __init__(
        self, name: str, callbacks: CUserDevice, emulator: Any, now: Callable[[], int],
        failed: Callable[[BaseException], None],
    ) -> None:  # fmt: skip
        self._failed = failed
        self.name, self.jobs = name, list[EngineJob]()
        self.shown = [0] * SHOWN
        self._callbacks, self._emulator, self._now, self._next = callbacks, emulator, now, NEVER
        self._state = ctypes.create_string_buffer(max(1, callbacks.state_bytes))
        self._moved, self._works_until = 0, 0
        self._host = _host(emulator, self._move, self._work, self._fail)
        callbacks.reset(self._state)

    def read(self, _: Any, offset: int, __: int, ___: Any) -> int:
        now = self._catch_up()
        value = int(self._callbacks.read(self._state, ctypes.byref(self._host), offset, now))
        self._show(offset, value)
        return value

    def write(self, _: Any, offset: int, __: int, value: int, ___: Any) -> None:
        now = self._catch_up()
        self._callbacks.write(self._state, ctypes.byref(self._host), offset, value, now)
        self._show(offset, value)
        self._next = max(now + 1, self._works_until)

    def _move(self, _: Any, part: Any, is_write: int) -> None:
        """Bytes of the next job: nobody competes for the banks here."""
        found = part[0]
        self._moved += found.run * found.runs * found.rows

    def _work(self, _: Any, cycles: int, bytes_per_cycle: float, overlapped: int, now: int) -> None:
        moving = math.ceil(self._moved / bytes_per_cycle)
        self._works_until = now + 1 + (max(cycles, moving) if overlapped else cycles + moving)
        self.jobs.append(EngineJob(self.name, now + 1, self._works_until))
        self._moved = 0

    def _fail(self, _: Any, sentence: bytes) -> None:
        """It gives up."""
        what, _, hint = sentence.decode(errors="replace").partition("\n")
        self._failed(CompileError(f"device {self.name}, cycle {self._now()}", what, hint))

    def _show(self, offset: int, value: int) -> None:
        if offset // 4 < SHOWN:
            self.shown[offset // 4] = value

    def _catch_up(self) -> int:
        now = self._now()
        while self._next <= now:
            due = self._next
            self._next = int(self._callbacks.tick(self._state, ctypes.byref(self._host), due))
            if self._next != NEVER:
                self._next = max(self._next, due + 1)
                self.jobs.append(EngineJob(self.name, due, self._next))
        return now


class Devices(WatchedDevices):
    """Those of one machine."""

    def __init__(self, emulator: Any, now: Callable[[], int]) -> None:
        super().__init__(emulator.emu_stop)
        self._emulator, self._now = emulator, now
        self._found: dict[str, AttachedDevice] = {}

    def attach(self, place: Device, device: UserDevice | RtlDevice | str | Path, includes: tuple[Path, ...]) -> None:
        """Put an object or a C file at its place."""
        callbacks = self.callbacks(place.name, device, includes)
        made = self._found[place.name] = AttachedDevice(place.name, callbacks, self._emulator, self._now, self._fail)
        size = -(-place.size // PAGE) * PAGE
        self._emulator.mmio_map(place.base, size, made.read, None, made.write, None)

    @property
    def names(self) -> list[str]:
        return list(self._found)

    @property
    def jobs(self) -> list[EngineJob]:
        return [job for device in self._found.values() for job in device.jobs]

    def registers(self, name: str, count: int) -> list[int]:
        """What was written to or read from the first ones last."""
        return self._found[name].shown[:count]


def _host(emulator: Any, move: Callable[..., None], work: Callable[..., None], fail: Callable[..., None]) -> CHost:
    """What a device may ask for. There are no event lines, and nobody looks for misuse."""
    kinds: dict[str, Any] = {name: kind for name, kind, *_ in CHost._fields_}

    def read(_: Any, address: int, data: Any, size: int) -> int:
        found = _guarded(lambda: emulator.mem_read(address, size))
        if found is not None:
            ctypes.memmove(data, bytes(found), size)
        return int(found is not None)

    def write(_: Any, address: int, data: Any, size: int) -> int:
        given = ctypes.string_at(data, size)
        return int(_guarded(lambda: emulator.mem_write(address, given) or True) is not None)

    functions = {
        "read": read, "write": write, "raise_event": _nothing, "claim": _nothing, "release": _nothing,
        "misuse": _nothing, "is_checked": lambda *_: 0, "move": move, "work": work, "bank": lambda *_: 0,
        "wait": _nothing, "fail": fail,
    }  # fmt: skip
    return CHost(None, *(kinds[name](function) for name, function in functions.items()))


def _nothing(*_: Any) -> None:
    return None


def _guarded(access: Callable[[], Any]) -> Any:
    """None where there is no memory."""
    from unicorn import UcError

    try:
        return access()
    except UcError:
        return None
