"""`--board` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import residual

pytestmark = pytest.mark.fast


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    onnx.save(residual(), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


@pytest.mark.asks_c
def test_a_board_says_what_is_compiled_for(command: Command, small: Path) -> None:
    found = command("analyze", small, "--board", "nrf52840dk", "--json").json
    assert (found["target"], found["clock_mhz"]) == ("nrf52840dk", 64)
    assert found["memories"]["RAM"]["size_bytes"] == 256 * 1024
    core = command("analyze", small, "--board", "nrf52840dk", "--target", "cortex-m4", "--clock", "32", "--json").json
    assert core["clock_mhz"] == 32


def test_another_core_is_refused(command: Command, small: Path) -> None:
    found = command("analyze", small, "--board", "rp2040", "--target", "cortex-m4", "--json").json
    assert found["error"]["what"] == "contradicts --board rp2040, whose core is cortex-m0plus"
    found = command("analyze", small, "--board", "rp2041", "--json").json
    assert "nucleo-l4r5zi" in found["error"]["hint"]
    found = command("analyze", small, "--optimise", "speed", "--json").json
    assert found["error"]["hint"] == "use cycles or ram"


def test_boards_are_listed(command: Command) -> None:
    listed = {board["name"]: board for board in command("targets", "--json").json["boards"]}
    assert listed["rp2040"]["cpu"] == "cortex-m0plus"
    assert listed["rp2040"]["uncertain"]
    assert "nucleo-h7a3zi" in command("targets").out


def test_a_memory_has_one_size_however_it_is_spelled(command: Command, small: Path) -> None:
    sizes = ("--memory", "ram=65536", "--memory", "RAM=4096")
    found = command("analyze", small, "--target", "rv32", *sizes, "--json").json
    assert found["error"]["where"] == "--memory RAM=4096"
    assert found["error"]["what"] == "contradicts --memory ram=65536"
