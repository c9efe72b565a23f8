"""What is unconfirmed is said wherever its figures are, and what the chip does not take is found from the shell too."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import small

NOTE = "unconfirmed"
SETTINGS = ("--target", "siracusa", "--code-in-l1", "--time-limit", "1")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.onnx"
    onnx.save(small(), path)
    return path


@pytest.mark.parametrize("verb", ["analyze", "run", "profile"])
def test_figures_of_code_in_l1_are_said_to_be_unconfirmed(command: Command, network: Path, verb: str) -> None:
    assert NOTE in command(verb, network, *SETTINGS).out
    assert any(NOTE in note for note in command(verb, network, *SETTINGS, "--json").json["notes"])
    others = [word for word in SETTINGS if word != "--code-in-l1"]
    assert NOTE not in command(verb, network, *others).out
    assert not any(NOTE in note for note in command(verb, network, *others, "--json").json["notes"])


def test_misuse_is_found_from_the_shell(command: Command, network: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.elf"
    assert command("run", network, *SETTINGS, "--elf", program).code == 0
    assert command("sim", program).code == 0
    found = command("sim", program, "--check", "misuse")
    assert found.code != 0
    assert "L1" in found.err
