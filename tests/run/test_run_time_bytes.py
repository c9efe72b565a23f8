"""Floats rounded at run time: what lies next to a tie may go either way, and nothing else may differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto

from tests.support.models import model, node
from tests.targets.cpu.test_scaled import symmetric
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.passes.ranges.symmetric_range import SymmetricRange
from tilewright.program import Program, compile_model
from tilewright.run.compare import Agreement, compare
from tilewright.run.run_time_bytes import Rounded, as_made_by, in_order, joined, open_roundings, spread

RNG = np.random.default_rng(5)
ROWS, LENGTH, COLUMNS = 24, 64, 12
X = RNG.normal(size=(ROWS, LENGTH)).astype(np.float32)
FIRST = RNG.normal(size=(LENGTH, LENGTH)).astype(np.float32)
SECOND = RNG.integers(-127, 128, (LENGTH, COLUMNS)).astype(np.int8)
EXACT = np.zeros((ROWS, LENGTH), np.float32)
ROUNDED = (RNG.uniform(-1, 1, EXACT.shape) * 5e-4).astype(np.float32)
"""What another order of sums may add to numbers of up to 30: less than the tolerance of their tensor."""
TOLERANCE = 1e-4


def by_range(
    added: Array = EXACT, second: Array = SECOND, behind: Sequence[NodeProto] = (), outputs: Sequence[str] = ("y",)
) -> ModelProto:
    """Floats that are computed, then quantised as ONNX Runtime's dynamic quantisation does it."""
    nodes = [
        node("MatMul", "x w", "m"), node("Add", "m e", "a"), node("DynamicQuantizeLinear", "a", "q s z"),
        node("MatMulInteger", "q v z", "t"), node("Cast", "t", "f", to=TensorProto.FLOAT), node("Mul", "f s", "y"),
        *behind,
    ]  # fmt: skip
    constants = {"w": FIRST, "e": added, "v": second, "p": X @ FIRST + added / 1024, "n": np.zeros((), np.float32)}
    used = {name for one in nodes for name in one.input}
    return model(nodes, {"x": X.shape}, outputs, {name: value for name, value in constants.items() if name in used})


def graph_by_range(added: Array = EXACT, second: Array = SECOND) -> Graph:
    return pipeline.import_model(by_range(added, second))


def graph_by_size(added: Array = EXACT, second: Array = SECOND) -> Graph:
    """As TensorFlow Lite's dynamic-range models are read."""
    b = Builder("hybrid")
    b.input("x", TensorType("float32", X.shape))
    product = b.add(MatMul(), ["x", b.constant(FIRST, "w")])
    (computed,) = b.add(Add(), [*product, b.constant(added, "e")])
    integers, scale = symmetric(b, computed)
    totals = b.add(MatMul(), [integers, b.constant(second, "v")])
    (y,) = b.add(Mul(), [*b.add(Cast("float32"), totals), scale])
    b.output(y)
    return b.build()


GRAPHS = pytest.mark.parametrize("graph_of", [graph_by_range, graph_by_size])
GraphOf = Callable[..., Graph]


def held(graph: Graph, made: Mapping[str, Array]) -> tuple[Agreement, Agreement, int]:
    """A program's tensors against the reference as it is, and against the one that rounds as the program did."""
    (y,), meaning = graph.outputs, joined(graph)
    rounded = Rounded(meaning, as_made_by(graph, made, meaning), TOLERANCE)
    wanted = rounded.computed({"x": X})[y]
    return compare(y, made[y], evaluate(graph, {"x": X})[y]), compare(y, made[y], wanted), rounded.turned


@pytest.mark.fast
@GRAPHS
def test_either_side_of_a_tie_is_right(graph_of: GraphOf) -> None:
    plain, fair, turned = held(graph_of(), evaluate(graph_of(ROUNDED), {"x": X}))
    assert not plain.agrees, "nothing is shown: no byte has gone the other way"
    assert fair.agrees
    assert 0 < turned < 0.05 * EXACT.size


@pytest.mark.fast
@GRAPHS
def test_what_is_equal_stays_equal(graph_of: GraphOf) -> None:
    plain, fair, turned = held(graph_of(), evaluate(graph_of(), {"x": X}))
    assert plain.agrees
    assert fair.max_abs_error == 0
    assert turned == 0


def wrong_weight(bit: int = 4) -> Array:
    weights = SECOND.copy()
    weights[3, 5] ^= bit
    return weights


def beyond_the_tolerance() -> Array:
    added = ROUNDED.copy()
    added[7, 9] += np.float32(0.2)
    return added


@pytest.mark.fast
@GRAPHS
@pytest.mark.parametrize("fault", [{"second": wrong_weight()}, {"added": beyond_the_tolerance()}])
def test_faults_are_seen(graph_of: GraphOf, fault: dict[str, Array]) -> None:
    _, fair, _ = held(graph_of(), evaluate(graph_of(**{"added": ROUNDED, **fault}), {"x": X}))
    assert not fair.agrees


@pytest.mark.fast
def test_a_byte_far_from_a_tie_is_a_fault() -> None:
    """One of 1536 bytes by one step, and all that follows from it as it should be."""
    graph = graph_by_range()
    made = dict(evaluate(graph, {"x": X}))
    exact = np.asarray(made["a"] / made["s"], np.float64)
    place = np.unravel_index(np.argmin(np.abs(exact - np.rint(exact))), exact.shape)
    made["q"] = made["q"].copy()
    made["q"][place] += 1
    totals = (made["q"].astype(np.int32) - made["z"].astype(np.int32)) @ SECOND.astype(np.int32)
    made["y"] = totals.astype(np.float32) * made["s"]
    _, fair, turned = held(graph, made)
    assert turned == 0
    assert not fair.agrees


@pytest.mark.fast
def test_small_rows_are_as_exact_as_large_ones() -> None:
    """Rows have scales of their own; a program that takes one for all of them makes zeros of a small row."""
    graph = graph_by_size()
    meaning, is_large = joined(graph), np.arange(ROWS)[:, None] == 0
    x = np.where(is_large, np.float32(1e5), np.float32(1)) * X
    (integers,) = (one.key for one in meaning.nodes if isinstance(one.op, SymmetricRange))
    made = dict(evaluate(graph, {"x": x}))
    made[integers] = np.where(is_large, made[integers], np.int8(0))
    rounded = Rounded(meaning, as_made_by(graph, made, meaning), TOLERANCE)
    rounded.computed({"x": x})
    assert rounded.turned < 0.05 * EXACT.size


@pytest.mark.fast
def test_inputs_are_exact() -> None:
    """What is given is the same for everybody: its rounding is not open."""
    nodes = [node("DynamicQuantizeLinear", "x", "q s z"), node("DequantizeLinear", "q s z", "y")]
    assert not open_roundings(joined(pipeline.import_model(model(nodes, {"x": (3, 4)}, ["y"]))))
    assert open_roundings(joined(graph_by_range())) == {"q"}


@pytest.mark.fast
def test_axes_in_another_order() -> None:
    like = RNG.integers(0, 255, (1, 6, 5, 5)).astype(np.uint8)
    made = like.copy()
    made[0, 2, 3, 4] += 1
    np.testing.assert_array_equal(in_order(made.transpose(0, 3, 2, 1), like), made)


@pytest.mark.in_turns(5)
def test_a_check_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    program, other = compile_model(by_range()), compile_model(by_range(ROUNDED))
    monkeypatch.setattr(Program, "run", lambda self, *given, **asked: ran(other, *given, **asked))
    (found,) = (check := program.check([X], per_layer=True)).outputs
    assert check.agrees
    assert found.turned
    assert found.as_dict()["turned"] == found.turned
    assert not program.check([X], tolerance=1e-6).agrees


ran = Program.run


def next_to_ties() -> Array:
    """What puts some of the floats that are quantised halfway between two bytes."""
    values = evaluate(graph_by_range(), {"x": X})
    floats, scale = values["a"], values["s"]
    some = (np.arange(EXACT.size).reshape(EXACT.shape) % 16 == 0) & (np.abs(floats) < 0.9 * np.abs(floats).max())
    return np.where(some, (np.floor(floats / scale) + np.float32(0.5)) * scale - floats, 0).astype(np.float32)


@pytest.mark.in_turns(3)
def test_results_of_others_may_differ_by_what_roundings_do() -> None:
    tied = next_to_ties()
    program = compile_model(by_range(tied))
    meaning = joined(program.compiled.quantised)
    (allowed,) = spread(meaning, {"x": X}, TOLERANCE).values()
    wanted = evaluate(graph_by_range(tied + ROUNDED / 16), {"x": X})["y"]
    (found,) = program.check([X], [wanted]).outputs
    assert found.agrees
    assert found.as_dict()["spread"] == allowed
    assert found.relative < found.max_abs_error < found.allowed == allowed < 0.02 * np.abs(wanted).max()
    wrong = wanted.copy()
    wrong[2, 3] += 2 * allowed
    assert not program.check([X], [wrong]).agrees


@pytest.mark.in_turns(3)
def test_a_wrong_weight_is_not_what_roundings_do() -> None:
    """Where hardly a byte is next to a tie, others round as we do."""
    program = compile_model(by_range())
    wrong = evaluate(graph_by_range(second=wrong_weight(2)), {"x": X})["y"]
    assert not program.check([X], [wrong]).agrees


@pytest.mark.in_turns(3)
def test_truths_are_right_or_wrong() -> None:
    """Roundings turn some of them, which does not make all others right."""
    behind = [node("Greater", "y n", "g")]
    program = compile_model(by_range(next_to_ties(), behind=behind, outputs=["g"]))
    wrong = ~program.reference([X])["g"]
    (found,) = program.check([X], [wrong]).outputs
    assert found.mismatches == wrong.size


@pytest.mark.fast
def test_roundings_that_decide_everything_tell_nothing() -> None:
    behind = [node("Greater", "y n", "g"), node("Cast", "g", "c", to=TensorProto.FLOAT)]
    meaning = joined(pipeline.import_model(by_range(next_to_ties(), behind=behind, outputs=["c", "y"])))
    chance, moved = spread(meaning, {"x": X}, TOLERANCE).values()
    assert (chance, moved > 0) == (0, True)


@pytest.mark.in_turns(3)
def test_what_agrees_by_its_floor_still_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference of two equal products is nothing but rounding."""
    both = partial(by_range, behind=[node("Sub", "m p", "d")], outputs=["d", "y"])
    program, other = compile_model(both()), compile_model(both(ROUNDED))
    monkeypatch.setattr(Program, "run", lambda self, *given, **asked: ran(other, *given, **asked))
    difference, result = program.check([X]).outputs
    assert difference.floor
    assert result.turned
    assert difference.agrees
    assert result.agrees
