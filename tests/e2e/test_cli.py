"""The command line: what it prints, as text and as JSON, and its exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node, small

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
Y = np.maximum(X + np.asarray([1, -2, 3], np.float32), 0) + X


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.onnx"
    onnx.save(small(), path)
    np.savez(tmp_path / "in.npz", x=X)
    np.savez(tmp_path / "out.npz", y=Y)
    return path


def test_run_agrees_with_the_reference(command: Command, network: Path) -> None:
    ran = command("run", network)
    assert ran.code == 0
    assert "✓ agrees with the reference" in ran.out
    assert "cpu.relu" in ran.out


def test_run_compares_with_a_file(command: Command, network: Path, tmp_path: Path) -> None:
    ran = command("run", network, "--inputs", tmp_path / "in.npz", "--expect", tmp_path / "out.npz")
    assert ran.code == 0
    assert "out.npz" in ran.out


def test_run_that_disagrees_ends_with_one(command: Command, network: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "wrong.npz", y=Y + 1)
    words = ["run", network, "--inputs", tmp_path / "in.npz", "--expect", tmp_path / "wrong.npz"]
    ran = command(*words)
    assert ran.code == 1
    assert "✗ disagrees" in ran.out
    found = command(*words, "--json")
    assert found.code == 1
    assert found.json["status"] == "disagree"
    assert found.json["first_difference"] == "y"


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(("options", "shift", "code"), [([], 1, 1), (["--json"], 0, 0)])
def test_a_reader_that_has_gone_does_not_change_the_exit_code(
    network: Path, tmp_path: Path, options: list[str], shift: int, code: int
) -> None:
    np.savez(tmp_path / "expected.npz", y=Y + shift)
    words = ["run", network, "--inputs", tmp_path / "in.npz", "--expect", tmp_path / "expected.npz", *options]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "tilewright", *words], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (code, b"")


def test_tolerance_is_relative_to_the_scale(command: Command, network: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "near.npz", y=Y + 0.01)
    words = ["run", network, "--inputs", tmp_path / "in.npz", "--expect", tmp_path / "near.npz"]
    assert command(*words).code == 1
    assert command(*words, "--tolerance", "0.01").code == 0


def test_run_json_has_what_a_script_needs(command: Command, network: Path) -> None:
    found = command("run", network, "--json").json
    assert found["status"] == "agree"
    assert found["outputs"][0].items() >= {"name": "y", "elements": 6, "mismatches": 0, "max_abs_error": 0.0}.items()
    assert found["planned_ram_bytes"] >= 48
    assert found["constant_bytes"] == 12
    assert found["compile_seconds"] > 0
    assert "cycles" not in found


def test_per_layer_names_every_tensor(command: Command, network: Path) -> None:
    ran = command("run", network, "--per-layer", "--repeat", "2")
    assert ran.code == 0
    assert "every layer against the reference" in ran.out
    found = command("run", network, "--per-layer", "--json").json
    assert [layer["name"] for layer in found["layers"]] == ["a", "b", "y"]


def test_analyze_shows_costs(command: Command, network: Path) -> None:
    ran = command("analyze", network)
    assert ran.code == 0
    for text in ("network on generic", "3 layers, 0 MACs, 3 parameters", "12 B of constants", "lower bound"):
        assert text in ran.out
    found = command("analyze", network, "--json").json
    assert [layer["operator"] for layer in found["layers"]] == ["Add", "Relu", "Add"]
    assert found["inputs"] == [{"name": "x", "dtype": "float32", "shape": [2, 3]}]


def test_analyze_names_every_unsupported_node_at_once(command: Command, tmp_path: Path) -> None:
    nodes = [node("Foo", "x", "a"), node("Relu", "a", "b"), node("Bar", "b", "c"), node("Loop", "x", "d")]
    onnx.save(model([*nodes, node("Sum", "c d", "y")], {"x": (3,)}, ["y"]), tmp_path / "bad.onnx")
    ran = command("analyze", tmp_path / "bad.onnx")
    assert ran.code == 2
    assert ran.out == ""
    for text in ("3 problems", "node 'a' (Foo)", "node 'c' (Bar)", "node 'd' (Loop)", "`tilewright ops` lists"):
        assert text in ran.err
    found = command("analyze", tmp_path / "bad.onnx", "--json").json
    assert found["status"] == "error"
    assert len(found["errors"]) == 3


def test_compile_writes_a_folder(command: Command, network: Path, tmp_path: Path) -> None:
    ran = command("compile", network, "-o", tmp_path / "c", "--name", "tiny")
    assert ran.code == 0
    assert str(tmp_path / "c") in ran.out
    assert "int tiny_run(" in (tmp_path / "c" / "network.h").read_text()
    found = command("compile", network, "-o", tmp_path / "c", "--json").json
    assert found["status"] == "ok"
    assert "network.c" in found["files"]


@pytest.mark.fast
def test_compile_without_output_uses_the_models_name(
    command: Command, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("compile", network).code == 0
    assert (tmp_path / "network_c" / "network.h").is_file()


STAGE_TEXTS = {
    "graph": "input  %x: f32[2x3]",
    "lowered": "output %y: f32[2x3]",
    "fitted": "output %y: f32[2x3]",
    "mapped": "cpu: relu",
    "tiled": "arena",
    "schedule": "cpu.relu layer",
    "c": "int network_run(",
}


@pytest.mark.fast
@pytest.mark.parametrize(("verb", "stage"), list(product(["analyze", "compile", "run"], STAGE_TEXTS)))
def test_emit_prints_a_stage_and_stops(command: Command, network: Path, verb: str, stage: str) -> None:
    ran = command(verb, network, "--emit", stage)
    assert ran.code == 0
    assert STAGE_TEXTS[stage] in ran.out
    assert command(verb, network, "--emit", stage, "--json").json["stage"] == stage


@pytest.mark.fast
@pytest.mark.parametrize("stage", ["graph", "quantised", "lowered", "fitted", "mapped", "tiled", "schedule"])
def test_onnx_of_a_stage_has_all_types(command: Command, network: Path, tmp_path: Path, stage: str) -> None:
    path = tmp_path / "stage.onnx"
    assert command("analyze", network, "--onnx", path, "--stage", stage).code == 0
    found = onnx.load(path)
    onnx.checker.check_model(found)
    assert [n.op_type for n in found.graph.node] == ["Add", "Relu", "Add"]
    assert {value.name for value in found.graph.value_info} == {"a", "b"}
    decided = {"mapped": "cpu.relu", "tiled": "output", "schedule": "cpu.relu -> output"}
    assert found.graph.node[1].doc_string == decided.get(stage, "")


@pytest.mark.fast
def test_onnx_of_fused_nodes_is_valid(command: Command, tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "a"), node("Add", "a b", "y")]
    weights = {"w": np.ones((3, 4), np.float32), "b": np.ones(4, np.float32)}
    onnx.save(model(nodes, {"x": (2, 3)}, ["y"], weights), tmp_path / "net.onnx")
    assert command("analyze", tmp_path / "net.onnx", "--onnx", tmp_path / "low.onnx", "--stage", "lowered").code == 0
    found = onnx.load(tmp_path / "low.onnx")
    onnx.checker.check_model(found)
    assert [(n.op_type, n.domain, len(n.input)) for n in found.graph.node] == [("MatMul", "tilewright", 3)]


@pytest.mark.fast
def test_the_version(command: Command) -> None:
    first, second = command("--version").out.splitlines()
    assert first == f"tilewright {tw.__version__}"
    assert second.startswith("C compiler: ")


def test_ops_and_targets(command: Command) -> None:
    assert "Conv" in command("ops").out
    assert "generic" in command("targets").out
    found = command("ops", "--json").json["operators"]
    dtypes = {entry["name"]: entry["dtypes"] for entry in found}
    assert dtypes["Relu"][0] == dtypes["Conv"][0] == "float32"
    assert "int8" in dtypes["Conv"]
    assert dtypes["Softmax"] == ["float32"]
    assert dtypes["Gemm"] == []  # rewritten
    assert {"generic", "rv32"} <= {entry["name"] for entry in command("targets", "--json").json["targets"]}


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "where", "what", "hint"),
    [
        (["--dim", "N"], "--dim N", "is not NAME=VALUE", "--dim N=1"),
        (["--dtype", "x"], "--dtype x", "is not NAME=VALUE", "--dtype input=int8"),
        (["--dim", "N=x"], "--dim N=x", "the size is not a whole number", "--dim N=1"),
        (["--dim", "N=2"], "--dim N=2", "the model has no dimension 'N'", "all its sizes are fixed"),
        (["--dtype", "z=int8"], "--dtype z=int8", "the model has no input 'z'", "inputs: 'x'"),
        (["--dtype", "x=int3"], "--dtype x=int3", "unknown element type 'int3'", "float32, int8"),
        (["--target", "moon"], "target 'moon'", "is unknown", "siracusa, snitch"),
        (["--emit", "nothing"], "--emit nothing", "there is no such stage", "stages: graph, quantised, lowered, fit"),
        (["--onnx", "x.onnx", "--stage", "z"], "--stage z", "there is no such stage", "graph, quantised, lowered, fit"),
        (["--nonsense"], "command line", "No such option: --nonsense", "tilewright compile --help"),
    ],
)
def test_wrong_options(command: Command, network: Path, words: list[str], where: str, what: str, hint: str) -> None:
    ran = command("compile", network, *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"✗ where {where}" in ran.err
    assert f"│ what  {what}" in ran.err
    assert hint in ran.err
    error = command("compile", network, *words, "--json").json["error"]
    assert error["where"] == where
    assert what in error["what"]
    assert hint in error["hint"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_layers_keep_their_names_in_any_terminal(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    nodes = [node("Relu", "x", "encoder_layer_one"), node("DepthToSpace", "encoder_layer_one", "y", blocksize=2)]
    onnx.save(model(nodes, {"x": (1, 64, 25, 25)}, ["y"]), tmp_path / "net.onnx")
    ran = command("run", tmp_path / "net.onnx", "--per-layer")
    lines = ran.out.splitlines()
    assert sum("encoder_layer_one" in line for line in lines) == 2
    assert any("agrees" in line and "y" in line for line in lines)
    assert ("arena+0" in ran.out) == (width == 120)


@pytest.mark.parametrize("tolerance", ["inf", "1e400"])
def test_a_tolerance_that_allows_anything(command: Command, network: Path, tolerance: str) -> None:
    ran = command("run", network, "--tolerance", tolerance, "--json")
    assert ran.code == 2
    assert ran.json["error"]["where"] == "tolerance inf"


@pytest.mark.in_turns(3)
def test_output_that_cannot_be_shown_is_replaced(network: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", str(network)], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"? agrees with the reference" in done.stdout


@pytest.mark.fast
def test_a_missing_argument_is_a_usage_error(command: Command) -> None:
    ran = command("run")
    assert ran.code == 2
    assert "Missing argument" in ran.err


def test_code_in_l1_is_asked_for_and_called_unconfirmed(command: Command, network: Path) -> None:
    for name in ("analyze", "compile", "run", "profile"):
        assert "Unconfirmed" in command(name, "--help").out
    plain, near = (
        command("run", network, "--target", "siracusa", "--json", *words).json["cycles"]
        for words in ([], ["--code-in-l1"])
    )
    assert near < plain


def test_without_a_command_there_is_help(command: Command) -> None:
    ran = command()
    assert ran.code == 2
    assert "analyze" in ran.out + ran.err
    assert command("--help").code == 0


@pytest.mark.fast
def test_an_interruption_is_quiet(command: Command, network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.pipeline.import_model", interrupt)
    ran = command("analyze", network)
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "")


@pytest.mark.in_turns(5)
def test_completion_knows_the_stages() -> None:
    words = {"_TILEWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": "tilewright run m.onnx --emit ", "COMP_CWORD": "4"}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright"], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["graph", "quantised", "lowered", "fitted", "mapped", "tiled", "schedule", "c"]
