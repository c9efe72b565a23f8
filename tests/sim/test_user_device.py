"""A user's multiply-accumulate engine, in C and in Python: same results, same cycles."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.sim.assembling import PROGRAMS, built
from tilewright.errors import CompileError
from tilewright.sim.siracusa import SIRACUSA
from tilewright.sim.user import UserDevice
from tilewright.simulate import Simulator

PLATFORM = SIRACUSA.with_device("mac", 0x3000_0000, latency=2)
WANTED = sum(i * (i + 1) for i in range(64))


class MacEngine(UserDevice):
    """The sum of n products of 32-bit words, one product per cycle, event line 5 at the end."""

    def __init__(self) -> None:
        self.a = self.b = self.n = self.result = self.done = 0

    def read(self, offset: int, now: int) -> int:
        return {12: self.result, 16: int(now < self.done)}.get(offset, 0)

    def write(self, offset: int, value: int, now: int) -> None:
        if offset == 0:
            self.a = value
        elif offset == 4:
            self.b = value
        elif offset == 8:
            self.n, self.done = value, now + 3 + value

    def tick(self, now: int) -> int | None:
        if not self.n:
            return None
        if now < self.done:
            return self.done
        a, b = (struct.unpack(f"<{self.n}I", self.host.read(at, 4 * self.n)) for at in (self.a, self.b))
        self.result, self.n = sum(x * y for x, y in zip(a, b, strict=True)), 0
        self.host.raise_event(1, 5, now)
        return None


def run(device: UserDevice | Path) -> tuple[int, int, int | None]:
    with Simulator(PLATFORM) as simulator:
        simulator.attach("mac", device)
        simulator.load(built("mac.c"))
        report = simulator.run(100_000)
        return simulator.read_word("result"), simulator.read_word("cycles"), report.exit_code


def test_in_python() -> None:
    result, cycles, code = run(MacEngine())
    assert (result, code) == (WANTED, 0)
    assert 64 < cycles < 200


def test_in_c_is_the_same() -> None:
    assert run(PROGRAMS / "mac_engine.c") == run(MacEngine())


def test_an_exception_surfaces_as_itself() -> None:
    class Broken(MacEngine):
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
    with pytest.raises(CompileError, match="failed"):
        run(tmp_path / "broken.c")
