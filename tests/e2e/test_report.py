"""`tilewright report` as a user meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import residual
from tests.support.reported import profiled, study
from tilewright.exploring.results import read_results, save_results
from tilewright.exploring.store import Store


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(residual(), tmp_path / "residual.onnx")
    return tmp_path / "residual.onnx"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    save_results(study(), Store.at(tmp_path / "made_up_study"))
    return tmp_path / "made_up_study"


def test_a_model(command: Command, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = command("report", model, "--target", "quad", "--cores", "2", "-o", page, "--json")
    assert ran.code == 0
    kept = {"schema": "tilewright-report/1", "status": "ok", "page": str(page), "bytes": page.stat().st_size}
    assert ran.json == kept
    text = page.read_text(encoding="utf-8")
    assert "<h1>residual on quad</h1>" in text
    assert "<dt>cores</dt><dd>2</dd>" in text
    assert tw.__version__ in text
    assert "stem" in text


def test_a_board(command: Command, model: Path, tmp_path: Path) -> None:
    ran = command("report", model, "--target", "rv32", "-o", tmp_path / "page.html")
    assert ran.code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<dt>instructions</dt>" in text
    assert 'id="memory-' in text


@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_a_saved_profile(command: Command, model: Path, tmp_path: Path, target: str) -> None:
    """Layers, totals and memories are those of the page of the run."""
    saved, page = tmp_path / "saved.json", tmp_path / "page.html"
    saved.write_text(command("profile", model, "--target", target, "--json").out)
    assert command("report", saved, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert f"<h1>residual on {target}</h1>" in text
    assert f"<dd>{json.loads(saved.read_text())['cycles']:,}</dd>" in text
    assert 'id="memory-' in text
    assert 'id="timeline"' not in text
    assert "is a saved profile" in " ".join(command("report", saved, "--target", target).err.split())


def test_a_file_that_is_no_profile(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"layers": 3}')
    ran = command("report", tmp_path / "other.json")
    assert ran.code == 2
    assert "is not what `tilewright profile --json` prints" in ran.err


def test_a_folder_that_is_no_study(command: Command, tmp_path: Path) -> None:
    ran = command("report", tmp_path)
    assert ran.code == 2
    assert "is no study" in ran.err
    assert "does not exist" in command("report", tmp_path / "nothing").err


def test_a_study(command: Command, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command("report", kept)
    assert ran.code == 0
    assert ran.out == "page written to made_up_study.html\n"
    assert "study made_up" in (tmp_path / "made_up_study.html").read_text(encoding="utf-8")


def test_results_are_read_as_they_were_written(kept: Path) -> None:
    assert read_results(kept) == study()


def test_from_python(kept: Path, tmp_path: Path) -> None:
    program, _ = profiled()
    for number, what in enumerate((program, study(), kept)):
        tw.write_report(what, tmp_path / f"{number}.html")
        assert (tmp_path / f"{number}.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()
    with pytest.raises(tw.CompileError, match="are for a program that is run"):
        tw.write_report(kept, tmp_path / "page.html", inputs={})


def test_plotly_is_missing(command: Command, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    ran = command("report", model, "--target", "quad")
    assert ran.code != 0
    assert "needs Plotly, which is not installed" in ran.err
    assert "pip install 'tilewright[report]'" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["residual.onnx"], "is a model, and --target is missing"),
        (["residual.onnx", "--target", "generic"], "runs on this machine, without a profile"),
        (["made_up_study", "--target", "quad"], "is a study, which names its targets"),
        (["made_up_study", "-o", "missing/page.html"], "cannot be written"),
        (["made_up_study", "-o", "residual.onnx/page.html"], "residual.onnx is not a folder"),
        (["study.toml"], "`tilewright explore study.toml` computes it"),
        (["broken_study"], "is not tilewright-study/2"),
        (["old_study"], "is not tilewright-study/2"),
    ],
)
@pytest.mark.usefixtures("model", "kept")
def test_what_goes_wrong(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('models = ["residual.onnx"]')
    for name, version in {"broken_study": 2, "old_study": 1}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps({"schema": f"tilewright-study/{version}"}))
    ran = command("report", *words)
    assert ran.code != 0
    assert said in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
