"""Sweeps as a user meets them: real points, the table, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node, residual, small
from tilewright.exploring.columns import is_metric
from tilewright.target.settings import Settings

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(small(), tmp_path / "small.onnx")
    onnx.save(residual(), tmp_path / "residual.onnx")
    np.savez(tmp_path / "in.npz", x=X)
    np.savez(tmp_path / "wrong.npz", y=X + 99)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


@pytest.mark.in_turns(8)
def test_a_sweep_from_the_file_to_the_table(command: Command, folder: Path) -> None:
    study = written(
        folder,
        """
        models = ["small.onnx", "residual.onnx"]
        [[sweep]]
        targets = "generic"
        [[sweep]]
        targets = "quad"
        cores = [1, 4]
        """,
    )
    ran = command("explore", study, "-o", folder / "out", "--jobs", "2")
    assert ran.code == 0
    assert "6 of 6 points: 6 agrees; 6 computed in" in ran.out
    assert "2 processes, busy" in ran.out
    assert "●" in ran.out
    again = command("explore", study, "-o", folder / "out", "--json")
    assert again.code == 0
    found = again.json
    assert (found["computed"], found["points"], found["counts"]) == (0, 6, {"agrees": 6})
    assert found["rows"] == json.loads((folder / "out" / "results.json").read_text())["rows"]
    for row in found["rows"]:
        assert all(is_metric(name) for name in row["metrics"])
        assert row["metrics"]["mismatches"] == 0
        assert ("cycles" in row["metrics"]) == (row["target"] == "quad")
    alone = tw.compile(folder / "small.onnx", target="quad", settings=Settings(cores=1)).check()
    one = next(row for row in found["rows"] if row["model"] == "small" and row["settings"] == {"cores": 1})
    assert one["metrics"]["cycles"] == alone.result.cycles
    assert one["metrics"]["planned_ram_bytes"] == alone.memory["planned_ram_bytes"]


@pytest.mark.in_turns(8)
def test_what_is_refused_or_disagrees_is_a_row_with_its_reason(command: Command, folder: Path) -> None:
    onnx.save(model([node("Multinomial", "x", "y")], {"x": (2, 3)}, ["y"]), folder / "refused.onnx")
    study = written(
        folder,
        """
        targets = "generic"
        models = ["refused.onnx", {file = "small.onnx", inputs = "in.npz", expect = "wrong.npz"}]
        [[sweep]]
        [[sweep]]
        models = "small.onnx"
        cores = 2
        """,
    )
    ran = command("explore", study, "-o", folder / "out", "--jobs", "1")
    assert ran.code == 1
    assert "Multinomial" in ran.out
    rows = json.loads((folder / "out" / "results.json").read_text())["rows"]
    assert [row["status"] for row in rows] == ["refused", "disagrees", "refused"]
    assert rows[1]["metrics"]["mismatches"] == 6
    assert "6 of 6 elements differ" in rows[1]["reason"]
    assert "has no cluster" in rows[2]["reason"]
    assert command("explore", study, "-o", folder / "out", "--json").json["computed"] == 0


@pytest.mark.in_turns(8)
def test_bits_of_weights_of_a_model_that_is_quantised(folder: Path) -> None:
    random = np.random.default_rng(0)
    weights = random.normal(size=(64, 32)).astype(np.float32)
    onnx.save(model([node("MatMul", "x w", "y")], {"x": (4, 64)}, ["y"], {"w": weights}), folder / "product.onnx")
    np.savez(folder / "samples.npz", x=random.normal(size=(16, 4, 64)).astype(np.float32))
    models = [{"file": str(folder / "product.onnx"), "samples": str(folder / "samples.npz")}]
    study = {"models": models, "targets": ["generic"], "weight_bits": [8, 4], "pack_weights": True}
    found = tw.explore(study, folder / "out", jobs=1)
    assert [row.status for row in found.rows] == ["agrees", "agrees"]
    eight, four = (row.metrics["constant_bytes"] for row in found.rows)
    assert four < 0.6 * eight


def test_a_study_that_is_wrong(command: Command, folder: Path) -> None:
    study = written(folder, 'models = ["small.onnx", "none.onnx"]\ntargets = "quad"\ncoers = 1')
    ran = command("explore", study)
    assert ran.code == 2
    assert "do you mean cores?" in ran.err
    assert "none.onnx" in ran.err
    found = command("explore", study, "--json")
    assert found.code == 2
    assert len(found.json["errors"]) == 2


def test_a_scheduler_without_dask(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    study = written(folder, 'models = "small.onnx"\ntargets = "quad"')
    ran = command("explore", study, "-o", folder / "out", "--scheduler", "tcp://localhost:1")
    assert ran.code == 2
    assert "pip install 'tilewright[cluster]'" in ran.err
