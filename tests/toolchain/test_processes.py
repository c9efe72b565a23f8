"""Programs that threads wait for end with the work that they were for."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import SubprocessError, TimeoutExpired

import pytest

from tilewright.toolchain.processes import Processes

pytestmark = pytest.mark.fast

LONG = 60
"""Seconds that nobody waits for."""


def test_what_a_program_prints() -> None:
    done = Processes().run(["sh", "-c", "echo a; echo b >&2; exit 3"], timeout=LONG, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "a\n", "b\n")


def test_an_interruption_ends_those_that_run_and_begins_no_others(tmp_path: Path) -> None:
    """Also the programs that a program has started, which hold its output open."""
    start, processes, begun = time.monotonic(), Processes(), tmp_path / "begun"
    words = ["sh", "-c", f"touch {begun}; sleep {LONG} & sleep {LONG}"]
    with ThreadPoolExecutor(1) as pool:
        first, second = (pool.submit(processes.run, words, timeout=LONG) for _ in range(2))
        with pytest.raises(KeyboardInterrupt):
            interrupted_after(begun, processes)
    assert first.result().returncode < 0
    with pytest.raises(SubprocessError, match="stopped"):
        second.result()
    assert time.monotonic() - start < LONG / 2


def interrupted_after(begun: Path, processes: Processes) -> None:
    with processes.stopped_by_errors():
        while not begun.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_one_that_takes_too_long_is_ended() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutExpired):
        Processes().run(["sh", "-c", f"sleep {LONG} & sleep {LONG}"], timeout=0.1)
    assert time.monotonic() - start < LONG / 2
