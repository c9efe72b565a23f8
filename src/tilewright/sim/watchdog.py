"""Callbacks of Python devices that do not come back: stopped after a while, and told from those that are only slow."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tilewright.errors import CompileError

VARIABLE = "TILEWRIGHT_DEVICE_SECONDS"
"""The environment variable that sets how long one call may take."""
SECONDS = 120.0
LOOKS = 4
"""In the time of a call, and once a second at the least."""


class TookTooLong(BaseException):
    """Raised inside a callback, where `except Exception` of the user's does not catch it."""


def too_long(where: str, seconds: float) -> CompileError:
    what = f"has not come back after {seconds:g} seconds, which {VARIABLE} sets"
    return CompileError(where, what, "look for a loop without end")


class Watchdog:
    """Of one simulator: its callbacks say when they begin and end, a thread looks how long the present one lasts."""

    def __init__(self) -> None:
        self.seconds = _seconds()
        self._guard = threading.Lock()
        self._calls = 0
        self._is_inside = False
        self._has_raised = False

    def begin(self) -> None:
        self._calls += 1
        self._is_inside = True

    def end(self) -> None:
        with self._guard:
            self._is_inside = False
            if self._has_raised:
                _raise_in(threading.get_ident(), None)
                self._has_raised = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """From here on, calls in this thread are looked at."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(threading.get_ident(), over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, watched: int, over: threading.Event) -> None:
        call, since = self._calls, time.monotonic()
        while not over.wait(min(1.0, self.seconds / LOOKS)):
            with self._guard:
                if self._calls != call or not self._is_inside:
                    call, since = self._calls, time.monotonic()
                elif time.monotonic() - since >= self.seconds:
                    self._has_raised = True
                    _raise_in(watched, TookTooLong)


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
        raise CompileError(VARIABLE, f"is '{text}'", "seconds that one call of a Python device may take, above 0")
    return found
