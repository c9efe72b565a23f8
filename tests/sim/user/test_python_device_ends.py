"""Python devices that do not come back, or that a signal arrives in, end the run."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from traceback import StackSummary, extract_tb
from types import FrameType, TracebackType

import numpy as np
import pytest

from tests.sim.user.test_user_device import run
from tilewright.errors import CompileError, Terminated
from tilewright.sim.user.device import UserDevice, heard
from tilewright.sim.user.watchdog import VARIABLE, PythonCalls, TookTooLong


class Endless(UserDevice):
    def tick(self, now: int) -> int | None:
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue


def test_a_callback_that_does_not_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.2")
    with pytest.raises(
        CompileError, match=r"device mac, tick\(\) at test_python_device_ends.py:\d+: has not come back"
    ):
        run(Endless())


def test_naming_it_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(trace: TracebackType) -> StackSummary:
        for _ in range(20):
            time.sleep(0.01)
        return extract_tb(trace)

    monkeypatch.setenv(VARIABLE, "0.2")
    monkeypatch.setattr(traceback, "extract_tb", slowly)
    with pytest.raises(CompileError, match="has not come back"):
        run(Endless())


def test_an_attempt_to_end_it_that_comes_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python looks for exceptions of other threads where a function is entered, before that can catch any."""
    end, entered = PythonCalls.end, list[PythonCalls]()

    def struck_at_first(calls: PythonCalls) -> None:
        entered.append(calls)
        if len(entered) == 1:
            raise TookTooLong.__new__(TookTooLong)
        end(calls)

    monkeypatch.setattr(PythonCalls, "end", struck_at_first)
    with pytest.raises(CompileError, match=r"device mac.* has not come back"):
        run(UserDevice())


class CatchesEverything(UserDevice):
    def tick(self, now: int) -> int | None:
        while True:
            try:
                time.sleep(0.001)
                sum(range(100))
            except:  # noqa: E722
                continue


def test_one_that_catches_everything_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(
        CompileError, match=r"device mac, tick\(\) at test_python_device_ends.py:\d+: has not come back"
    ):
        run(CatchesEverything())


UNSTOPPABLE = """
import time
from tests.sim.user.test_user_device import run
from tilewright.sim.user.device import UserDevice

class Unstoppable(UserDevice):
    def tick(self, now):
        time.sleep(50)

run(Unstoppable())
"""


def test_one_that_cannot_be_stopped_ends_the_process() -> None:
    """Only where nothing else helps: inside of a library, exceptions have to wait."""
    environment = {**os.environ, VARIABLE: "0.3"}
    done = subprocess.run(
        [sys.executable, "-c", UNSTOPPABLE],
        env=environment, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(r"error: a device at .*: has not come back after 0.3 seconds", done.stderr)


def test_a_limit_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "soon")
    with pytest.raises(CompileError, match=f"{VARIABLE}: is 'soon'"):
        run(Endless())


def test_a_signal_ends_the_run() -> None:
    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated(143)

    before = signal.signal(signal.SIGALRM, terminate)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Terminated):
            run(Endless())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_before_a_callback_has_begun_is_heard() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    found: list[BaseException] = []
    with heard(found.append):
        ctypes.CFUNCTYPE(None)(interrupted)()
    assert [type(error) for error in found] == [KeyboardInterrupt]


def test_memory_that_is_not_there_is_named_with_the_device() -> None:
    class Outside(UserDevice):
        def tick(self, now: int) -> int | None:
            self.host.write(0x5000_0000, bytes(8))
            return None

    with pytest.raises(
        CompileError, match=r"device mac, tick\(\) at .*: writes 8 bytes at 0x50000000, which are not in one"
    ):
        run(Outside())


def test_a_fault_inside_numpy_is_named_by_the_users_line() -> None:
    class Wrong(UserDevice):
        source = Path(__file__)

        def tick(self, now: int) -> int | None:
            np.linalg.solve(np.zeros((2, 2)), np.zeros(2))
            return None

    with pytest.raises(
        CompileError, match=r"device mac, tick\(\) at test_python_device_ends.py:\d+: LinAlgError: Sing"
    ):
        run(Wrong())
