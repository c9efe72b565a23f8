"""The microcontroller as a user meets it: runs, profiles, sizes of memories, instruction sets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright
from tests.planner.networks import NETWORKS
from tests.support.command import Command
from tests.support.models import residual
from tests.support.states import feeds_of, shift
from tests.targets.rv32.machine import run_on_board
from tilewright import pipeline, targets
from tilewright.errors import CompileError
from tilewright.ops.sigmoid import Sigmoid
from tilewright.pipeline import Compiled
from tilewright.program import Program, compile_model
from tilewright.run.steps import stacked
from tilewright.sim.simulator import Simulator
from tilewright.target.isa import check_isa, compiler_flag
from tilewright.target.settings import DEFAULT, Settings

SOME = ("odd_sizes", "nothing_in_it", "quantised_residual")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    onnx.save(residual(), tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def compiled(name: str, settings: Settings = DEFAULT) -> Program:
    return compile_model(NETWORKS[name](), target="rv32", settings=settings)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", SOME)
def test_networks_agree(name: str) -> None:
    assert compiled(name).check().first_difference is None


def test_a_run_counts_cycles_and_instructions(command: Command, small: Path) -> None:
    found = command("run", small, "--target", "rv32", "--clock", "50", "--json").json
    assert found["status"] == "agree"
    assert 0 < found["instructions"] < found["cycles"]
    assert found["milliseconds"] == pytest.approx(found["cycles"] / 50_000)
    shown = command("run", small, "--target", "rv32")
    assert f"{found['instructions']:,} instructions" in shown.out


def test_every_layer_is_compared(command: Command, small: Path) -> None:
    found = command("run", small, "--target", "rv32", "--per-layer", "--json").json
    assert [layer["mismatches"] for layer in found["layers"]] == [0] * len(found["layers"])
    assert len(found["layers"]) > 2


@pytest.mark.in_turns(3)
def test_a_profile_has_all_instructions(command: Command, small: Path, tmp_path: Path) -> None:
    ran = command("run", small, "--target", "rv32", "--json").json
    trace, picture = tmp_path / "trace.json", tmp_path / "map.svg"
    words = ("--target", "rv32", "--trace", trace, "--map", picture)
    found = command("profile", small, *words, "--json").json
    assert found["instructions"] == ran["instructions"]
    # All but what the network's own function has before its first call and behind its last.
    assert 0 <= found["instructions"] - sum(layer["instructions"] for layer in found["layers"]) <= 2
    assert {one["memory"] for one in found["memory"]} == {"RAM", "flash"}
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {f"{layer['number']} {layer['name']}" for layer in found["layers"]} <= names
    assert picture.read_text().startswith("<svg")
    assert "instructions" in command("profile", small, "--target", "rv32").out


def test_its_program_runs_by_itself(command: Command, small: Path, tmp_path: Path) -> None:
    cycles = command("run", small, "--target", "rv32", "--elf", tmp_path / "small.elf", "--json").json["cycles"]
    assert f"cycles {cycles}\n" in command("sim", tmp_path / "small.elf", "--platform", "rv32").out


def test_an_analysis_predicts_cycles_and_says_what_fits(command: Command, small: Path) -> None:
    found = command("analyze", small, "--target", "rv32", "--json").json
    assert found["predicted_cycles"] > 0
    assert 0 < found["memories"]["RAM"]["reserved_bytes"] <= found["memories"]["RAM"]["size_bytes"] == 512 * 1024
    assert "cycles predicted" in command("analyze", small, "--target", "rv32").out
    assert "cpu.conv_f32" in command("analyze", small, "--target", "rv32", "--explain").out
    note = command("analyze", small, "--target", "rv32", "--isa", "rv32imac", "--json").json["notes"]
    assert "cycles are predicted as of rv32imc: rv32imac takes others" in note


def test_a_folder_of_c(command: Command, small: Path, tmp_path: Path) -> None:
    command("compile", small, "--target", "rv32", "-o", tmp_path / "c")
    names = {path.relative_to(tmp_path / "c").as_posix() for path in (tmp_path / "c").rglob("*")}
    assert {"network.c", "CMakeLists.txt", "runtime/crt0.S", "runtime/link.ld", "runtime/memories.ld"} <= names
    assert not [name for name in names if "dma" in name or "pipeline" in name]


def test_what_does_not_fit_is_refused_with_its_bytes() -> None:
    with pytest.raises(CompileError) as caught:
        compiled("residual", Settings(memories=(("ram", 9500),)))
    assert "bytes are needed" in caught.value.what
    needed = int(caught.value.hint.rpartition("=")[2])
    assert f"{needed - 9500} are missing" in caught.value.what
    assert compiled("residual", Settings(memories=(("ram", needed),))).check().agrees
    with pytest.raises(CompileError, match=r"flash of 1000 bytes: \d+ bytes are needed \(\d+ for constants, "):
        compiled("residual", Settings(memories=(("flash", 1000),)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(memories=(("l1", 9),)), "--memory l1=9: is not a memory of rv32"),
        (Settings(memories=(("ram", 0),)), "--memory ram=0: rv32 may have 1 to"),
        (Settings(cores=2), "--cores 2: target rv32 has no cluster whose cores, tiles or buffering could be set"),
        (Settings(isa="rv32imv"), "--isa rv32imv: 'v' is not known; known after rv32i: m, a, f, c; then _zba"),
        (Settings(isa="rv64imc"), "--isa rv64imc: does not begin with rv32i"),
        (Settings(isa="rv32imcf"), "its letters are not in their order"),
        (Settings(isa="rv32imc_zbb_zba"), "write rv32imc_zba_zbb"),
        (Settings(clock_mhz=0.0), "--clock 0: is not a number of MHz above 0"),
    ],
)
def test_what_it_does_not_have(settings: Settings, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiled("residual", settings)
    assert message in str(caught.value)


def test_only_a_board_has_an_instruction_set() -> None:
    with pytest.raises(CompileError, match="--isa rv32imc: target generic does not have this option"):
        tilewright.compile(residual(), target="generic", settings=Settings(isa="rv32imc"))


def test_names_of_instruction_sets() -> None:
    assert [check_isa(name) for name in ("rv32i", "rv32imc", "rv32imafc")] == ["rv32i", "rv32imc", "rv32imafc"]
    assert compiler_flag("rv32imafc") == "-mcpu=generic_rv32+m+c+f+a"


@pytest.mark.in_turns(3)
def test_floats_in_hardware_take_less(tmp_path: Path) -> None:
    """The same flags as another target's, so that the compiler's library is there already."""
    case = (Sigmoid(), [np.linspace(-4, 4, 64, dtype=np.float32)])
    (_, soft), (_, hard) = (
        run_on_board([case], Settings(isa=isa), tolerance=1e-5) for isa in ("rv32imc", "rv32imfc")
    )  # fmt: skip
    assert 2 * hard.instructions < soft.instructions


@pytest.mark.in_turns(3)
def test_states_live_from_call_to_call() -> None:
    graph = shift()
    program = Program(Compiled(*pipeline.stages(graph, "rv32")), "", None, 0.0)
    assert program.check(stacked(feeds_of(graph, 4))).agrees


def test_a_run_breaks_no_rule() -> None:
    """No read of what nobody wrote, no write to code or constants."""
    program = compiled("odd_sizes")
    with Simulator(targets.find("rv32").platform) as simulator:
        simulator.check(unwritten=True, protected=True)
        simulator.load(program.build_soc().build(program.random_inputs()))
        assert simulator.run(100_000_000).stdout.startswith("cycles ")
