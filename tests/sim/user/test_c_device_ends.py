"""Devices in C that do not come back end the run, and are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.user.test_user_device import EXAMPLE, WANTED, run
from tilewright.bringup.check import check_folder
from tilewright.bringup.skeleton import new_folder
from tilewright.errors import CompileError
from tilewright.sim.user.watchdog import VARIABLE

pytestmark = pytest.mark.in_turns(6)

ENDLESS = "volatile int again = 1; while (again) { } "


def endless(place: Path, function: str) -> Path:
    """The example, with a loop at the beginning of a function."""
    text = (EXAMPLE / "mac_engine.c").read_text()
    at = text.index("{", text.index(f" {function}(")) + 1
    path = place / "mac_engine.c"
    path.write_text(f"{text[:at]} {ENDLESS}{text[at:]}")
    return path


@pytest.mark.parametrize("function", ["write", "tick"])
def test_the_function_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    monkeypatch.setenv(VARIABLE, "0.3")
    with pytest.raises(CompileError, match=rf"device mac, {function}\(\): has not come back after 0.3 seconds"):
        run(endless(tmp_path, function))
    assert run(EXAMPLE / "mac_engine.c")[0] == WANTED


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["quad", "cortex-m4"])
def test_an_accelerator_shows_its_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv(VARIABLE, "0.3")
    new_folder("unit", tmp_path / "unit", True)
    model = tmp_path / "unit" / "device.c"
    body = "static void compute(const registers *r, job *j) {"
    model.write_text(model.read_text().replace(body, f"{body} if (!j->rehearses) {{ {ENDLESS} }}"))
    with pytest.raises(CompileError) as caught:
        check_folder(str(tmp_path / "unit"), target, jobs=1)
    assert "device unit, tick(): has not come back after 0.3 seconds" in caught.value.what
    assert "job: MatMul" in caught.value.what
    assert "registers: a 0x" in caught.value.what


def test_a_job_that_cannot_be_computed_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    """Of its own, or where it takes more parts of memory than a job may have."""
    for number, (body, said) in enumerate(
        [
            ('job_stop(j, "takes no such rows\\nwrite fewer");', "takes no such rows"),
            ("for (int i = 0; i < 20; i++) job_in(j, r->a, 4);", "more than 16 parts of memory in a job"),
        ]
    ):
        place = tmp_path / str(number)
        new_folder("unit", place, True)
        model, head = place / "device.c", "static void compute(const registers *r, job *j) {"
        model.write_text(model.read_text().replace(head, f"{head}\n    {body}"))
        with pytest.raises(CompileError, match=said):
            check_folder(str(place), "rv32", jobs=1)
