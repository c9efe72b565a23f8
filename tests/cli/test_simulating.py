"""What is told of a simulation while it runs, and what is timed as one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.models import small
from tilewright.cli.simulating import Watch
from tilewright.run import runs
from tilewright.sim.heard import heard_by
from tilewright.sim.library import build_library
from tilewright.sim.simulator import MOST_SLICE, SLICE, SLICE_SECONDS, next_slice
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_compiler


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def told(expected: int, *heard: tuple[float, int]) -> list[str]:
    lines, clock = list[str](), Clock()
    watch = Watch(lines.append, expected, clock)
    for seconds, cycles in heard:
        clock.seconds = seconds
        watch(cycles)
    return lines


@pytest.mark.fast
def test_a_percentage_and_the_time_left_follow_from_predicted_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(1000, (50, 0), (50.5, 50), (52, 100), (55, 250)) == [
        "simulating: 10%, 18 s left", "simulating: 25%, 15 s left",
    ]  # fmt: skip
    assert capsys.readouterr().err == ""


@pytest.mark.fast
def test_runs_of_minutes_are_announced_once_with_what_is_quicker(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(1_000_000, (0, 0), (2, 10_000), (4, 20_000))[0] == "simulating: 1%, 3 min 18 s left"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tilewright: 1,000,000 predicted cycles take about 3 min 20 s to simulate; quicker: ")


@pytest.mark.fast
def test_a_second_program_begins_anew_and_nothing_is_made_up() -> None:
    assert told(1000, (2, 500), (3, 10), (5, 20))[-1] == "simulating: 2%, 3 min 16 s left"
    assert told(0, (2, 500), (9, 900)) == []
    assert told(100, (0, 0), (2, 500)) == ["simulating: 99%, 0 ns left"]


@pytest.mark.fast
def test_interrupts_are_heard_four_times_in_a_second() -> None:
    """Whatever the speed was, the next slice takes a quarter of a second at that speed, or less."""
    for cycles in (SLICE, 30_000, MOST_SLICE):
        for speed in (1e4, 3e5, 1e8):
            following = next_slice(cycles, cycles / speed)
            assert following <= MOST_SLICE
            assert following == SLICE or following / speed <= SLICE_SECONDS * 1.001


def test_simulators_tell_how_far_they_are() -> None:
    heard = list[int]()
    with heard_by(heard.append):
        result = tw.compile(small(), target="rv32").run([[[1, 2, 3], [4, 5, 6]]])
    assert heard
    assert heard == sorted(heard)
    assert heard[-1] >= (result.cycles or 0) > 0


def test_building_the_simulator_is_no_part_of_simulating(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run took 36 s for that and said that it had simulated for 37 s."""
    program, order = tw.compile(small(), target="rv32"), list[str]()
    machine, clock = Target.machine, time.perf_counter
    program.build_soc()
    monkeypatch.setattr(Target, "machine", lambda target: (order.append("simulator"), machine(target))[1])
    monkeypatch.setattr(runs.time, "perf_counter", lambda: (order.append("clock"), clock())[1])
    program.run([[[1, 2, 3], [4, 5, 6]]])
    assert order[0] == "simulator"


def test_building_it_is_named_and_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    build_library([tmp_path / "one.c"], find_compiler(None), "the simulator")
    first, last = capsys.readouterr().err.splitlines()
    assert first == "tilewright: building the simulator (once) ..."
    assert last.startswith("tilewright: built the simulator in ")
    build_library([tmp_path / "one.c"], find_compiler(None), "the simulator")
    assert capsys.readouterr().err == ""
