"""Calls of a user's devices that do not come back: stopped after a while, and told from those that are only slow."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tilewright.errors import CompileError

VARIABLE = "TILEWRIGHT_DEVICE_SECONDS"
"""The environment variable that sets how long one call may take."""
SECONDS = 120.0
LOOKS = 4
"""In the time of a call, and once a second at the least."""
INSISTING = 0.02
"""Seconds between two attempts to end a call."""


class TookTooLong(BaseException):
    """Raised inside a callback, where `except Exception` of the user's does not catch it. Whoever catches everything
    comes no further than to the next line, where it is raised again."""

    def __init__(self) -> None:
        super().__init__()
        frame = sys._getframe(1)
        while frame is not None and _is_users(frame):
            frame.f_trace = _raise_again
            frame = frame.f_back  # type: ignore[assignment]
        sys.settrace(_raise_again)


def _raise_again(frame: FrameType, event: str, _: Any) -> Any:
    if event == "line" and _is_users(frame):
        raise TookTooLong
    return None


def _is_users(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(OURS)


OURS = str(Path(__file__).parents[1])


def too_long(where: str, seconds: float) -> CompileError:
    what = f"has not come back after {seconds:g} seconds, which {VARIABLE} sets"
    return CompileError(where, what, "look for an endless loop")


class Calls(ABC):
    """Of the devices of one kind: how many there were, and whether one is under way."""

    number: int
    is_inside: bool

    def __init__(self) -> None:
        self.guard = threading.Lock()

    @abstractmethod
    def enter(self, thread: int) -> None:
        """From here on, calls come in this thread."""

    @abstractmethod
    def interrupt(self, thread: int) -> None:
        """Ends the call that is under way; `guard` is held."""


class PythonCalls(Calls):
    """They say when they begin and end."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.is_inside = self._has_raised = False
        self._trace: Any = None

    def enter(self, thread: int) -> None:
        self._trace = sys.gettrace()

    def begin(self) -> None:
        self.number += 1
        self.is_inside = True

    def end(self) -> None:
        """However often it is raised meanwhile: what was asked for last may be on its way."""
        is_over = False
        while not is_over:
            try:
                self._end()
                is_over = True
            except TookTooLong:
                continue

    def _end(self) -> None:
        with self.guard:
            self.is_inside = False
            if self._has_raised:
                _raise_in(threading.get_ident(), None)
                sys.settrace(self._trace)
                self._has_raised = False

    def interrupt(self, thread: int) -> None:
        self._has_raised = True
        _raise_in(thread, TookTooLong)


class CGuard(ctypes.Structure):
    """guard_state of device_guard.c, as far as it is looked at."""

    _fields_ = [("calls", ctypes.c_uint64), ("left", ctypes.c_uint64), ("is_inside", ctypes.c_uint32)]


HUNG = ctypes.CFUNCTYPE(None, ctypes.c_uint32)
FUNCTIONS = ("reset", "read", "write", "tick")
"""In the order of device_guard.c."""


class CCalls(Calls):
    """Of the devices that one library has: it counts them itself, and `hung` is called with their names and the
    function's inside of the call that was ended."""

    def __init__(self, library: ctypes.CDLL, hung: Callable[[str], None]) -> None:
        super().__init__()
        self._library = library
        self.names: list[str] = []
        self._hung = HUNG(lambda function: hung(f"device {' or '.join(self.names)}, {FUNCTIONS[function]}()"))
        self._state = CGuard()
        library.tw_guard.restype, library.tw_guard.argtypes = ctypes.POINTER(CGuard), (HUNG,)
        self._signal = int(library.tw_guard_signal())

    def enter(self, thread: int) -> None:
        self._state = self._library.tw_guard(self._hung).contents

    @property
    def number(self) -> int:  # type: ignore[override]
        return int(self._state.calls)

    @property
    def is_inside(self) -> bool:  # type: ignore[override]
        return bool(self._state.is_inside)

    def interrupt(self, thread: int) -> None:
        self._state.left = self._state.calls
        signal.pthread_kill(thread, self._signal)

    def is_of(self, library: ctypes.CDLL) -> bool:
        return bool(self._library._handle == library._handle)


@dataclass
class _Look:
    """What was seen of some calls last."""

    calls: Calls
    number: int = -1
    since: float = 0.0
    is_late: bool = False


class Watchdog:
    """Of one simulator: a thread looks how long the present call of a device lasts."""

    def __init__(self) -> None:
        self.seconds = _seconds()
        self.python = PythonCalls()
        self._all: list[Calls] = [self.python]

    def add(self, library: ctypes.CDLL, name: str, failed: Callable[[BaseException], None]) -> None:
        """A device in C. Two of one kind share a library."""
        known = (calls for calls in self._all if isinstance(calls, CCalls) and calls.is_of(library))
        found = next(known, None)
        if found is None:
            found = CCalls(library, lambda where: failed(too_long(where, self.seconds)))
            self._all.append(found)
        found.names.append(name)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """From here on, calls in this thread are looked at."""
        over, thread = threading.Event(), threading.get_ident()
        for calls in self._all:
            calls.enter(thread)
        watcher = threading.Thread(target=self._watch, args=(thread, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _watch(self, thread: int, over: threading.Event) -> None:
        looks = [_Look(calls) for calls in self._all]
        pause = min(1.0, self.seconds / LOOKS)
        while not over.wait(INSISTING if any(look.is_late for look in looks) else pause):
            for look in looks:
                self._look(look, thread)

    def _look(self, look: _Look, thread: int) -> None:
        with look.calls.guard:
            now = time.monotonic()
            if look.calls.number != look.number or not look.calls.is_inside:
                look.number, look.since, look.is_late = look.calls.number, now, False
                return
            look.is_late = now - look.since >= self.seconds
            if now - look.since >= 2 * self.seconds:
                _end(thread, self.seconds)
            if look.is_late:
                look.calls.interrupt(thread)


def _end(thread: int, seconds: float) -> None:
    """What cannot be ended otherwise takes the process with it."""
    error = too_long(f"a device{_place(sys._current_frames().get(thread))}", seconds)
    print(f"error: {error.where}: {error.what}; it cannot be interrupted\n  hint: {error.hint}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)


def _place(frame: Any) -> str:
    return f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """None takes back what was not raised yet."""
    raised = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _seconds() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text) if text else SECONDS
    except ValueError:
        found = 0
    if not found > 0:
        raise CompileError(VARIABLE, f"is '{text}'", "seconds that one call of a device may take, above 0")
    return found
