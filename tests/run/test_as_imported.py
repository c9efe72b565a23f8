"""The reference is held to the model as imported: what the quantising passes do wrong is found, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import tilewright as tw
from tests.support.command import Command
from tests.support.models import model, node
from tests.support.states import cell, feeds_of
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.exact import exact_matmul, sums_in_double
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes import Numbers
from tilewright.passes.numerics.hardware import HARDWARE
from tilewright.passes.quantise import linear, pending, sums
from tilewright.passes.quantise.values import Context
from tilewright.program import Program
from tilewright.run.as_imported import Definition, Judge
from tilewright.run.steps import reference_steps
from tilewright.target.settings import Settings

RNG = np.random.default_rng(5)
FILTERS = RNG.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8)
BIAS = RNG.integers(-3000, 3000, 8).astype(np.int32)


def residual() -> ModelProto:
    """A convolution, and its result minus its operand's other half."""
    scales = {"xs": 0.03, "ws": 0.004, "bs": 0.03 * 0.004, "ys": 0.04, "zs": 0.05}
    constants: dict[str, Any] = {name: np.float32(value) for name, value in scales.items()}
    constants |= {"xz": np.int8(3), "wz": np.int8(0), "yz": np.int8(-9), "zz": np.int8(5), "bz": np.int32(0)}
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xf"),
        node("DequantizeLinear", "w ws wz", "wf"), node("DequantizeLinear", "b bs bz", "bf"),
        node("Conv", "xf wf bf", "c", pads=[1, 1, 1, 1]),
        node("QuantizeLinear", "c ys yz", "cq"), node("DequantizeLinear", "cq ys yz", "cf"),
        node("Split", "cf", "left right", axis=1, num_outputs=2),
        node("Sub", "left right", "d"),
        node("QuantizeLinear", "d zs zz", "dq"), node("DequantizeLinear", "dq zs zz", "y"),
    ]  # fmt: skip
    return model(nodes, {"x": (1, 4, 9, 9)}, ["y"], {**constants, "w": FILTERS, "b": BIAS}, opset=18)


def checked(numerics: str = "") -> tuple[Program, Any]:
    program = tw.compile(residual(), settings=Settings(numerics=numerics))
    check = program.check({"x": RNG.normal(0, 1, (1, 4, 9, 9)).astype(np.float32)})
    assert all(one.agrees for one in check.outputs), "the C computes something else than the reference"
    return program, check


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("numerics", ["", HARDWARE])
def test_a_quantised_network_is_what_was_imported(numerics: str) -> None:
    _, check = checked(numerics)
    assert check.agrees
    assert [one.tensor for one in check.imported.held] == ["cq", "dq"]
    (output,) = check.imported.outputs
    assert output.steps is not None
    assert output.steps <= (2 if numerics else 1)


def _off_by_a_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed_point(factor: Any, *rest: Any, **options: Any) -> Any:
        return original(factor * 1.01, *rest, **options)

    original = linear.fixed_point
    monkeypatch.setattr(linear, "fixed_point", fixed_point)


def _other_zero_point(monkeypatch: pytest.MonkeyPatch) -> None:
    original = pending.Target.requant
    monkeypatch.setattr(
        pending.Target, "requant", lambda self, shift: original(replace(self, zero=self.zero + 1), shift)
    )


def _swapped_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(self: Context, op: Any, inputs: list[str], output: str | None = None) -> str:
        return original(self, op, inputs[::-1] if isinstance(op, QLinearAdd) else inputs, output)

    original = Context.emit
    monkeypatch.setattr(Context, "emit", emit)


def _lost_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_bias", lambda context, node, rank: np.zeros((1,) * rank))


def _coarse_multipliers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six bits: up to a percent off."""
    original = sums.MAX_SHIFT
    assert original == 30
    monkeypatch.setattr(sums, "MAX_SHIFT", 6)


FAULTS = {
    "multiplier": (_off_by_a_percent, "cq"),
    "zero point": (_other_zero_point, "cq"),
    "operands": (_swapped_operands, "dq"),
    "bias": (_lost_bias, "cq"),
    "coarse": (_coarse_multipliers, "dq"),
}


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("numerics", ["", HARDWARE])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_quantising_pass_is_found(fault: str, numerics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inject, first = FAULTS[fault]
    inject(monkeypatch)
    _, check = checked(numerics)
    assert not check.agrees
    assert check.first_difference.name == first
    assert check.as_dict()["status"] == "disagree"


def test_the_command_says_so(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(residual(), path)
    good = command("run", path)
    assert good.code == 0
    assert "model as imported: " in good.out
    _other_zero_point(monkeypatch)
    found = command("run", path)
    assert found.code == 1
    assert "disagrees with the model as imported, first in cq (1.4" in found.out
    found = command("run", path, "--json")
    assert json.loads(found.out)["imported"]["worst"]["tensor"] in ("cq", "dq")


def test_one_step_too_much_is_found_where_it_is_made() -> None:
    graph = pipeline.import_model(residual())
    made = pipeline.stage(graph, "generic", "quantised")
    values = dict(evaluate(made, {"x": RNG.normal(0, 1, (1, 4, 9, 9)).astype(np.float32)}))
    definition = Definition(graph, made, (pipeline.QUANTISING[1].numbers,), 1e-4)
    assert all(one.agrees for one in definition.held(values))
    values["dq"] = np.clip(values["dq"].astype(int) + 1, -128, 127).astype(np.int8)
    assert [one.tensor for one in definition.held(values) if not one.agrees] == ["dq"]


def test_what_operators_state_counts_until_the_last_tensor_of_the_model() -> None:
    graph = pipeline.import_model(residual())
    made = pipeline.stage(graph, "generic", "quantised")
    numbers = Numbers(0.25, {"QLinearAdd": 0.5, "Conv:int8": 0.125})
    definition = Definition(graph, made, (numbers, numbers), 1e-4)
    assert definition.allowed("dq") == (1.0, 1.0)
    assert definition.allowed("cq") == (0.25, 1.0)


@pytest.mark.parametrize("colours", [1, 40])
def test_equal_elements_are_rounded_alike(colours: int) -> None:
    """All are one step up where a hundredth may: right where they are few numbers."""
    graph = pipeline.import_model(residual())
    made = pipeline.stage(graph, "generic", "quantised")
    values = dict(evaluate(made, {"x": np.zeros((1, 4, 9, 9), np.float32)}))
    values["cq"] = RNG.integers(0, colours, values["cq"].shape).astype(np.int8)
    left, right = np.split(values["cq"] * 0.04, 2, axis=1)
    values["dq"] = (np.rint((left - right) / 0.05) + 6).astype(np.int8)
    held = Definition(graph, made, (Numbers(1.0, share=0.01),), 1e-4).held(values)
    assert [one.agrees for one in held if one.tensor == "dq"] == [colours == 1]


def test_a_float_network_is_measured_in_double() -> None:
    weights = RNG.normal(0, 1, (64, 3)).astype(np.float32)
    net = model([node("MatMul", "x w", "y")], {"x": (2, 64)}, ["y"], {"w": weights})
    (distance,) = tw.compile(net).check().imported.outputs  # type: ignore[union-attr]
    assert distance.steps is None
    assert 0 <= distance.relative < 1e-6


def test_sums_in_double() -> None:
    left, right = (RNG.normal(0, 1, shape).astype(np.float32) for shape in ((3, 400), (400, 2)))
    exact = left.astype(np.float64) @ right.astype(np.float64)
    with sums_in_double():
        np.testing.assert_array_equal(exact_matmul(left, right), exact.astype(np.float32))
    np.testing.assert_array_equal(exact_matmul(left, right), left @ right)


@pytest.mark.parametrize("wrong", [False, True])
def test_states_live_from_one_call_to_the_next(wrong: bool) -> None:
    graph = cell()
    judge, feeds = Judge(graph, graph, (), 1e-4), feeds_of(graph, 3)
    outputs = reference_steps(graph, feeds, judge.see)
    name = graph.output_names[0]
    outputs[name][2] += np.asarray(wrong, outputs[name].dtype)
    (distance, *_) = judge.result(outputs).outputs
    assert (distance.relative > 1e-3) == wrong
