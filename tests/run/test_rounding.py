"""The floor of allowed errors: rounding passes, faults do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node
from tilewright.codegen import binary_data
from tilewright.codegen.network import Writer
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.run.compare import compare
from tilewright.run.rounding import EPSILON, Floors

RNG = np.random.default_rng(3)
W = RNG.normal(0, 2, (400, 6)).astype(np.float32)
B = np.full(6, -9, np.float32)
X = (RNG.normal(0, 0.05, (1, 400))).astype(np.float32)


def small_probabilities(weights: Array = W, bias: Array = B) -> ModelProto:
    """Sigmoids of sums that are far below zero: all outputs are small."""
    nodes = [node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("Sigmoid", "a", "y")]
    return model(nodes, {"x": (1, 400)}, ["y"], {"w": weights, "b": bias})


def exact(weights: Array = W, bias: Array = B) -> Array:
    """In doubles."""
    return 1 / (1 + np.exp(-(X.astype(np.float64) @ weights + bias)))


def rounded_as_others_do() -> Array:
    """The result of a sigmoid whose error does not shrink with it."""
    return (exact().astype(np.float32) - np.float32(0.5) + np.float32(0.5)).astype(np.float32) + np.float32(
        1.2 * EPSILON
    )


def test_the_rounding_of_others_passes() -> None:
    wanted = rounded_as_others_do()
    check = tw.compile(small_probabilities()).check([X], [wanted])
    (found,) = check.outputs
    assert wanted.max() < 5e-4
    assert found.max_abs_error > found.relative, "nothing is shown: the relative rule is enough"
    assert found.floor is not None
    assert found.max_abs_error < found.floor < 4 * EPSILON
    assert check.agrees
    assert found.allowed == found.floor


def test_the_reference_is_held_to_our_own_rounding() -> None:
    """Compared with ourselves, the rounding of others is a fault."""
    program = tw.compile(small_probabilities())
    graph, feeds = program.compiled.quantised, {"x": X}
    ours, others = (Floors(graph, lambda: evaluate(graph, feeds), others)("y") for others in (False, True))
    assert 0 < ours < others
    assert not compare("y", rounded_as_others_do(), program.reference([X])["y"], floor=lambda name: ours).agrees


LARGEST = int(np.argmax(np.abs(X[0])))
"""The input that weighs most."""


def one_weight() -> tuple[Array, Array]:
    changed = W.copy()
    changed[LARGEST, 3] += 1
    return changed, B


def swapped_columns() -> tuple[Array, Array]:
    return W[:, [0, 1, 3, 2, 4, 5]], B


def one_bias() -> tuple[Array, Array]:
    return W, B + np.float32([0, 0, 0, 0.05, 0, 0])


def one_row_left_out() -> tuple[Array, Array]:
    changed = W.copy()
    changed[LARGEST] = 0
    return changed, B


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("fault", [one_weight, swapped_columns, one_bias, one_row_left_out])
def test_a_fault_of_the_meaning_is_seen(fault: Callable[[], tuple[Array, Array]]) -> None:
    """The reference has it too: only the other program knows."""
    check = tw.compile(small_probabilities(*fault())).check([X], [rounded_as_others_do()])
    assert check.outputs[0].floor is not None, "nothing is shown: the relative rule is enough"
    assert not check.agrees


def test_a_fault_of_the_program_is_seen_below_the_rounding_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs that are smaller than the rounding of others: the reference, which is exact there, sees the fault."""
    tiny = tw.compile(small_probabilities(bias=B - 9))
    assert tiny.reference([X])["y"].max() < EPSILON
    data = binary_data.data

    def damaged(writer: Writer) -> bytes:
        values = np.frombuffer(data(writer), np.float32).copy()
        values[np.argmax(np.abs(values))] *= 1.01
        return values.tobytes()

    wanted = tiny.reference([X])["y"] + np.float32(EPSILON)
    assert tiny.check([X], [wanted]).agrees
    monkeypatch.setattr(binary_data, "data", damaged)
    faulty = tw.compile(small_probabilities(bias=B - 9)).check([X], [wanted])
    assert not faulty.agrees
    assert "differs from the reference" in faulty.outputs[0].remark


def test_cancellation_has_a_floor() -> None:
    """The difference of large numbers: epsilon of what is subtracted, not of what is left."""
    nodes = [node("Sub", "x w", "y")]
    program = tw.compile(model(nodes, {"x": (3,)}, ["y"], {"w": np.float32([1000, 1000, 1000])}))
    graph, x = program.compiled.quantised, np.float32([1000.25, 1000.5, 1000])
    floor = Floors(graph, lambda: evaluate(graph, {"x": x}), False)("y")
    assert floor == pytest.approx(EPSILON * 2000.5, rel=1e-3)


def normalised(bias: float = 0.0) -> ModelProto:
    """Rows that lie close together around -3000, behind a batch normalisation that rounds them."""
    ones, zeros = np.ones(8, np.float32), np.zeros(8, np.float32)
    shift = zeros + np.float32([0, 0, 0, bias, 0, 0, 0, 0])
    nodes = [node("BatchNormalization", "x s z m v", "n"), node("LayerNormalization", "n s b", "y", axis=-1)]
    given = {"s": ones, "z": zeros, "m": np.full(8, 3000, "f"), "v": ones, "b": shift}
    return model(nodes, {"x": (4, 8)}, ["y"], given)


def test_normalisations_of_close_numbers_have_a_floor() -> None:
    x = RNG.normal(0, 0.01, (4, 8)).astype(np.float32)
    program = tw.compile(normalised())
    wanted, graph = program.reference([x])["y"], program.compiled.quantised
    ends = np.where(RNG.random(x.shape) < 0.5, np.float32(-np.inf), np.float32(np.inf))
    other_bits = np.nextafter(x - np.float32(3000), ends)
    nudged = LayerNormalization().numpy(other_bits)[0]
    floor = Floors(graph, lambda: evaluate(graph, {"x": x}), False)
    assert not compare("y", nudged, wanted).agrees, "nothing is shown: the relative rule is enough"
    assert compare("y", nudged, wanted, floor=floor).agrees
    fault = tw.compile(normalised(bias=0.3)).reference([x])["y"]
    assert not compare("y", fault, wanted, floor=floor).agrees


def test_the_logarithm_of_a_sum_of_about_one_has_a_floor() -> None:
    """Shares add up to one: what is left of the logarithm is what they are rounded by."""
    nodes = [node("LogSoftmax", "x", "s", axis=0), node("ReduceLogSumExp", "s", "y", keepdims=0)]
    program = tw.compile(model(nodes, {"x": (2,)}, ["y"], opset=18))
    x = np.float32([1.5, 0.625])
    floor = Floors(program.compiled.quantised, lambda: evaluate(program.compiled.quantised, {"x": x}), False)
    wanted = np.float32(-2.7e-11)
    assert not compare("y", np.zeros((), "f"), wanted).agrees, "nothing is shown: the relative rule is enough"
    assert compare("y", np.zeros((), "f"), wanted, floor=floor).agrees
    assert not compare("y", np.full((), 1e-5, "f"), wanted, floor=floor).agrees


def test_a_long_chain_of_sums_is_walked_once() -> None:
    nodes = [node("Add", f"t{i} t{i}", f"t{i + 1}") for i in range(60)]
    program = tw.compile(model(nodes, {"t0": (2,)}, ["t60"]))
    graph = program.compiled.quantised
    feeds = {"t0": np.float32([1e-20, 2e-20])}
    assert Floors(graph, lambda: evaluate(graph, feeds), False)(graph.outputs[0]) > 0


def test_without_tolerance_there_is_no_floor() -> None:
    check = tw.compile(small_probabilities()).check([X], [rounded_as_others_do()], tolerance=0)
    assert check.outputs[0].floor is None
    assert not check.agrees


def test_both_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path
    onnx.save(small_probabilities(), folder / "n.onnx")
    np.savez(folder / "in.npz", x=X)
    np.savez(folder / "out.npz", y=rounded_as_others_do())
    words = ("run", folder / "n.onnx", "--inputs", folder / "in.npz", "--expect", folder / "out.npz")
    command = Command(capsys)
    assert "floor" in command(*words).out
    (output,) = command(*words, "--json").json["outputs"]
    assert 0 < output["relative"] < output["max_abs_error"] < output["floor"] == output["allowed"]


def test_sums_of_an_input_are_as_exact_as_the_reference() -> None:
    """A row around 300 with a spread of 0.001: rounding of others moves it, a part in a thousand of ours is a fault."""
    x = (300 + RNG.normal(0, 0.001, (4, 64))).astype(np.float32)
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    made = model([node("LayerNormalization", "x s b", "y")], {"x": x.shape}, ["y"], {"s": ones, "b": zeros})
    program = tw.compile(made)
    graph = program.compiled.quantised
    ours, others = (Floors(graph, lambda: evaluate(graph, {"x": x}), one)("y") for one in (False, True))
    wanted = program.reference([x])["y"]
    assert ours < 1e-5 < 1e-2 < others
    assert not compare("y", wanted * np.float32(1.001), wanted, floor=lambda name: ours).agrees
    assert program.check([x]).agrees
