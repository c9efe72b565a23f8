"""Recurrent layers: in integers with tables where C is made of them, in floats where a file is to be written."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from tests.quantiser.networks import rows
from tilewright import pipeline
from tilewright.program import compile_model
from tilewright.quantiser.quantise import Options, quantise

STEPS, INPUTS, HIDDEN = 12, 6, 8
GATES = {"LSTM": 4, "GRU": 3}


def model(kind: str, direction: str = "forward") -> ModelProto:
    random, both = np.random.default_rng(0), 1 + (direction == "bidirectional")
    shapes = {
        "W": (GATES[kind] * HIDDEN, INPUTS),
        "R": (GATES[kind] * HIDDEN, HIDDEN),
        "B": (2 * GATES[kind] * HIDDEN,),
    }
    constants = {
        name: 0.4 * random.standard_normal((both, *shape)).astype(np.float32) for name, shape in shapes.items()
    }
    constants |= {"F": random.standard_normal((both * HIDDEN, 3)).astype(np.float32)}
    constants |= {"shape": np.array([1, both * HIDDEN], np.int64)}
    extra = {"linear_before_reset": 1} if kind == "GRU" else {}
    nodes = [
        helper.make_node(
            kind, ["x", "W", "R", "B"], ["y", "last"], hidden_size=HIDDEN, direction=direction, name="layer", **extra
        ),
        helper.make_node("Transpose", ["last"], ["rows"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["rows", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "F"], ["z"], name="classes"),
    ]
    x, z = (helper.make_tensor_value_info(*each) for each in (("x", 1, [STEPS, 1, INPUTS]), ("z", 1, [1, 3])))
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "recurrent", [x], [z], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_cells_are_integer_and_near_the_floats(kind: str, direction: str) -> None:
    found = quantise(pipeline.import_model(model(kind, direction)), rows(32, STEPS, 1, INPUTS), Options(processes=1))
    assert found.report.floats == ()
    assert found.report.snr_db > 28
    kinds = [node.op.kind for node in pipeline.stage(found.graph, "generic", "quantised").nodes]
    assert kinds.count(f"QLinear{kind}Cells") == 1 + (direction == "bidirectional")


@pytest.mark.in_turns(5)
def test_their_c_is_exact() -> None:
    program = compile_model(model("LSTM"), quantise=rows(32, STEPS, 1, INPUTS))
    assert program.quantisation is not None
    assert "dB at the output" in str(program.quantisation)
    assert program.check().agrees


@pytest.mark.in_turns(3)
def test_for_a_file_cells_stay_in_floats_and_are_named() -> None:
    options = Options(processes=1, integer_cells=False)
    found = quantise(pipeline.import_model(model("LSTM")), rows(32, STEPS, 1, INPUTS), options)
    assert [kept.operator for kept in found.report.floats] == ["LSTMCells"]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("value", "kept"), [(0.0, []), (0.5, ["LSTMCells"])])
def test_constant_states_to_begin_with_are_nothing_if_they_are_zero(value: float, kept: list[str]) -> None:
    made = model("LSTM")
    for name in ("h", "c"):
        state = np.full((1, 1, HIDDEN), value, np.float32)
        made.graph.initializer.append(numpy_helper.from_array(state, name))
    made.graph.node[0].input.extend(["", "h", "c"])
    found = quantise(pipeline.import_model(made), rows(32, STEPS, 1, INPUTS), Options(processes=1))
    assert [one.operator for one in found.report.floats] == kept
