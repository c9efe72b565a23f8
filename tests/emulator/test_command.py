"""`tilewright sim` with programs for Cortex-M."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.emulator.assembling import EXIT, program
from tests.emulator.test_machine import CODE_OF_SEVEN, PRINT
from tests.support.command import Command

PLATFORM = ("--platform", "cortex-m4")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_a_program_of_ones_own(command: Command, tmp_path: Path) -> None:
    done = command("sim", program(PRINT + EXIT, tmp_path), *PLATFORM, "--json")
    assert done.json["stdout"] == "hello\n"
    assert done.json["instructions"] == 7
    assert command("sim", program(CODE_OF_SEVEN, tmp_path), *PLATFORM).code == 7


def test_what_went_wrong_and_what_was_printed(command: Command, tmp_path: Path) -> None:
    found = command("sim", program(PRINT + "udf #0", tmp_path), *PLATFORM, "--json").json
    assert found["stdout"] == "hello\n"
    assert "UNDEFINSTR" in found["error"]["what"]


def test_cycles_of_functions(command: Command, tmp_path: Path) -> None:
    found = command("sim", program(PRINT + EXIT, tmp_path), *PLATFORM, "--profile", "--json").json
    assert sum(row["instructions"] for row in found["profile"]) == found["instructions"]


def test_what_the_emulator_does_not_have(command: Command, tmp_path: Path) -> None:
    done = command("sim", program(EXIT, tmp_path), *PLATFORM, "--gdb", "1234")
    assert done.code == 2
    assert "is not supported by the emulator" in done.err


def test_cores_are_listed_where_one_is_unknown(command: Command, tmp_path: Path) -> None:
    found = command("sim", program(EXIT, tmp_path), "--platform", "cortex-m9", "--json").json
    assert "cortex-m4, cortex-m55, cortex-m7" in found["error"]["hint"]


@pytest.mark.in_turns(5)
def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    path = program("1: adds r0, #1\nb 1b", tmp_path)
    code = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
from tilewright.emulator.machine import Emulator
from tilewright import targets
emulator = Emulator(targets.find("cortex-m4").platform)
emulator.load({str(path)!r})
print("running", flush=True)
try:
    emulator.run()
except KeyboardInterrupt:
    sys.exit(130)
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "running\n"
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
    finally:
        running.kill()
        running.wait()
