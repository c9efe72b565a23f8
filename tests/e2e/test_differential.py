"""Networks by chance; `python -m benchmarks.differential` draws more of them, on all targets."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.differential import families, judge, regression
from benchmarks.differential.batch import batches
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.drawing import draw
from benchmarks.differential.judge import RIGHT, WRONG, Place, verdicts
from benchmarks.differential.limited import Ended, limited
from benchmarks.differential.machines import machines
from benchmarks.differential.shrink import Small, smallest
from benchmarks.in_double import outputs_in_double
from onnx import numpy_helper, parser

from tilewright.target.settings import Settings

ROOM = 4_000


def test_some_of_every_family_are_right() -> None:
    cases = [draw(family, seed, ROOM)[0] for family in families.names() for seed in (1, 2)]
    found = verdicts(cases, Place("generic", is_watched=True))
    assert [verdict.reason for verdict in found if verdict.status == WRONG] == []
    assert sum(verdict.status == RIGHT for verdict in found) > 0.8 * len(cases)


@pytest.mark.parametrize("family", families.names())
def test_choices_can_be_made_again(family: str) -> None:
    case, made = draw(family, 3, ROOM)
    again = families.find(family)(Choices(given=made), ROOM)
    assert again.model == case.model
    assert all(np.array_equal(again.feeds[name], value) for name, value in case.feeds.items())


@pytest.mark.thorough
def test_the_smallest_network_with_an_operator_is_found() -> None:
    def has_softmax(case: Case) -> bool:
        return any(node.op_type == "Softmax" for node in case.proto.graph.node)

    seed = next(seed for seed in range(100) if has_softmax(draw("mixed", seed, ROOM)[0]))
    case, made = draw("mixed", seed, ROOM)
    small = smallest("mixed", ROOM, Small(case, tuple(made)), has_softmax, seconds=600)
    nodes = [node.op_type for node in small.case.proto.graph.node]
    assert "Softmax" in nodes
    assert len(nodes) <= 2 < len(case.proto.graph.node)


SUM = """<ir_version: 8, opset_import: ["": 17]>
g (float[3] x, float[3] z) => (float[3] y) { y = Add(x, z) }"""
TWO = np.array([1, 2, 3], np.float32)


def sum_that_should_be(expected: list[float]) -> Case:
    model = parser.parse_model(SUM).SerializeToString()
    return Case(model, {"x": TWO, "z": TWO}, {"y": np.array(expected, np.float32)}, {"y": 0.0})


@pytest.mark.in_turns(5)
def test_the_one_that_is_wrong_is_found_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = sum_that_should_be([2, 4, 6]), sum_that_should_be([2, 4, 7])
    (confirmed,) = verdicts([wrong], Place("generic"))
    assert confirmed.status == RIGHT  # ONNX's own evaluator says 6
    monkeypatch.setattr(judge, "outputs_in_double", lambda *given: None)
    found = verdicts([right, right, wrong, right], Place("generic"))
    assert [verdict.status for verdict in found] == [RIGHT, RIGHT, WRONG, RIGHT]
    assert found[2].reason == "y: 1 from the other runtime, 7e-06 allowed"


CLOSE = """<ir_version: 10, opset_import: ["": 21]>
g (float[1, 4, 8] x, float[4] s, float[4] b) => (float[1, 4, 8] y) {
  y = GroupNormalization <epsilon = 0.01, num_groups = 2> (x, s, b)
}"""


def test_where_another_runtime_is_off_the_model_in_double_decides() -> None:
    rng = np.random.default_rng(4)
    feeds = {"x": rng.normal(-3000, 1, (1, 4, 8)), "s": np.ones(4), "b": np.zeros(4)}
    single = {name: value.astype(np.float32) for name, value in feeds.items()}
    proto = parser.parse_model(CLOSE)
    exact = outputs_in_double(proto, single)
    assert exact is not None
    off = {"y": (exact["y"] * 1.01).astype(np.float32)}
    (found,) = verdicts([Case(proto.SerializeToString(), single, off)], Place("generic"))
    assert found.status == RIGHT
    assert not judge.Arbiter(Case(proto.SerializeToString(), single, off)).confirms("y", off["y"], 1e-3)


WRAPPED = """<ir_version: 10, opset_import: ["": 23]>
g (int64[1] x) => (int64[4] y) <int64[2] pads = {3, 0}> { y = Pad <mode = "wrap"> (x, pads) }"""


@pytest.mark.parametrize(("last", "is_wrong"), [(6, False), (7, True)])
def test_integers_of_another_runtime_are_decided_in_double_too(last: int, is_wrong: bool) -> None:
    """ONNX Runtime 1.30 reads beside a tensor that is shorter than what wraps around it."""
    case = Case(parser.parse_model(WRAPPED).SerializeToString(), {"x": np.array([6])}, {"y": np.array([2, 0, 6, 6])})
    graph = judge.pipeline.import_model(case.proto)
    assert bool(list(judge._beside_others(case, graph, {"y": np.array([6, 6, 6, last])}))) == is_wrong


def test_integers_that_a_double_cannot_tell_apart_are() -> None:
    large = np.array([2**62, 2**53], np.int64)
    assert judge._distance(large, large.copy()) == 0
    assert judge._distance(large, large + 1) == 1


CLIPPED = """<ir_version: 8, opset_import: ["": 13]>
g (float[1, 300] x) => (float[1, 1] y) <float low = {0}, float high = {0.5}> {
  a = MatMul (x, w)  y = Clip (a, low, high)
}"""


@pytest.mark.parametrize(("off", "is_wrong"), [(1e-4, False), (0.02, True)])
def test_what_a_clip_hides_is_rounded_all_the_same(off: float, is_wrong: bool) -> None:
    """A difference of large sums, of which numpy's happens to be exact."""
    x = np.full((1, 300), 8, np.float32)
    proto = parser.parse_model(CLIPPED)
    weights = np.repeat(np.float32([1, -1]), 150).reshape(300, 1)
    weights[0] += np.float32(0.03125)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    case = Case(proto.SerializeToString(), {"x": x}, {})
    graph = judge.pipeline.import_model(case.proto)
    assert bool(list(judge._beside_others(case, graph, {"y": np.float32([[0.25 + off]])}))) == is_wrong


PAIRS = """<ir_version: 8, opset_import: ["": 20]>
g (float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) {
  y = MeanVarianceNormalization <axes = [1]> (x)
}"""


def test_a_function_of_onnx_is_computed_in_double() -> None:
    x = np.array([1000.3639, 1000.3614], np.float32).reshape(1, 2, 1, 1)
    found = outputs_in_double(parser.parse_model(PAIRS), {"x": x})
    assert found is not None
    np.testing.assert_allclose(found["y"].reshape(-1), [1, -1], atol=1e-6)  # in float32 0.98


QUOTIENT = """<ir_version: 8, opset_import: ["": 20]>
g (float[3] x, float[3] z) => (float[3] y) { a = Div(x, z)  y = Sqrt(a) }"""


def test_graphs_in_double_divide_floats() -> None:
    feeds = {"x": TWO, "z": np.array([3, 7, 11], np.float32)}
    graph = judge.pipeline.import_model(parser.parse_model(QUOTIENT))
    wanted = np.sqrt(np.array([1, 2, 3]) / [3, 7, 11])
    np.testing.assert_allclose(judge.in_double(graph, feeds)["y"], wanted, rtol=1e-15)


STEPS = """<ir_version: 10, opset_import: ["": 21]>
g (int8[200] x) => (float[200] y)
<float scale = {0.53757435}, int8 zero = {0}> {
  y = DequantizeLinear(x, scale, zero)
}"""


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("steps", "status"), [(1, RIGHT), (2, WRONG)])
def test_a_step_between_floats_is_as_long_as_they_are_rounded(steps: int, status: str) -> None:
    step, x = np.float32(0.53757435), np.arange(-100, 100, dtype=np.int8)
    off = {"y": (x + np.int8(steps)).astype(np.float32) * step}
    case = Case(parser.parse_model(STEPS).SerializeToString(), {"x": x}, off, {"y": float(step)})
    assert verdicts([case], Place("generic"))[0].status == status


@pytest.mark.in_turns(5)
def test_a_byte_one_step_off_meets_all_weights_of_the_next_layer() -> None:
    (mempool,) = (one for one in machines() if one.target == "mempool")
    case, _ = draw("quantised_wide", 8300605, mempool.room)
    (found,) = verdicts([case], Place("generic"))
    assert found.status == RIGHT, found.reason


LINEAR = """<ir_version: 10, opset_import: ["": 22]>
g (float[2, 2] x) => (float[2, 1] y)
<float[2, 1] w = {0.5, -1}> {
  y = MatMul(x, w)
}"""


def lesson(last: float) -> Case:
    """Two steps down the slope of a mean of squares, and the last weight behind them."""
    x, label = np.array([[[1, 0], [0, 1]], [[1, 1], [0, 2]]], np.float32), np.zeros((2, 2, 1), np.float32)
    how = {"loss": "mse", "optimizer": ["SGD", {"rate": 0.1}], "accumulate": 1, "statistics": "frozen"}
    how |= {"learning": [], "weights": ["w"]}
    expected = {"losses": np.array([0.625, 1.72125]), "weight/w": np.array([[0.495], [last]])}
    return Case(parser.parse_model(LINEAR).SerializeToString(), {"x": x, "label": label}, expected, recipe=how)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("last", "status"), [(-0.495, RIGHT), (-0.4953, WRONG)])
def test_what_is_learned_is_held_to_another_framework(last: float, status: str) -> None:
    (found,) = verdicts([lesson(last)], Place("generic"))
    assert found.status == status, found.reason


def test_a_fault_of_the_compiler_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge.pipeline, "stages", lambda *given: {}["missing"])
    (found,) = verdicts([sum_that_should_be([2, 4, 6])], Place("generic"))
    assert found.status == WRONG
    assert found.reason.startswith("KeyError: 'missing'")


def _forever() -> None:
    while True:
        time.time()


@pytest.mark.in_turns(6)
def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(Ended, match="not done after 1 s"):
        limited(_forever, 1)


def test_what_was_wrong_is_read_as_it_was_written(tmp_path: Path) -> None:
    place = Place("siracusa", Settings(4, 16_000, engines=("cluster",)), True)
    path = regression.write(sum_that_should_be([2, 4, 6]), "arithmetic", 7, place, tmp_path)
    case, where = regression.read(path)
    assert path.name == "arithmetic_7_siracusa.onnx"
    assert where == place
    assert case.allowed == {"y": 0.0}
    assert np.array_equal(case.feeds["x"], TWO)


def test_a_run_of_a_batch_is_made_again_by_its_seed() -> None:
    known = [machine for machine in machines() if machine.target in ("generic", "quad")]
    for batch in batches(640, 200, families.names(), known):
        (again,) = batches(batch.seeds[-1], 1, [batch.family], [batch.machine])
        assert again.seeds == batch.seeds[-1:]
        assert again.place == batch.place
