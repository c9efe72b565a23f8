"""Points in processes of their own: what happens to one is a row, and happens to no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.points_made_up import COMMAND, DIES, FILLS, PRINTS, SLEEPS, WAITS, study
from tilewright.errors import CompileError
from tilewright.exploring import explore as exploring
from tilewright.exploring.results import Results

ROOT = Path(__file__).parents[2]
PATIENCE = 600
"""Seconds after which something counts as hung, on a machine that has other work too."""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tilewright.exploring.worker.COMMAND", COMMAND)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    path = tmp_path / "model.tflite"
    path.write_bytes(b"model")
    return path


def statuses(found: Results) -> dict[str, str]:
    return {row.target: row.status for row in found.rows}


@pytest.mark.in_turns(6)
def test_a_process_that_dies_is_a_row_and_others_go_on(model: Path, tmp_path: Path) -> None:
    found = exploring.explore(study(model, "a", DIES, PRINTS, "b"), tmp_path / "out", jobs=2)
    assert statuses(found) == {"a": "agrees", DIES: "died", PRINTS: "agrees", "b": "agrees"}
    reason = next(row.reason for row in found.rows if row.target == DIES)
    assert "SIGKILL" in reason
    assert "about to die" in reason


@pytest.mark.in_turns(6)
def test_a_point_that_takes_too_long_is_given_up(model: Path, tmp_path: Path) -> None:
    found = exploring.explore(study(model, "a", SLEEPS, "b"), tmp_path / "out", jobs=1, seconds=4.0)
    assert statuses(found) == {"a": "agrees", SLEEPS: "timed out", "b": "agrees"}
    again = exploring.explore(study(model, "a", SLEEPS, "b"), tmp_path / "out", jobs=1, seconds=1.5)
    assert again.computed == 0


@pytest.mark.in_turns(6)
def test_a_rerun_computes_what_changed_and_what_failed(model: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = exploring.explore(
        study(model, "a", DIES), tmp_path / "out", jobs=1, progress=lambda what, done, total: told.append((done, total))
    )
    assert first.computed == 2
    assert told[-1] == (2, 2)
    second = exploring.explore(study(model, "a", DIES, axis=(1, 2)), tmp_path / "out", jobs=2)
    assert second.computed == 3
    model.write_bytes(b"another model")
    assert exploring.explore(study(model, "a"), tmp_path / "out", jobs=1).computed == 1
    assert exploring.explore(study(model, "a"), tmp_path / "out", jobs=1).computed == 0
    assert exploring.explore(study(model, "a"), tmp_path / "out", jobs=1, fresh=True).computed == 1


@pytest.mark.in_turns(3)
def test_a_full_disk_ends_the_study_and_keeps_what_is_finished(model: Path, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="is full: No space left on device"):
        exploring.explore(study(model, "a", "b", FILLS, "c"), tmp_path / "out", jobs=1)
    assert exploring.explore(study(model, "a", "b", "c"), tmp_path / "out", jobs=1).computed == 1


@pytest.mark.in_turns(6)
def test_points_leave_no_files_behind(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    exploring.explore(study(model, "a", DIES, SLEEPS), tmp_path / "out", jobs=3, seconds=2.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.tflite", "out"]


DRIVER = """
import signal
import sys
from pathlib import Path
from tests.support.points_made_up import COMMAND, study
from tilewright.cli import explore as command
from tilewright.cli.main import main
from tilewright.exploring import explore, worker
worker.COMMAND = COMMAND
explore.read_study = lambda path: study(Path(path), "waits", axis=tuple(range(1, 21)))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
main(["explore", *sys.argv[1:]])
"""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_what_is_finished(model: Path, tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-c", DRIVER, str(model), "-o", str(out), "--jobs", "2"]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list(out.glob("points/*.json"))) < 4:
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert ("to resume" in errors) == (number == signal.SIGINT)
    assert "Traceback" not in errors
    finished = len(list(out.glob("points/*.json")))
    assert 4 <= finished < 20
    assert len(json.loads((out / "results.json").read_text())["rows"]) == finished
    assert not list(out.glob(".draft-*"))
    found = exploring.explore(study(model, WAITS, axis=tuple(range(1, 21))), out, jobs=2)
    assert (found.computed, len(found.rows)) == (20 - finished, 20)


@pytest.mark.in_turns(6)
def test_a_reader_that_is_killed_takes_its_points_along(model: Path, tmp_path: Path) -> None:
    """Nothing goes on computing for nobody."""
    words = [sys.executable, "-c", DRIVER.replace("waits", SLEEPS), str(model), "-o", str(tmp_path / "out")]
    process = subprocess.Popen([*words, "--jobs", "1"], cwd=ROOT)
    ready = _wait_for_children(process.pid)
    _wait_for_children(ready)
    process.kill()
    process.wait()
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{ready}").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not Path(f"/proc/{ready}").exists()


def _wait_for_children(parent: int) -> int:
    children = Path(f"/proc/{parent}/task/{parent}/children")
    if not children.parent.exists():
        pytest.skip("processes are looked for in /proc")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = [child for task in children.parent.parent.iterdir() for child in _read(task / "children").split()]
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError(f"{parent} has no children")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
