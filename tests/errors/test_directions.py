"""What is given to the wrong command, or is no model, leads to the right one."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import onnx
import pytest

from tests.support.command import Command
from tests.support.models import small
from tests.support.tflite_models import O, T, write
from tilewright.cli.parser import parser_for
from tilewright.sim import simulator

pytestmark = pytest.mark.fast


def archive(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(f"{path.stem}/{name}", "")
    return path


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("data.pkl", "version"), "holds weights or a pickled module, not a graph"),
        (("data.pkl", "constants.pkl", "code/part.py"), "holds a TorchScript module, not a graph"),
    ],
)
@pytest.mark.parametrize("file", ["net.pt", "net.pth"])
def test_a_pickle_is_named_before_pytorch_is_asked_for(
    command: Command, tmp_path: Path, names: tuple[str, ...], what: str, file: str
) -> None:
    ran = command("run", archive(tmp_path / file, *names), "--json")
    assert ran.code == 2
    assert ran.json["error"]["what"] == what
    assert "torch.export.save" in ran.json["error"]["hint"]


def test_an_old_pickle_and_a_missing_one(command: Command, tmp_path: Path) -> None:
    (tmp_path / "old.pt").write_bytes(b"\x80\x02}q\x00.")
    assert command("run", tmp_path / "old.pt", "--json").json["error"]["what"].startswith("holds weights")
    assert command("run", tmp_path / "none.pt", "--json").json["error"]["what"].startswith("cannot be read: No such")


@pytest.mark.parametrize("what", ["run", "analyze", "compile"])
def test_a_language_model_leads_to_generate(command: Command, tmp_path: Path, what: str) -> None:
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    error = command(what, folder, "--json").json["error"]
    assert error["what"] == "is the folder of a language model, no graph"
    assert error["hint"] == f'tilewright generate {folder} "Once upon a time"'


def test_another_folder_is_no_model(command: Command, tmp_path: Path) -> None:
    assert command("run", tmp_path, "--json").json["error"]["what"] == "is a folder, not a model"


def test_a_page_where_nothing_can_be_written(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "results.json").write_text("{}")
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "closed")
    (tmp_path / "closed").mkdir()
    ran = command("report", tmp_path / "study", "-o", tmp_path / "closed" / "page.html", "--json")
    assert ran.code == 2
    assert "cannot be written" in ran.json["error"]["what"]
    assert ran.json["error"]["what"].endswith("closed is not writable")


@pytest.mark.parametrize(
    ("file", "begins", "what", "hint"),
    [
        ("study.toml", b"models = ['a.onnx']\n", "is a TOML file, not a model", "tilewright explore {file}"),
        ("samples.npz", b"PK\x03\x04", "holds arrays, not a model", "--inputs {file}"),
        ("one.npy", b"\x93NUMPY\x01\x00", "holds an array, not a model", "name the model's file"),
        ("arm.elf", b"\x7fELF\x01\x01", "is a program, not a model", "tilewright sim {file}"),
        ("net.py", b"import torch\n", "is a Python program, not a model", "export the model"),
        ("net.pkl", b"\x80\x04}\x94.", "holds a pickled object, not a graph", "torch.export.save"),
        ("tiny.gguf", b"GGUF\x03", "is a language model in GGUF, no graph", "tilewright generate {file}"),
        ("w.safetensors", b"\x40\x00\x00\x00{}", "holds weights, not a graph", "tilewright generate"),
        ("empty.toml", b"", "is a TOML file, not a model", "tilewright explore {file}"),
    ],
)
def test_a_file_that_is_no_model_leads_to_its_command(
    command: Command, tmp_path: Path, file: str, begins: bytes, what: str, hint: str
) -> None:
    path = tmp_path / file
    path.write_bytes(begins)
    error = command("run", path, "--json").json["error"]
    assert error["what"] == what
    assert hint.format(file=path) in error["hint"]


def test_a_model_may_have_any_name(command: Command, tmp_path: Path) -> None:
    onnx.save(small(), tmp_path / "model.bin")
    assert command("analyze", tmp_path / "model.bin", "--json").code == 0


def test_a_folder_of_c_is_no_model(command: Command, tmp_path: Path) -> None:
    for name in ("network.c", "network.h"):
        (tmp_path / name).write_text("")
    assert command("run", tmp_path, "--json").json["error"]["what"] == "is a folder of compiled C, not a model"


@pytest.mark.parametrize("platform", ["siracusa", "cortex-m4"])
def test_sim_takes_programs(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """What is none is told before the simulator is built, which may take a minute."""

    def build(*given: object) -> NoReturn:
        raise AssertionError("built for a file that is no program")

    monkeypatch.setattr(simulator, "load", build)
    (tmp_path / "net.tflite").write_bytes(b"\x1c\x00\x00\x00TFL3")
    (tmp_path / "text.elf").write_text("none")
    hints = {"net.tflite": "tilewright run ", ".": "cmake -S", "text.elf": "the linked program", "none.elf": "path"}
    for name, hint in hints.items():
        error = command("sim", tmp_path / name, "--platform", platform, "--json").json["error"]
        assert hint in error["hint"]


@pytest.mark.parametrize("talks", ["generate", "chat", "serve"])
def test_a_graph_is_no_language_model(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talks: str
) -> None:
    """Nothing has to be installed to hear that."""
    monkeypatch.setitem(sys.modules, "starlette", None)
    (tmp_path / "net.tflite").write_bytes(b"\x1c\x00\x00\x00TFL3")
    ran = command(talks, tmp_path / "net.tflite")
    assert ran.code == 2
    assert "is a graph, not a language model" in ran.err
    assert "tilewright run " in ran.err


def test_a_model_is_no_study(command: Command, tmp_path: Path) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    error = command("explore", tmp_path / "net.onnx", "--json").json["error"]
    assert error["what"] == "is a model, not a study"
    assert 'models = ["net.onnx"]' in error["hint"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("compile", "net.onnx", "--as", "arduino"), "--as is an option of `tilewright export`"),
        (("run", "net.onnx", "--as", "cmake"), "--as is an option of `tilewright export`"),
        (("compile", "net.onnx", "--inputs", "x.npz"), "--inputs is an option of `tilewright run`"),
        (("compile", "net.onnx", "--nowhere", "1"), "tilewright compile --help"),
    ],
)
def test_an_option_of_another_command_leads_there(command: Command, words: tuple[str, ...], hint: str) -> None:
    assert command(*words, "--json").json["error"]["hint"].startswith(hint)


def test_a_target_is_no_board(command: Command, tmp_path: Path) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    error = command("analyze", tmp_path / "net.onnx", "--board", "cortex-m4", "--json").json["error"]
    assert (error["what"], error["hint"]) == ("is a target, not a board", "--target cortex-m4")


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        ("--clock", "80MHz", 80.0),
        ("--clock", "62.5m", 62.5),
        ("--stack", "4k", 4096),
        ("--stack", "4KiB", 4096),
        ("--copy-weights", "1M", 2**20),
    ],
)
def test_numbers_may_have_units(option: str, text: str, value: float) -> None:
    analyze: Any = parser_for(["analyze"]).commands["analyze"]  # type: ignore[attr-defined]
    given = analyze.make_context("analyze", ["net.onnx", option, text]).params
    assert value in [one for one in given.values() if isinstance(one, int | float) and not isinstance(one, bool)]


def test_a_clock_that_is_none(command: Command) -> None:
    what = command("analyze", "net.onnx", "--clock", "fast", "--json").json["error"]["what"]
    assert what == "Invalid value for '--clock': 'fast' is not a number of MHz, for example 80."


def test_a_text_is_no_report(command: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    error = command("report", tmp_path / "notes.txt", "--json").json["error"]
    assert error["what"] == "is no model, study or saved profile"


def test_fused_names_are_short_in_errors_of_memory(command: Command, tmp_path: Path) -> None:
    fused = [f"model/block{i}/Conv2D;model/block{i}/batch_norm/FusedBatchNormV3;model/block{i}/Logistic" for i in "ab"]
    names = ["in", *fused, "out"]
    tensors = [T("int8", (1, 40000), 1 / 256, -128, name=name) for name in names]
    operators = [O("LOGISTIC", [0], [1]), O("LOGISTIC", [1], [2]), O("MAXIMUM", [1, 2], [3])]
    file = write(tensors, operators, [0], [3])
    (tmp_path / "net.tflite").write_bytes(file)
    words = ("--target", "cortex-m4", "--memory", "ram=1k", "--json")
    what = command("analyze", tmp_path / "net.tflite", *words).json["error"]["what"]
    assert "arena's peak is at node" in what
    assert ";" not in what.split("peak")[1]


@pytest.mark.parametrize(
    ("words", "option", "name"),
    [("compile network.onnx -o", "-o", "compile"), ("accelerator check folder --jobs", "--jobs", "accelerator check")],
)
def test_an_option_without_its_value_leads_to_the_help_of_its_command(
    command: Command, words: str, option: str, name: str
) -> None:
    said = command(*words.split())
    assert said.code == 2
    assert f"Option '{option}' requires an argument." in said.err
    assert f"tilewright {name} --help" in said.err
