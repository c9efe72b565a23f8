"""`tilewright export`: what it writes, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.command import Command
from tests.support.models import model, node, small


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(small(), tmp_path / "network.onnx")
    return tmp_path / "network.onnx"


def test_a_file_is_written(command: Command, network: Path) -> None:
    ran = command("export", network, "-o", "out.onnx")
    assert (ran.code, ran.out) == (0, "3 operators written to out.onnx\n")
    assert onnx.load("out.onnx").producer_name == "tilewright"
    found = command("export", network, "-o", "again.onnx", "--json")
    assert found.json == {
        "schema": "tilewright-export-onnx/1", "status": "ok", "onnx": "again.onnx", "nodes": 3, "notes": [],
    }  # fmt: skip


def test_the_model_is_not_overwritten(command: Command, network: Path) -> None:
    before = network.read_bytes()
    ran = command("export", network)
    assert ran.code == 2
    assert "what  is the model itself" in ran.err
    assert network.read_bytes() == before


def test_what_cannot_be_written_leaves_no_file(command: Command, network: Path) -> None:
    attributes = {"div": 16, "n_levels_out": 256, "signed": 1}
    nodes = [node("RequantShift", "x m a", "y", **attributes)]
    constants = {"m": np.ones(1, np.float32), "a": np.zeros(1, np.float32)}
    onnx.save(model(nodes, {"x": (1, 4)}, ["y"], constants), "integers.onnx")
    ran = command("export", "integers.onnx", "-o", "out.onnx")
    assert ran.code == 2
    assert "RequantShift belongs to the integer dialect" in ran.err
    assert not Path("out.onnx").exists()
