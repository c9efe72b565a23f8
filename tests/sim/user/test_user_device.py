"""A user's multiply-accumulate engine, in C and in Python: same results, same cycles."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.assembling import built
from tilewright.errors import CompileError
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.simulator import Simulator
from tilewright.sim.user.device import UserDevice

EXAMPLE = Path(__file__).parents[3] / "examples" / "mac_engine"
PLATFORM = SIRACUSA.with_device("mac", 0x3000_0000, latency=2)
WANTED = sum(i * (i + 1) for i in range(64))

specification = importlib.util.spec_from_file_location("mac_engine", EXAMPLE / "run.py")
assert specification is not None
assert specification.loader is not None
example = importlib.util.module_from_spec(specification)
specification.loader.exec_module(example)


def run(device: UserDevice | Path, limit: int = 100_000) -> tuple[int, int, int | None]:
    with Simulator(PLATFORM) as simulator:
        simulator.attach("mac", device)
        simulator.load(built(str(EXAMPLE / "program.c")))
        report = simulator.run(limit)
        return simulator.read_word("result"), simulator.read_word("cycles"), report.exit_code


def test_in_python() -> None:
    result, cycles, code = run(example.MacEngine())
    assert (result, code) == (WANTED, 0)
    assert 64 < cycles < 200


def test_in_c_is_the_same() -> None:
    assert run(EXAMPLE / "mac_engine.c") == run(example.MacEngine())


def test_an_exception_surfaces_as_itself() -> None:
    class Broken(UserDevice):
        def tick(self, now: int) -> int | None:
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run(Broken())


def test_a_file_without_a_device(tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text("int nothing;\n")
    with pytest.raises(CompileError, match="does not define tw_device"):
        run(tmp_path / "empty.c")


def test_a_file_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text("int nothing\n")
    with pytest.raises(CompileError, match="does not compile"):
        run(tmp_path / "broken.c")


def test_the_worked_example_prints_what_its_page_shows() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE / "run.py")], capture_output=True, text=True, check=True)
    page = (EXAMPLE.parents[1] / "docs" / "devices.md").read_text()
    assert len(done.stdout.splitlines()) == 2
    assert done.stdout in page
