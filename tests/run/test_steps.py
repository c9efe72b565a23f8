"""Calls in order: the state lives from one to the next, in the C on this machine and on the virtual SoCs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.support.models import residual
from tests.support.states import NETWORKS, accumulator, calls, cell, feeds_of, random_network, shift, window
from tilewright import pipeline
from tilewright.cli.main import main
from tilewright.codegen import folder
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.errors import CompileError
from tilewright.frontends.onnx.writer import to_onnx
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.pipeline import Compiled
from tilewright.profiling.memory_map import memory_maps
from tilewright.program import Program, compile_model
from tilewright.report.console import console
from tilewright.report.memory_map import print_maps
from tilewright.report.tables import print_check, print_totals
from tilewright.run.host import HostNetwork, HostPrograms
from tilewright.run.steps import stacked
from tilewright.target.settings import DEFAULT, Settings
from tilewright.toolchain.compiler import BARE, STRICT, build_program, find_compiler

pytestmark = pytest.mark.in_turns(8)

STEPS = 5


def program_of(graph: Graph, target: str = "generic") -> Program:
    settings = DEFAULT if target == "generic" else Settings(time_limit=1.0)
    return Program(Compiled(*pipeline.stages(graph, target, settings=settings)), "", None, 0.0)


def inputs_of(graph: Graph, steps: int = STEPS) -> dict[str, Array]:
    return stacked(feeds_of(graph, steps))


def close(found: Array, wanted: Array) -> None:
    if wanted.dtype == np.float32:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, wanted)


def test_the_c_keeps_states_on_this_machine() -> None:
    graphs = [*(make() for make in NETWORKS.values()), *map(random_network, range(25))]
    networks = []
    for graph in graphs:
        made = pipeline.compile_graph(graph, "generic")
        networks.append(HostNetwork(made.schedule, made.files, Writer(made.schedule, symbol_prefix(graph.name))))
    programs = HostPrograms(networks)
    for number, graph in enumerate(graphs):
        feeds, made = feeds_of(graph, STEPS), networks[number].schedule.graph
        for repeats in (1, 3):  # each begins with a reset
            for found, wanted in zip(programs.run_steps(feeds, repeats, number), calls(graph, feeds), strict=True):
                for name, tensor in zip(made.output_names, made.outputs, strict=True):
                    close(found.outputs[tensor], wanted[name])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["siracusa", "quad"])
@pytest.mark.parametrize("name", NETWORKS)
def test_one_program_runs_all_steps_on_the_soc(name: str, target: str) -> None:
    graph = NETWORKS[name]()
    program = program_of(graph, target)
    result = program.run_steps(inputs_of(graph, 3))
    for output, wanted in stacked(calls(graph, feeds_of(graph, 3))).items():
        close(result.outputs[output], wanted)
    assert len(result.step_cycles) == 3
    assert result.cycles == result.step_cycles[-1]
    assert program.run(feeds_of(graph, 3)[0]).cycles == result.step_cycles[0]


@pytest.mark.parametrize("target", ["siracusa", "quad"])
@pytest.mark.parametrize("seed", [3, 8, 14])
def test_random_networks_on_the_soc(seed: int, target: str) -> None:
    graph = random_network(seed)
    outputs = program_of(graph, target).run_steps(inputs_of(graph, 3)).outputs
    for output, wanted in stacked(calls(graph, feeds_of(graph, 3))).items():
        close(outputs[output], wanted)


def test_onnx_shows_states_as_inputs_and_outputs() -> None:
    made = to_onnx(window()).graph
    assert [value.name for value in made.input] == ["x", "frames"]
    assert [value.name for value in made.output] == ["y", window().states[0].after]


def test_a_check_of_steps_says_where_it_differs() -> None:
    program, graph = program_of(accumulator()), accumulator()
    inputs = inputs_of(graph)
    assert program.check(inputs).agrees
    assert program.check(inputs).result.steps == STEPS
    wanted = stacked(calls(graph, feeds_of(graph, STEPS)))
    assert program.check(inputs, wanted).agrees
    assert program.check(inputs, wanted, steps=2).result.outputs["y"].shape == (2, 1, 12)
    wrong = wanted["y"].copy()
    wrong[3, 0, 5] += 1
    (found,) = program.check(inputs, {"y": wrong}).outputs
    assert (found.mismatches, found.remark) == (1, "differs, first in step 3 of 5")


def test_networks_without_state_make_independent_calls() -> None:
    program = compile_model(residual())
    one = program.random_inputs(1)
    inputs = {name: np.stack([program.random_inputs(0)[name], array, array]) for name, array in one.items()}
    outputs = program.run_steps(inputs).outputs
    for name, value in program.run(one).outputs.items():
        assert (outputs[name][1] == value).all()
        assert (outputs[name][2] == value).all()


def test_what_tables_and_maps_say_of_states(capsys: pytest.CaptureFixture[str]) -> None:
    program = program_of(cell(), "siracusa")
    check = program.check(steps=2)
    print_totals(console(), program.analysis)
    print_check(console(), check, "the reference")
    print_maps(console(), memory_maps(program.plan))
    text = capsys.readouterr().out
    assert "64 B of the arena for 2 states, kept between calls" in text
    assert "2 steps of" in text
    assert "k state" in text
    found = program.analysis.as_dict()
    assert found["state_bytes"] == 64
    assert [state["name"] for state in found["states"]] == ["h", "c"]
    assert check.as_dict()["steps"] == 2
    assert len(check.as_dict()["step_cycles"]) == 2


# ---- the generated files --------------------------------------------------------------------------------------------


def test_the_header_says_what_is_kept() -> None:
    files = program_of(shift()).files
    assert "#define SHIFT_STATE_BYTES 32" in files["network.h"]
    assert "int shift_reset(void *arena_memory);" in files["network.h"]
    assert "register: int8 [4 x 6]" in files["network.h"]
    assert "if (shift_reset(arena) != 0) return 1;" in files["main.c"]
    cluster = program_of(shift(), "siracusa").files
    assert "void shift_reset(void);" in cluster["network.h"]
    assert "shift_reset();" in cluster["runtime/program_call.h"]
    assert "_reset" not in compile_model(residual()).files["network.h"]


MAIN = """
#include <stdio.h>
#include "one/network.h"
#include "two/network.h"
static unsigned char one_memory[ONE_ARENA_BYTES + 64], two_memory[TWO_STATE_BYTES + ONE_ARENA_BYTES + TWO_ARENA_BYTES];
static unsigned char *aligned(unsigned char *at) {{
  while ((uintptr_t)at % ONE_ARENA_ALIGNMENT != 0) at++;
  return at;
}}
int main(void) {{
  unsigned char *one = aligned(one_memory), *two = aligned(two_memory);
  float x[12], y[12];
  int8_t a[6] = {{1, 2, 3, 4, 5, 6}}, b[24];
  for (int i = 0; i < 12; i++) x[i] = 1.0f;
  for (int round = 0; round < 2; round++) {{
    if (one_reset(one) || two_reset(two)) return 1;
    for (int step = 0; step < 3; step++) {{
      if (one_run(x, y, one) || two_run(a, b, two)) return 2;
      /* All of the arena but the state is anybody's between calls. */
      for (int i = ONE_STATE_BYTES; i < ONE_ARENA_BYTES; i++) one[i] = 0x77;
      for (int i = TWO_STATE_BYTES; i < TWO_ARENA_BYTES; i++) two[i] = 0x77;
      printf("%g %d %d\\n", (double)y[1], b[0], b[23]);
    }}
  }}
  return one_reset(one + 1) == 1 && two_reset(two + 1) == 1 ? 0 : 3;
}}
"""


def test_two_networks_keep_their_own_states(tmp_path: Path) -> None:
    """In one program, with everything but the states overwritten between calls; a reset begins anew."""
    for name, graph in (("one", accumulator()), ("two", shift())):
        made = pipeline.compile_graph(graph, "generic", name)
        folder.write(made.files, tmp_path / name)
    (tmp_path / "main.c").write_text(MAIN.format())
    sources = [path for path in tmp_path.rglob("*.c") if path.name != "main.c" or path.parent == tmp_path]
    flags = [*STRICT, "-O1", "-g0", "-I."]
    build_program(sources, flags, ["m"], tmp_path / "program", find_compiler(), ["-O1", BARE])
    printed = subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == ["2 -7 6", "3 -7 6", "4 -7 6"] * 2


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "steps", "what"), [
    ((5, 2, 8), None, "has shape 5x2x8, the model needs"),
    ((1, 1, 8), 4, "input 'x': has shape 1x1x8, the model needs 4x1x1x8: steps are the first axis"),
    ((3, 1, 1, 8), 4, "--steps 4: input 'x' has 3 steps along its first axis"),
    ((0, 1, 1, 8), 4, "has shape 0x1x1x8"),
])  # fmt: skip
def test_inputs_that_are_no_steps(shape: tuple[int, ...], steps: int | None, what: str) -> None:
    with pytest.raises(CompileError) as error:
        program_of(window()).check({"x": np.zeros(shape, np.float32)}, steps=steps)
    assert what in str(error.value)


def test_inputs_and_outputs_of_other_numbers_of_steps() -> None:
    program, inputs = program_of(window()), {"x": np.zeros((4, 1, 1, 8), np.float32)}
    with pytest.raises(CompileError, match="expected output 'y': has shape 3x1x5, but 4 steps are run"):
        program.check(inputs, {"y": np.zeros((3, 1, 5), np.float32)})
    with pytest.raises(CompileError, match="--per-layer: compares a single call"):
        program.check(inputs, per_layer=True)
    with pytest.raises(CompileError, match="one call, not of --steps"):
        program_of(window(), "siracusa").save_elf("program.elf", inputs)


def test_the_command_line_takes_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.onnx"
    save(residual(), model)
    program = compile_model(model)
    inputs = {name: np.stack([array] * 3) for name, array in program.random_inputs().items()}
    np.savez(tmp_path / "inputs.npz", **inputs)
    for words, steps in ((["--steps", "2"], 2), (["--inputs", str(tmp_path / "inputs.npz")], 3)):
        with pytest.raises(SystemExit) as exit:
            main(["run", str(model), "--json", *words])
        found = json.loads(capsys.readouterr().out)
        assert exit.value.code == 0
        assert found["status"] == "agree"
        assert found["steps"] == steps
