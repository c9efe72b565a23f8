"""A stranger with three files in an empty folder: what README names is tried by its command, and what is said in one
place is what is said in the others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.support import stand_ins, talkers
from tests.support.command import Command
from tests.support.example_networks import keyword_spotting
from tests.support.models import model, node

FILES = ("camera.tflite", *(pytest.param(one, marks=pytest.mark.in_turns(5)) for one in ("kws.onnx", "float.onnx")))
PLACES = {"here": "", "board": "--board nucleo-l4r5zi", "cluster": "--target siracusa"}
PROJECTS = ("arduino",)
EXPONENT = re.compile(r"\de[+-]?\d+ ?(ns|us|ms|s)\b")
"""Of a time as machines write it."""


def floats() -> onnx.ModelProto:
    weights = {"w": np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)}
    nodes = [node("MatMul", "x w", "a", name="fc"), node("Softmax", "a", "y", name="shares")]
    return model(nodes, {"x": (1, 8)}, ["y"], weights)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stranger")
    (made / "camera.tflite").write_bytes(stand_ins.classifier())
    onnx.save(keyword_spotting(), made / "kws.onnx")
    onnx.save(floats(), made / "float.onnx")
    talkers.save(made / "talker")
    np.savez(made / "floats.npz", **{"x": np.full((1, 8), 0.5, np.float32)})
    (made / "study.toml").write_text('models = ["kws.onnx"]\ntargets = ["generic"]\n', encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def said(command: Command, words: str, code: int = 0) -> str:
    ran = command(*shlex.split(words))
    assert ran.code == code, f"{words}: {ran.out}{ran.err}"
    return ran.out + ran.err


def found(command: Command, words: str) -> dict[str, Any]:
    return command(*shlex.split(words), "--json").json


def test_scales_stand_wherever_one_looks(command: Command) -> None:
    (given,) = found(command, "analyze camera.tflite")["inputs"]
    formula = re.search(r"^ input +\S+: (real = .*?) *$", said(command, "analyze camera.tflite"), re.M)
    assert formula is not None
    assert f"(integer {'-' if given['zero_point'] > 0 else '+'} {abs(given['zero_point'])})" in formula[1]
    assert found(command, "run camera.tflite")["interface"]["inputs"][0]["scale"] == given["scale"]
    said(command, "compile camera.tflite -o c")
    header = Path("c/network.h").read_text()
    assert formula[1] in header
    assert re.search(r"_SCALE .*f\n#define \w+_ZERO_POINT ", header)
    assert "int8_t camera_quantise_" in header
    assert "float camera_dequantise_" in header
    for kind in PROJECTS:
        said(command, f"export camera.tflite --as {kind} -o as_{kind}")
        headers = "".join(path.read_text() for path in Path(f"as_{kind}").rglob("*.h"))
        assert "camera_quantise_" in headers
        assert "_ZERO_POINT" in headers
    said(command, "report camera.tflite --target cortex-m4 -o page.html")
    assert formula[1].removeprefix("real = ") in Path("page.html").read_text()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("place", PLACES)
def test_a_figure_has_one_name_and_one_value(command: Command, file: str, place: str) -> None:
    analysed = found(command, f"analyze {file} {PLACES[place]}")
    ran = found(command, f"run {file} {PLACES[place]}")
    both = (analysed.keys() & ran.keys()) - {"schema", "status", "outputs", "inputs"}
    assert {"arena_bytes", "planned_ram_bytes", "constant_bytes", "io_bytes"} <= both
    assert {key: analysed[key] for key in both} == {key: ran[key] for key in both}
    assert not {"ram_bytes", "flash_bytes", "peak_ram_bytes"} & {*analysed, *ran}, "bytes of which kind?"


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("place", ["board", "cluster"])
def test_a_layer_has_one_number_and_one_name(command: Command, file: str, place: str) -> None:
    where = PLACES[place]
    layers = [
        (layer["number"], layer["short_name"])
        for layer in found(command, f"analyze {file} {where}")["layers"]
        if layer["number"] is not None
    ]
    assert [number for number, _ in layers] == list(range(len(layers)))
    profile = found(command, f"profile {file} {where}")
    assert [(layer["number"], layer["short_name"]) for layer in profile["layers"]] == layers
    for words in (f"analyze {file} {where} --explain", f"profile {file} {where}"):
        shown = dict(re.findall(r"^ *(\d+) +(\S+)", said(command, words), re.M))
        assert {number: shown.get(str(number)) for number, _ in layers} == dict(layers)
    said(command, f"compile {file} {where} -o of_{place}")
    comments = re.findall(r"/\* (\d+): (\S+) \(", Path(f"of_{place}/network.c").read_text())
    names = {int(number): name for number, name in comments}
    assert all(names[number].endswith(short) or short in names[number] for number, short in layers)


def test_integers_become_standard_onnx(command: Command) -> None:
    assert "steps apart" in said(command, "export camera.tflite -o camera.onnx")
    onnx.checker.check_model(onnx.load("camera.onnx"), full_check=True)
    assert "✓ agrees" in said(command, "run camera.onnx")


@pytest.mark.in_turns(3)
def test_times_are_as_people_write_them(command: Command) -> None:
    """A simulator that has to be built first is timed apart."""
    for place in PLACES.values():
        text = said(command, f"run kws.onnx {place}")
        assert not EXPONENT.search(text)
        assert "simulated in" in text or "one run" in text
        assert "built in" in text


def test_no_layer_computes_more_than_its_engine_can(command: Command) -> None:
    for layer in found(command, "profile kws.onnx --target siracusa")["layers"]:
        assert layer["macs_per_cycle"] is None or layer["macs_per_cycle"] <= 1296, layer


DIRECTIONS = {
    "run talker": 'tilewright generate talker "Once upon a time"',
    "generate kws.onnx Once": "tilewright run kws.onnx",
    "generate talker Once --quantise": "--quantise FILE.txt",
    "generate talker Once --target rv32": "use one of cpu, generic",
    "report study.toml": "tilewright explore study.toml",
    "explore kws.onnx": 'models = ["kws.onnx"]',
    "run study.toml": "tilewright explore study.toml",
    "run floats.npz": "--inputs floats.npz",
    "run camera.tfite": "do you mean camera.tflite?",
    "analyze kw.onnx": "do you mean kws.onnx?",
    "run kws.onnx --inputs float.npz": "do you mean floats.npz?",
    "analyze kws.onnx --target sircusa": "do you mean siracusa?",
    "analyze kws.onnx --board nrf52840": "do you mean nrf52840dk?",
    "analyze kws.onnx --target siracusa --l1 many": "for example 65536, 64k or 1M",
    "rum kws.onnx": "Did you mean 'run'?",
    "sim as_c": "cmake -S as_c -B build",
}


@pytest.mark.parametrize("words", DIRECTIONS)
def test_a_wrong_turn_leads_to_the_right_one(command: Command, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    Path("as_c").mkdir(exist_ok=True)
    assert DIRECTIONS[words] in said(command, words, 2)


def test_reals_are_not_cut_off_to_integers(command: Command) -> None:
    (name,) = (one["name"] for one in found(command, "analyze camera.tflite")["inputs"])
    shape = found(command, "analyze camera.tflite")["inputs"][0]["shape"]
    np.savez("reals.npz", **{name: np.full(shape, 0.3, np.float32)})
    assert "round(real / scale) + zero point" in said(command, "run camera.tflite --inputs reals.npz", 2)


def test_sizes_are_written_as_people_do(command: Command) -> None:
    made = [found(command, f"analyze float.onnx --target siracusa --l1 {size}") for size in ("65536", "64k", "64KiB")]
    assert made[0] == made[1] == made[2]
