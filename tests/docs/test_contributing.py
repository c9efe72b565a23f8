"""The examples of CONTRIBUTING.md are complete: put into a copy of the package, they do what the page says, and they
touch no more files than it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPERATOR, KERNEL, BOARD, CLUSTER, ACCELERATOR = "12345"

MODEL = """
import numpy as np, onnx, sys, tilewright as tw
from onnx import TensorProto, helper

def model(kind, size, last="Relu", **attributes):
    nodes = [helper.make_node(kind, ["x"], ["a"], **attributes), helper.make_node(last, ["a"], ["y"])]
    sizes = {"x": size, "y": size if last == "Relu" else [1] * len(size)}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items())
    return helper.make_model(helper.make_graph(nodes, "small", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])

x = np.random.default_rng(0).normal(0, 9, (3, 50)).astype(np.float32)
"""


@dataclass(frozen=True)
class Block:
    """A file of an example, or lines to add to one."""

    language: str
    path: str
    text: str

    def write(self, root: Path) -> None:
        path = root / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.language != "diff":
            assert not path.exists(), f"{self.path} is there already"
        path.write_text(_with_new_lines(path.read_text(), self.text) if self.language == "diff" else self.text)

    @property
    def is_source(self) -> bool:
        return self.path.startswith("src/")


def _with_new_lines(text: str, diff: str) -> str:
    """The lines with `+` behind the line that they follow in the diff, which is there once."""
    before = ""
    for line in diff.splitlines(keepends=True):
        if line.startswith("+"):
            text = text.replace(before, before + line[1:])
        else:
            assert text.count(line[1:]) == 1, f"{line!r} is there {text.count(line[1:])} times"
        before = line[1:]
    return text


def example(number: str) -> list[Block]:
    parts = re.split(r"^### (\d)\. .*$", PAGE.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return [Block(*found) for found in BLOCK.findall(sections[number])]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and what its tests share, to be changed; with what Python has compiled of them, which is as old."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    for shared in (
        "__init__.py",
        "conftest.py",
        "turn.py",
        "support",
        "targets/__init__.py",
        "targets/generic/__init__.py",
    ):
        place = tmp_path / "tests" / shared
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / "tests" / shared).is_dir() else shutil.copy)(ROOT / "tests" / shared, place)
    shutil.copytree(ROOT / "tests" / "targets" / "pulp", tmp_path / "tests" / "targets" / "pulp")
    return tmp_path


def added(copy: Path, number: str) -> list[Block]:
    blocks = example(number)
    for block in blocks:
        block.write(copy)
    return blocks


def run(copy: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}", "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run([sys.executable, *words], cwd=copy, env=environment, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def script(copy: Path, text: str) -> str:
    return run(copy, "-c", MODEL + text)


def run_tests(copy: Path, blocks: list[Block]) -> None:
    paths = [block.path for block in blocks if block.path.startswith("tests/")]
    assert len(paths) == 1
    assert "passed" in run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths)


def folders(blocks: list[Block]) -> set[str]:
    """The folders of targets that an example is in."""
    return {"/".join(Path(block.path).parts[:4]) for block in blocks}


@pytest.mark.in_turns(8)
def test_an_operator_takes_four_files(copy: Path) -> None:
    blocks = added(copy, OPERATOR)
    assert len(blocks) <= 4
    code = [line for block in blocks if block.is_source for line in block.text.splitlines() if line.strip()]
    assert len(code) <= 25
    run_tests(copy, blocks)
    script(copy, """
program = tw.compile(model("Squareplus", (3, 50), alpha=2.0))
(found,) = program.run({"x": x}).outputs.values()
np.testing.assert_allclose(found, (x + np.sqrt(x.astype(float) ** 2 + 2)) / 2, rtol=1e-5, atol=1e-5)
""")  # fmt: skip


@pytest.mark.in_turns(8)
def test_a_fast_kernel_takes_four_files(copy: Path) -> None:
    blocks = added(copy, KERNEL)
    assert len(blocks) <= 4
    run_tests(copy, blocks)
    assert "cluster.sign_shared" in script(copy, """
print([layer.kernel for layer in tw.analyze(model("Sign", (3, 50)), target="siracusa").layers])
""")  # fmt: skip


@pytest.mark.in_turns(8)
def test_one_command_measures_a_kernel(copy: Path) -> None:
    """Its cycles and its stack: what is known of all others stays."""
    added(copy, KERNEL)
    (command,) = re.findall(r"^tilewright (calibrate .*)$", PAGE.read_text(), flags=re.MULTILINE)
    folder = copy / "src" / "tilewright" / "targets" / "siracusa"
    before = {name: json.loads((folder / name).read_text()) for name in ("costs.json", "stacks.json")}
    printed = run(copy, "-m", "tilewright", *command.split())
    after = {name: json.loads((folder / name).read_text()) for name in before}
    assert re.search(r"^sign_shared\.8: \d+ samples, median error [\d.]+%", printed, flags=re.MULTILINE)
    assert after["stacks.json"].pop("sign_shared") >= 0
    assert len(after["costs.json"]["kernels"].pop("sign_shared")) > 1
    assert after["costs.json"]["cold"].pop("sign_shared") > 0
    kernels = after["costs.json"]["kernels"]
    assert {kernels.pop(key) and key for key in list(kernels) if key.startswith("sign_shared.")}
    assert after == before


@pytest.mark.in_turns(6)
def test_a_board_is_one_file(copy: Path) -> None:
    (_,) = added(copy, BOARD)
    assert "needs 20416 bytes, 16384 available" in script(copy, """
program = tw.compile(model("Abs", (3, 50)), target="tinyboard")
(found,) = program.run({"x": x}).outputs.values()
np.testing.assert_array_equal(found, np.abs(x))
assert tw.analyze(model("Abs", (4096,), "ReduceMax"), target="tinyboard").arena_bytes == 16384
try:
    tw.analyze(model("Abs", (5104,), "ReduceMax"), target="tinyboard")
    sys.exit("what is too large was not refused")
except tw.CompileError as error:
    print(error)
""")  # fmt: skip


@pytest.mark.in_turns(8)
def test_a_cluster_is_one_folder(copy: Path) -> None:
    assert folders(added(copy, CLUSTER)) == {"src/tilewright/targets/duo"}
    assert "32768 bytes of TCDM" in script(copy, """
program = tw.compile(model("Exp", (300, 50)), target="duo")
big = np.resize(x / 9, (300, 50))
(found,) = program.run({"x": big}).outputs.values()
np.testing.assert_allclose(found, np.exp(big), rtol=1e-5)
print(program.plan)
from tilewright.cli.simulate import _platform
assert _platform("duo").memories[0].size == 32768, "tilewright sim --platform duo"
""")  # fmt: skip


@pytest.mark.in_turns(6)
def test_an_accelerator_is_one_folder(copy: Path) -> None:
    assert folders(added(copy, ACCELERATOR)) == {"src/tilewright/targets/reluboard"}
    kernels = script(copy, """
small = model("Neg", (3, 50))
(found,) = tw.compile(small, target="reluboard").run({"x": x}).outputs.values()
np.testing.assert_array_equal(found, np.maximum(-x, 0))
print([layer.kernel for layer in tw.analyze(small, target="reluboard").layers])
""")  # fmt: skip
    assert "cpu.neg" in kernels
    assert "unit.unit_relu" in kernels


NAMED = re.compile(r"`([\w./]+\.(?:py|c|h|md|S|ld))`")
PLACES = (
    "",
    "docs/",
    "src/tilewright/",
    *(f"src/tilewright/targets/{name}/" for name in ("siracusa", "pulp", "hwpe", "quad", "cluster", "bare", "rv32")),
)
SIMPLE = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/siracusa.md")
MADE = frozenset(
    {
        "network.c",
        "network.h",
        "network_data.c",
        "main.c",
        "runtime/limits.h",
        "runtime/memories.ld",
        "kernels/prefix.h",
    }
)
"""Files of the output."""


@pytest.mark.parametrize("page", SIMPLE)
def test_files_that_a_page_names_exist(page: str) -> None:
    named = set(NAMED.findall(BLOCK.sub("", (ROOT / page).read_text()))) - MADE
    named -= {block.path for number in "12345" for block in example(number)}
    assert named
    inside = {path.name for path in (ROOT / "src").rglob("*") if path.is_file()}
    missing = {
        name for name in named
        if not any((ROOT / place / name).is_file() for place in PLACES) and not ("/" not in name and name in inside)
    }  # fmt: skip
    assert not missing
