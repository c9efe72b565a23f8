"""An imported graph beside what its framework computes: numbers made up in place of a framework's."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tilewright.errors import CompileError
from tilewright.frontends.export_check import compare_with_framework
from tilewright.frontends.exported import Exported, Own, Step
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import importer
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
TWICE, RESULT = X + X, np.maximum(X + X, 0)


def graph() -> Graph:
    nodes = [helper.make_node("Add", ["x", "x"], ["twice"]), helper.make_node("Relu", ["twice"], ["y"])]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape)] for name in ("x", "y")]
    proto = helper.make_model(helper.make_graph(nodes, "small", *ends), opset_imports=[helper.make_opsetid("", 18)])
    return importer.load(proto, ModelOptions())


def exported(result: Array, *steps: Step) -> Exported:
    return Exported(None, "Small", lambda: Own({"x": X}, [result], lambda: steps))


def test_rounding_is_no_difference() -> None:
    compare_with_framework(graph(), exported(RESULT * np.float32(1.0002)))


def test_an_output_that_differs_is_named_with_both_numbers() -> None:
    with pytest.raises(CompileError) as error:
        compare_with_framework(graph(), exported(RESULT * 0.75))
    assert "Small, output 'y': is exported wrongly: element [2, 3] is 4, the framework computes 3" in str(error.value)
    assert "check_export=False" in str(error.value)


def test_the_first_step_that_differs_is_blamed() -> None:
    steps = Step("twice", TWICE * 0.75, "block.0, add"), Step("y", RESULT * 0.75, "block.1, relu")
    with pytest.raises(CompileError, match=r"block\.0, add"):
        compare_with_framework(graph(), exported(RESULT * 0.75, *steps))


def test_a_step_is_computed_from_the_framework_s_own_tensors() -> None:
    """The first step is right within rounding, the second one is wrong."""
    steps = Step("twice", TWICE, "block.0, add"), Step("y", RESULT * 0.75, "block.1, relu")
    with pytest.raises(CompileError, match=r"block\.1, relu"):
        compare_with_framework(graph(), exported(RESULT * 0.75, *steps))


def test_another_shape_is_never_rounding() -> None:
    steps = Step("twice", TWICE, "add"), Step("y", RESULT, "relu")
    with pytest.raises(CompileError, match=r"the graph computes shape \(3, 4\), the framework \(2, 4\)"):
        compare_with_framework(graph(), exported(RESULT[:2], *steps))


def test_what_no_step_has_made_wrong_is_rounding() -> None:
    steps = Step("twice", TWICE, "add"), Step("y", RESULT, "relu")
    compare_with_framework(graph(), exported(RESULT * np.float32(0.99), *steps))


def test_what_was_captured_is_held_to_the_model_s_own_outputs() -> None:
    """Every step is right, but of another computation."""
    steps = Step("twice", TWICE, "add"), Step("y", RESULT, "relu")
    with pytest.raises(
        CompileError, match="Small, output 'y': is captured as another computation than the model's own"
    ):
        compare_with_framework(graph(), exported(RESULT * 0.75, *steps))


@pytest.mark.parametrize("result", [RESULT[:2], np.where(X > 1, np.nan, RESULT), np.full_like(RESULT, np.inf)])
def test_shapes_and_what_is_no_number_count(result: Array) -> None:
    with pytest.raises(CompileError, match="is exported wrongly"):
        compare_with_framework(graph(), exported(result))


def test_without_a_framework_nothing_is_compared() -> None:
    compare_with_framework(graph(), Exported(None, "Small"))
