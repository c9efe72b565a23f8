"""What a user may mistype or misunderstand: each command is refused with the text that `refused_commands.txt` has.
`TILEWRIGHT_UPDATE_GOLDEN=1` writes the texts anew."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.command import Command
from tests.support.models import small

FILE = Path(__file__).with_name("refused_commands.txt")
ROOT = Path(__file__).parents[2]
REFUSED = 2
PROMPT = "$ tilewright "
BLOCKS = re.findall(r"^\$ tilewright (.*)\n((?:[^$\n].*\n)+)", FILE.read_text(encoding="utf-8"), re.M)
COLUMNS = "400"
PROGRESS = "tilewright: "


def _linear() -> onnx.ModelProto:
    """x f32[1x8] times a matrix."""
    weights = numpy_helper.from_array(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")
    ends = [helper.make_tensor_value_info(*one) for one in (("x", TensorProto.FLOAT, (1, 8)), ("y", 1, (1, 4)))]
    graph = helper.make_graph([node], "linear", ends[:1], ends[1:], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _sum() -> onnx.ModelProto:
    """Two tensors of bytes."""
    shape = (2, 8)
    ends = [helper.make_tensor_value_info(name, TensorProto.INT8, shape) for name in "aby"]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"], name="sum")], "sum", ends[:2], ends[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 31) + 1)


def _folder(path: Path) -> None:
    path.mkdir()


FLOATS, BYTES = np.ones((5, 1, 8), np.float32), np.zeros((3, 2, 8), np.int8)
FILES: dict[str, Callable[[Path], object]] = {
    "float.onnx": lambda path: onnx.save(_linear(), path),
    "add.onnx": lambda path: onnx.save(_sum(), path),
    "int8.onnx": lambda path: onnx.save(small(), path),
    "empty.onnx": lambda path: path.write_bytes(b""),
    "model.tflite": lambda path: path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(24)),
    "program.elf": lambda path: path.write_bytes(b"\x7fELF" + bytes(60)),
    "stream.bin": lambda path: path.write_bytes(bytes(64)),
    "words.npy": lambda path: np.save(path, np.array(["a"] * 8)),
    "three.npy": lambda path: np.save(path, np.zeros(3, np.float32)),
    "large.npy": _sparse,
    "x.npz": lambda path: np.savez(path, x=FLOATS),
    "words.npz": lambda path: np.savez(path, x=np.array(["a"] * 5)),
    "none.npz": lambda path: np.savez(path),
    "other_shape.npz": lambda path: np.savez(path, x=np.zeros((5, 3, 3), np.float32)),
    "ab.npz": lambda path: np.savez(path, a=BYTES, b=BYTES),
    "uneven.npz": lambda path: np.savez(path, a=BYTES, b=BYTES[:2]),
    "large.npz": lambda path: np.savez(path, a=np.full(BYTES.shape, 1000), b=BYTES),
    "labels.npy": lambda path: np.save(path, np.zeros(5, np.int64)),
    "halves.npy": lambda path: np.save(path, np.zeros((5, 2))),
    "metric.py": lambda path: path.write_text("def accuracy(outputs):\n    return 1\n", encoding="utf-8"),
    "study.toml": lambda path: path.write_text('models = ["float.onnx"]\ntargets = ["generic"]\n', encoding="utf-8"),
    "object.json": lambda path: path.write_text("{}", encoding="utf-8"),
    "number_as_pattern.json": lambda path: path.write_text(json.dumps({"type": "string", "pattern": 3})),
    "number_as_items.json": lambda path: path.write_text(json.dumps({"type": "array", "prefixItems": 3})),
    "itself.json": lambda path: path.write_text(json.dumps({"$ref": "#"})),
    "folder": _folder,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refused")
    for name, make in FILES.items():
        make(made / name)
    (made / "examples").symlink_to(ROOT / "examples")
    return made


@pytest.fixture
def said(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", COLUMNS)

    def run(words: str) -> str:
        ran = command(*shlex.split(words))
        assert ran.code == REFUSED, ran
        # Whoever is first is told that a simulator is being built.
        return "".join(f"{line.rstrip()}\n" for line in ran.err.splitlines() if not line.startswith(PROGRESS))

    return run


@pytest.mark.parametrize(("words", "wanted"), BLOCKS, ids=[words for words, _ in BLOCKS])
def test_a_command_is_refused_with_what_to_do(words: str, wanted: str, said: Callable[[str], str]) -> None:
    found = said(words)
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        text = FILE.read_text(encoding="utf-8")
        FILE.write_text(text.replace(f"{PROMPT}{words}\n{wanted}", f"{PROMPT}{words}\n{found}"), encoding="utf-8")
        return
    assert found == wanted


@pytest.mark.fast
def test_each_command_is_there_once_and_has_a_hint() -> None:
    words = [words for words, _ in BLOCKS]
    assert len(set(words)) == len(words) == FILE.read_text(encoding="utf-8").count(PROMPT)
    assert not [words for words, text in BLOCKS if "hint" not in text]
