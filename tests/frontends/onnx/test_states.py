"""States of ONNX models: named by the user, or noted in the model's metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import tilewright as tw
from tests.support.command import Command
from tilewright.frontends.onnx.states import declare
from tilewright.ir.types import Array

TEXT = """
<ir_version: 8, opset_import: ["": 17]>
g (float[2] x, float[2] h) => (float[2] y, float[2] hn) {
  half = Constant <value = float {0.5}> ()
  kept = Mul(h, half)
  hn = Add(kept, x)
  y = Neg(hn)
}"""

STEPS = np.arange(8, dtype=np.float32).reshape(4, 2)


def smoothed(first: float) -> Array:
    state, results = np.full(2, first, np.float32), []
    for x in STEPS:
        state = state * np.float32(0.5) + x
        results.append(-state)
    return np.stack(results)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["generic", "quad"])
def test_an_input_that_is_an_output_of_the_call_before(target: str) -> None:
    program = tw.compile(parser.parse_model(TEXT), target=target, states={"h": "hn"})
    assert program.graph.inputs == ("x",)
    assert program.graph.output_names == ("y",)
    np.testing.assert_array_equal(program.run_steps({"x": STEPS})["y"], smoothed(0))


def test_a_default_is_the_first_value_and_metadata_names_states() -> None:
    model = parser.parse_model(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(np.full(2, 4, np.float32), "h"))
    declare(model, {"h": "hn"})
    np.testing.assert_array_equal(tw.compile(model).run_steps([STEPS])["y"], smoothed(4))
    assert [tensor.name for tensor in model.graph.initializer] == ["h"], "the caller's model is left as it is"


def test_one_state_may_become_an_input_and_another_itself() -> None:
    text = "g (float[2] x, float[2] a, float[2] b) => (float[2] y, float[2] an, float[2] bn)"
    body = "{ y = Add(a, b) an = Identity(x) bn = Identity(b) }"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text} {body}')
    found = tw.compile(model, states={"a": "an", "b": "bn"}).run_steps({"x": STEPS})
    np.testing.assert_array_equal(found["y"], np.concatenate([np.zeros((1, 2)), STEPS[:-1]]))


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ({"z": "hn"}, "--state z=hn: the model has no input 'z'"),
        ({"h": "z"}, "--state h=z: the model has no output 'z'"),
        ({"h": "y", "x": "hn"}, "no result is left"),
    ],
)
def test_refused_states(states: dict[str, str], says: str) -> None:
    with pytest.raises(tw.CompileError, match=says):
        tw.compile(parser.parse_model(TEXT), states=states)


def test_states_have_one_shape_and_are_not_bound() -> None:
    model = parser.parse_model(TEXT.replace("float[2] h)", "float[1] h)"))
    with pytest.raises(tw.CompileError, match=r"state 'h': is f32\[1\] when a call begins, but 'hn' is f32\[2\]"):
        tw.compile(model, states={"h": "hn"})
    with pytest.raises(tw.CompileError, match="is bound to a value too"):
        tw.compile(parser.parse_model(TEXT), states={"h": "hn"}, bind={"h": 1.0})


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = Command(capsys)
    onnx.save(parser.parse_model(TEXT), tmp_path / "net.onnx")
    np.savez(tmp_path / "in.npz", x=STEPS)
    np.savez(tmp_path / "out.npz", y=smoothed(0))
    files = ["--inputs", tmp_path / "in.npz", "--expect", tmp_path / "out.npz"]
    done = command("run", tmp_path / "net.onnx", "--state", "h=hn", *files)
    assert (done.code, "4 steps" in done.out) == (0, True), done.out + done.err
    wrong = command("run", tmp_path / "net.onnx", "--state", "h")
    assert "for example --state h=output" in wrong.err
