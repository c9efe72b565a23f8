"""Loops and branches that data decides on: numpy, schedules and C agree with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser

import tilewright as tw
from tests.support import control_flow
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops import _control_flow
from tilewright.ops._control_flow import flows
from tilewright.planner.schedule.interpret import interpret

pytestmark = pytest.mark.in_turns(6)

MOST = 5


def wanted(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """ONNX Runtime's outputs."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, dict(feeds))]


def agree(found: Array, expected: Array) -> None:
    """Rows behind the last turn are 0."""
    if found.shape != expected.shape:
        assert not found[len(expected) :].any()
        found = found[: len(expected)]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def imported(model: onnx.ModelProto) -> Graph:
    return pipeline.import_model(model, max_trips=MOST)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("seed", range(12))
def test_references_and_schedules_of_random_networks(seed: int) -> None:
    model, feeds = control_flow.network(seed)
    graph = imported(model)
    assert list(flows(graph))
    expected = wanted(model, feeds)
    for target in ("generic", "cpu"):
        stages = dict(zip(pipeline.STAGES, pipeline.stages(graph, target), strict=True))
        for stage in ("graph", "quantised", "lowered", "fitted"):
            values = evaluate(stages[stage], feeds)
            for name, one in zip(stages[stage].outputs, expected, strict=True):
                agree(values[name], one)
        found = interpret(stages["schedule"], feeds)
        for name, one in zip(stages["schedule"].graph.outputs, expected, strict=True):
            agree(found[name], one)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("target", "seed"),
    [("generic", 3), ("cpu", 4), ("cortex-m4", 5), ("rv32", 6),
     *(pytest.param(target, seed, marks=pytest.mark.thorough) for target in ("generic", "cpu") for seed in range(8)),
     pytest.param("cortex-m7", 8, marks=pytest.mark.thorough), pytest.param("rv32", 9, marks=pytest.mark.thorough)],
)  # fmt: skip
def test_random_networks_in_c(target: str, seed: int) -> None:
    model, feeds = control_flow.network(seed)
    program = tw.compile(model, target=target, max_trips=MOST)
    for count in (0, int(feeds["n"]), MOST):
        given = {**feeds, "n": np.array(count)}
        found = program.run(given).outputs.values()
        for one, other in zip(found, wanted(model, given), strict=True):
            agree(one, other)


# ---- recurrent layers inside ----------------------------------------------------------------------------------------


def lstm_in_a_loop() -> tuple[onnx.ModelProto, dict[str, Array]]:
    random = np.random.default_rng(1)
    shapes = {"W": (1, 32, 6), "R": (1, 32, 8), "B": (1, 64)}
    weights = [numpy_helper.from_array(random.normal(size=s).astype(np.float32) / 4, n) for n, s in shapes.items()]
    text = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[3, 1, 6] x, int64 n) => (float[1, 1, 8] y) <float[1, 1, 8] zero = {0, 0, 0, 0, 0, 0, 0, 0}> {
      y, c = Loop (n, , zero, zero) <
        body = b (int64 i, bool go, float[1, 1, 8] h, float[1, 1, 8] c) => (bool d, float[1, 1, 8] k, float[1, 1, 8] e)
        {
          all, k, e = LSTM <hidden_size = 8> (x, W, R, B, , h, c)
          d = Identity(go)
        }
      >
    }"""
    model = parser.parse_model(text)
    model.graph.initializer.extend(weights)
    return model, {"x": random.normal(size=(3, 1, 6)).astype(np.float32)}


@pytest.mark.parametrize("target", ["generic", "rv32"])
def test_a_recurrent_layer_in_a_loop_keeps_its_kernel(target: str) -> None:
    model, feeds = lstm_in_a_loop()
    program = tw.compile(model, target=target)
    assert any("lstm" in name for name in program.compiled.files)
    for count in (0, 1, 3):
        given = {**feeds, "n": np.array(count)}
        agree(program.run(given).outputs["y"], wanted(model, given)[0])


# ---- clusters -------------------------------------------------------------------------------------------------------


def test_clusters_have_loops_of_known_length_turn_by_turn() -> None:
    model, random = control_flow.known_length(), np.random.default_rng(3)
    feeds = {"h": random.normal(size=4).astype(np.float32), "x": random.normal(size=(90, 4)).astype(np.float32)}
    graph = imported(model)
    assert sorted(node.op.kind for node in graph.nodes if node.op.bodies) == ["If", "Loop"]
    reference = pipeline.stage(graph, "quad", "quantised")
    assert not list(flows(reference))
    values = evaluate(reference, feeds)
    for name, one in zip(reference.outputs, wanted(model, feeds), strict=True):
        agree(values[name], one)


def test_clusters_refuse_what_data_decides_and_name_others() -> None:
    model, _ = control_flow.network(3)
    with pytest.raises(CompileError, match="data decides how often it runs") as found:
        pipeline.stage(imported(model), "quad", "quantised")
    assert "targets with loops and branches: cortex-m0plus" in str(found.value)
    assert "rv32" in str(found.value)


# ---- what is written ------------------------------------------------------------------------------------------------


def test_constants_of_bodies_lie_with_the_weights_and_equal_ones_are_one(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.full((4, 4), 0.25, np.float32), "w")
    branches = {
        which: helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node(kind, ["a"], [which])], which, [],
            [helper.make_tensor_value_info(which, onnx.TensorProto.FLOAT, [4])],
        )
        for which, kind in (("then_branch", "Sin"), ("else_branch", "Cos"))
    }  # fmt: skip
    inputs = [helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
              helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])]  # fmt: skip
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])]
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], **branches)], "g", inputs, outputs, [weights])
    program = tw.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert program.compiled.schedule.constant_bytes == 64
    assert "if (*x0) {" in program.compiled.files["network.c"]
    for condition, function in ((True, np.sin), (False, np.cos)):
        found = program.run({"c": np.array(condition), "x": np.ones(4, np.float32)}).outputs["y"]
        np.testing.assert_allclose(found, function(np.ones(4, np.float32)), 1e-5)


def test_analysis_has_the_layers_of_bodies_and_says_how_often_they_run() -> None:
    model, _ = lstm_in_a_loop()
    found = tw.compile(model, target="rv32").analysis
    assert list(found.bodies) == ["y, body"]
    assert "LSTMCells" in {row.operator for row in found.bodies["y, body"]}
    assert "loop 'y' has no bound: one turn is what cycles and MACs count" in found.notes
    assert found.macs > 0


# ---- bounds ---------------------------------------------------------------------------------------------------------


def counted(condition: str = "d = Identity(c)") -> onnx.ModelProto:
    """A loop with a row for each turn, of which an input says how many there are."""
    return parser.parse_model(f"""
    <ir_version: 8, opset_import: ["": 17]>
    g (float[3] x, int64 n, bool go) => (float[3] y, float[rows, 3] stack) {{
      y, stack = Loop (n, go, x) <
        body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] s) {{
          w = Add(v, x)
          s = Sin(w)
          {condition}
        }}
      >
    }}""")


ENDING = "t = ReduceSum <keepdims = 0> (w) f = Constant <value = float {11.5}> () d = Less(t, f)"


@pytest.mark.parametrize("target", ["generic", "rv32"])
@pytest.mark.parametrize("condition", ["d = Identity(c)", ENDING])
def test_more_turns_than_were_said_are_an_error(target: str, condition: str) -> None:
    program, x = tw.compile(counted(condition), target=target, max_trips=3), np.ones(3, np.float32)
    for count, go, fails in ((3, True, False), (4, True, condition != ENDING), (10**12, False, False)):
        feeds = {"x": x, "n": np.array(count), "go": np.array(go)}
        if fails:
            with pytest.raises(CompileError, match="needs more iterations for these inputs"):
                program.run(feeds)
            with pytest.raises(CompileError, match="needs more iterations for these inputs"):
                evaluate(program.compiled.graph, feeds)
        else:
            agree(program.run(feeds).outputs["stack"], wanted(counted(condition), feeds)[1])


def test_a_loaded_library_says_it_too() -> None:
    network = tw.compile(counted(), target="cpu", max_trips=3).load()
    network(np.ones(3, np.float32), np.array(3), np.array(True))
    with pytest.raises(CompileError, match="needs more iterations for these inputs"):
        network(np.ones(3, np.float32), np.array(4), np.array(True))


ENDLESS = """
<ir_version: 8, opset_import: ["": 17]>
g (float[3] x, bool go) => (float[3] y) {
  y = Loop (, go, x) <
    body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {
      w = Abs(v)
      t = ReduceSum <keepdims = 0> (w)
      f = Constant <value = float {0.5}> ()
      d = Greater(t, f)
    }
  >
}"""
"""Ends for small inputs only."""


def test_a_loop_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_control_flow, "LONGEST_UNBOUNDED", 50)
    graph = pipeline.import_model(parser.parse_model(ENDLESS))
    small, large = ({"x": np.full(3, value, np.float32), "go": np.array(True)} for value in (-0.1, 1.0))
    np.testing.assert_array_equal(evaluate(graph, small)["y"], -small["x"])
    with pytest.raises(CompileError, match="has not ended after 50 iterations in numpy"):
        evaluate(graph, large)
    bounded = tw.compile(parser.parse_model(ENDLESS), target="generic", max_trips=7)
    np.testing.assert_array_equal(bounded.run(small).outputs["y"], -small["x"])
    with pytest.raises(CompileError, match="needs more iterations for these inputs"):
        bounded.run(large)


# ---- quantised bodies -----------------------------------------------------------------------------------------------


def quantised() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A loop whose body has quantisers around its product: the product is one of integers."""
    text = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[8, 16] x, int64 n) => (float[8, 16] y)
    <float s = {0.02}, int8 z = {3}, float t = {0.01}, int8 zero = {0}> {
      y = Loop (n, , x) <
        body = b (int64 i, bool c, float[8, 16] v) => (bool d, float[8, 16] w) {
          q = QuantizeLinear(v, s, z)
          f = DequantizeLinear(q, s, z)
          weights = DequantizeLinear(W, t, zero)
          u = MatMul(f, weights)
          r = QuantizeLinear(u, s, z)
          w = DequantizeLinear(r, s, z)
          d = Identity(c)
        }
      >
    }"""
    model, random = parser.parse_model(text), np.random.default_rng(2)
    weights = random.integers(-40, 40, size=(16, 16)).astype(np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weights, "W"))
    return model, {"x": random.normal(size=(8, 16)).astype(np.float32), "n": np.array(4)}


@pytest.mark.parametrize("target", ["generic", "cortex-m4"])
def test_bodies_of_quantised_models_are_integers_and_held_to_their_definition(target: str) -> None:
    model, feeds = quantised()
    program = tw.compile(model, target=target)
    assert {"int8"} < {row.dtype for row in program.analysis.bodies["y, body"]}
    found = program.check(feeds)
    assert found.agrees
    assert found.imported is not None
    assert [one.tensor for one in found.imported.held] == ["y/turn/r"]
    assert np.abs(program.run(feeds).outputs["y"] - wanted(model, feeds)[0]).max() <= 0.0201
