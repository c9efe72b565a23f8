"""A user's own device: in Python as a subclass of UserDevice, or in C as a file that defines tw_device()."""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, InternalError, Refusal, Terminated
from tilewright.sim.library import GUARD, build_library
from tilewright.sim.rtl.build import RtlDevice, rtl_library
from tilewright.sim.rtl.waves import waves_cycles
from tilewright.sim.user.watchdog import TookTooLong, Watchdog, too_long
from tilewright.toolchain.compiler import FAILED, Compiler, find_compiler

U32, U64, P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
NEVER = (1 << 64) - 1
STATE_LIMIT = 65536
"""TW_STATE_LIMIT of user_device.h."""

RESET = ctypes.CFUNCTYPE(None, P)
READ = ctypes.CFUNCTYPE(U32, P, P, U32, U64)
WRITE = ctypes.CFUNCTYPE(None, P, P, U32, U32, U64)
TICK = ctypes.CFUNCTYPE(U64, P, P, U64)


class CUserDevice(ctypes.Structure):
    """tw_user_device of user_device.h."""

    _fields_ = [("state_bytes", ctypes.c_size_t), ("reset", RESET), ("read", READ), ("write", WRITE), ("tick", TICK)]


class CPart(ctypes.Structure):
    """tw_part of user_device.h."""

    _fields_ = [(name, U32) for name in ("address", "run", "runs", "step", "rows", "row")]


class CHost(ctypes.Structure):
    """tw_host of user_device.h."""

    _fields_ = [
        ("sim", P),
        ("read", ctypes.CFUNCTYPE(ctypes.c_int, P, U32, P, U32)),
        ("write", ctypes.CFUNCTYPE(ctypes.c_int, P, U32, P, U32)),
        ("raise_event", ctypes.CFUNCTYPE(None, P, U32, U32, U64)),
        ("claim", ctypes.CFUNCTYPE(None, P, U32, U32, ctypes.c_int)),
        ("release", ctypes.CFUNCTYPE(None, P)),
        ("misuse", ctypes.CFUNCTYPE(None, P, U32)),
        ("is_checked", ctypes.CFUNCTYPE(ctypes.c_int, P)),
        ("move", ctypes.CFUNCTYPE(None, P, ctypes.POINTER(CPart), ctypes.c_int)),
        ("work", ctypes.CFUNCTYPE(None, P, U64, ctypes.c_double, ctypes.c_int, U64)),
        ("bank", ctypes.CFUNCTYPE(U32, P, U32, U32, U64)),
        ("wait", ctypes.CFUNCTYPE(None, P, U32)),
        ("fail", ctypes.CFUNCTYPE(None, P, ctypes.c_char_p)),
    ]


WHERE = "look at the registers that say where"


class Host:
    """What a device can do: read and write memory, raise event lines."""

    def __init__(self, host: Any) -> None:
        self._at = host
        self._host = ctypes.cast(host, ctypes.POINTER(CHost)).contents

    def read(self, address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        if not self._host.read(self._host.sim, address, buffer, size):
            raise Refusal(f"reads {size} bytes at {address:#x}, which are not in one memory", WHERE)
        return buffer.raw

    def write(self, address: int, data: bytes) -> None:
        if not self._host.write(self._host.sim, address, data, len(data)):
            raise Refusal(f"writes {len(data)} bytes at {address:#x}, which are not in one memory", WHERE)

    def raise_event(self, cores: int, line: int, now: int) -> None:
        """Cores are a mask."""
        self._host.raise_event(self._host.sim, cores, line, now)

    @property
    def is_checked(self) -> bool:
        """Whether anybody looks for misuse."""
        return bool(self._host.is_checked(self._at))

    def claim(self, address: int, size: int, is_write: bool) -> None:
        """Bytes that a job reads or writes until `release`: cores are to leave them alone."""
        self._host.claim(self._at, address, size, is_write)

    def release(self) -> None:
        self._host.release(self._at)

    def move(self, address: int, run: int, levels: Sequence[tuple[int, int]], is_write: bool) -> None:
        """Bytes that the next job moves over its time: runs of so many, and for each level how many of them there are
        and how far they are apart, the nearest first; there may be two."""
        (runs, step), (rows, row) = [*levels, (1, 0), (1, 0)][:2]
        part = CPart(address & 0xFFFFFFFF, run, runs, step & 0xFFFFFFFF, rows, row & 0xFFFFFFFF)
        self._host.move(self._at, ctypes.byref(part), is_write)

    def work(self, cycles: int, bytes_per_cycle: float, overlapped: bool, now: int) -> None:
        """A job begins that takes so many cycles besides what it moves; `tick` comes when all is over."""
        self._host.work(self._at, cycles, bytes_per_cycle, overlapped, now)

    def misuse(self, what: int) -> None:
        """The core that accesses a register right now does what the device is not made for."""
        self._host.misuse(self._at, what)


BUSY, ACCESS = 0, 1
"""Misuses, as in user_device.h."""


class UserDevice:
    """Override what you need. A write is followed by a tick in the next cycle."""

    host: Host
    source: Path | None = None
    """The file whose lines an exception is named by; of a device without one it surfaces as itself."""

    def reset(self) -> None:
        """The simulation begins."""

    def read(self, offset: int, now: int) -> int:
        return 0

    def write(self, offset: int, value: int, now: int) -> None:
        """A core stores to a register."""

    def tick(self, now: int) -> int | None:
        """Something may be due; returns the cycle to be called in again."""
        return None


def python_callbacks(
    device: UserDevice, name: str, watchdog: Watchdog, failed: Callable[[BaseException], None]
) -> CUserDevice:
    """An exception ends the run and is handed over, because it cannot pass through C."""
    host_at = cache(Host)  # a program that waits for a device reads its registers a million times

    def guarded(function: Callable[..., int], otherwise: int) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            watchdog.python.begin()
            try:
                try:
                    return function(*arguments)
                finally:
                    watchdog.python.end()
            except BaseException as error:
                watchdog.python.end()  # of which an attempt to end the call may have taken the place
                failed(_named(error, device, name, watchdog.seconds))
                return otherwise

        return call

    def read(_: Any, host: Any, offset: int, now: int) -> int:
        device.host = host_at(host)
        return device.read(offset, now) & 0xFFFFFFFF

    def write(_: Any, host: Any, offset: int, value: int, now: int) -> int:
        device.host = host_at(host)
        device.write(offset, value, now)
        return 0

    def tick(_: Any, host: Any, now: int) -> int:
        device.host = host_at(host)
        after = device.tick(now)
        return NEVER if after is None else U64(max(0, after)).value

    def reset(_: Any) -> int:
        device.reset()
        return 0

    return CUserDevice(
        0, RESET(guarded(reset, 0)), READ(guarded(read, 0)), WRITE(guarded(write, 0)), TICK(guarded(tick, NEVER))
    )


def _named(error: BaseException, device: UserDevice, name: str, seconds: float) -> BaseException:
    """With the device's name, its method and line; what ends the process is left alone."""
    if isinstance(error, KeyboardInterrupt | Terminated | CompileError | InternalError):
        return error
    where = f"device {name}{_place(error, device.source)}"
    if isinstance(error, TookTooLong):
        return too_long(where, seconds)
    if isinstance(error, Refusal):
        return error.at(where)
    if device.source is None:
        return error
    return CompileError(where, f"{type(error).__name__}: {error}", "mend the device's file")


def _place(error: BaseException, source: Path | None) -> str:
    """The method that was called, and the last line of the file that led there."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent not in OURS]
    own = [frame for frame in frames if source is not None and frame.filename == str(source)] or own
    return f", {own[0].name}() at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


OURS = (Path(__file__).parent, Path(__file__).parents[1] / "accelerator")


@contextmanager
def heard(failed: Callable[[BaseException], None]) -> Iterator[None]:
    """A signal that arrives in C is raised at the first step of a callback, before that can catch anything: Python
    hands such an exception to this hook and goes on."""
    before = sys.unraisablehook

    def hook(found: Any) -> None:
        if found.exc_value is None or isinstance(found.exc_value, Exception):
            before(found)
        else:
            failed(found.exc_value)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


FOLDER = Path(__file__).parent
"""Of user_device.h."""


def c_callbacks(
    source: Path, name: str, watchdog: Watchdog, failed: Callable[[BaseException], None], compiler: str | None = None,
    includes: tuple[Path, ...] = (),
) -> CUserDevice:  # fmt: skip
    """Compile the file (or take it from the cache) and ask it for its device."""
    if not source.is_file():
        raise CompileError(str(source), "is not a file", "give the C file that defines tw_device()")
    library = _loaded(source, find_compiler(compiler), includes)
    entry = library.tw_guarded_device
    entry.restype = ctypes.POINTER(CUserDevice)
    found = entry()
    if not found or not all((found.contents.reset, found.contents.read, found.contents.write, found.contents.tick)):
        raise CompileError(
            str(source), "its device lacks a function", "give reset, read, write and tick, also if empty"
        )
    watchdog.add(library, name, failed)
    return _checked_state(source, found.contents)


def rtl_callbacks(
    device: RtlDevice,
    name: str,
    watchdog: Watchdog,
    failed: Callable[[BaseException], None],
    waves: Path | None,
    owner: int,
) -> tuple[CUserDevice, ctypes.CDLL]:
    """Verilate it (or take it from the cache); its signals go to a file, if one is given. The library is to be closed
    when the machine is gone."""
    library = ctypes.CDLL(str(rtl_library(device, waves.suffix if waves else "")))
    library.tw_rtl_owner(U64(owner))
    if waves:
        cycles = waves_cycles()
        library.tw_rtl_waves(str(waves).encode(), U64(cycles.start), U64(cycles.stop))
    library.tw_guarded_device.restype = ctypes.POINTER(CUserDevice)
    watchdog.add(library, name, failed)
    return library.tw_guarded_device().contents, library


def _loaded(source: Path, compiler: Compiler, includes: tuple[Path, ...]) -> ctypes.CDLL:
    library = ctypes.CDLL(str(_built(source, compiler, includes)))
    if not hasattr(library, "tw_device"):
        hint = "include user_device.h and define: const tw_user_device *tw_device(void)"
        raise CompileError(str(source), "does not define tw_device()", hint)
    return library


def _built(source: Path, compiler: Compiler, includes: tuple[Path, ...]) -> Path:
    try:
        return build_library([source, GUARD], compiler, source.name, (FOLDER, *includes))
    except CompileError as error:
        if not error.what.startswith(FAILED):
            raise
        lines = error.what.removeprefix(FAILED)
        raise CompileError(str(source), f"does not compile:{lines}", "it may include user_device.h") from None


def _checked_state(source: Path, device: CUserDevice) -> CUserDevice:
    if device.state_bytes > STATE_LIMIT:
        what = f"its state has {device.state_bytes} bytes, at most {STATE_LIMIT} fit"
        raise CompileError(str(source), what, "keep large arrays in a memory of the platform")
    return device
