"""What counts as agreement."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.models import model, node, quantised_input
from tilewright.pipeline import import_model
from tilewright.run.compare import compare, quantisation_steps, rounding_steps

pytestmark = pytest.mark.fast


def test_integers_agree_to_the_bit_in_whatever_type_they_are_stored() -> None:
    found = np.asarray([1, -2, 3], np.int8)
    for dtype in (np.int8, np.int64, np.float32, np.float64):
        assert compare("y", found, np.asarray([1, -2, 3], dtype)).agrees
        assert compare("y", found, np.asarray([1, -2, 4], dtype)).mismatches == 1


def test_large_integers_are_not_rounded() -> None:
    found = compare("y", np.asarray([2**60 + 1]), np.asarray([2**60]))
    assert (found.mismatches, found.max_abs_error) == (1, 1.0)


def test_unsigned_and_signed_are_compared_by_value() -> None:
    assert not compare("y", np.asarray([255], np.uint8), np.asarray([-1], np.int8)).agrees


def test_floats_agree_relative_to_the_largest_expected_value() -> None:
    wanted = np.asarray([1000.0, 0.0], np.float32)
    assert compare("y", np.asarray([1000, 0.09], np.float32), wanted).agrees
    assert not compare("y", np.asarray([1000, 0.11], np.float32), wanted).agrees
    assert not compare("y", np.asarray([0, 1e-9], np.float32), np.zeros(2, np.float32)).agrees


def test_a_quantisation_step_is_allowed() -> None:
    assert compare("y", np.asarray([5], np.int8), np.asarray([6], np.int8), step=1.0).agrees
    assert not compare("y", np.asarray([5], np.int8), np.asarray([7], np.int8), step=1.0).agrees


def test_nan_and_infinity_equal_themselves_only() -> None:
    special = np.asarray([np.nan, np.inf, -np.inf], np.float32)
    assert compare("y", special, special).agrees
    found = compare("y", special, np.asarray([1, -np.inf, 0], np.float32))
    assert (found.mismatches, found.max_abs_error) == (3, math.inf)
    assert found.as_dict()["max_abs_error"] is None


def test_shapes_must_be_equal() -> None:
    found = compare("y", np.zeros((2, 3)), np.zeros((3, 2)))
    assert not found.agrees
    assert found.remark == "shape (2, 3), expected (3, 2)"


def test_empty_and_scalar_results() -> None:
    assert compare("y", np.zeros((0, 3), np.float32), np.zeros((0, 3))).agrees
    assert compare("y", np.float32(1).reshape(()), np.float64(1).reshape(())).agrees
    assert not compare("y", np.float32(1).reshape(()), np.float64(2).reshape(())).agrees


def test_steps_follow_the_quantisers() -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node("MatMul", "d w", "m"),
        node("QuantizeLinear", "m t z", "p"), node("DequantizeLinear", "p t z", "e"), node("Softmax", "e", "y"),
    ]  # fmt: skip
    scales = {"s": np.float32(0.5), "t": np.float32(0.25), "z": np.int8(0), "w": np.ones((4, 4), np.float32)}
    graph = import_model(model(nodes, {"x": (1, 4)}, ["y"], scales))
    steps = {name: round(step, 3) for name, step in quantisation_steps(graph).items()}
    assert steps == {"q": 1.0, "p": 1.0, "x": 0.5, "d": 0.5, "m": 0.25, "e": 0.25, "y": 0.25}


def test_an_integer_network_has_no_steps() -> None:
    assert quantisation_steps(import_model(quantised_input())) == {}


def test_a_step_is_allowed_where_computed_floats_are_rounded() -> None:
    nodes = [
        node("Relu", "x", "r"), node("Quant", "r", "q", scale=0.5), node("Dequant", "q", "d", scale=0.5),
        node("Sigmoid", "d", "f"), node("Quant", "f", "p", scale=0.25), node("Dequant", "p", "y", scale=0.25),
    ]  # fmt: skip
    steps = rounding_steps(import_model(model(nodes, {"x": (1, 4)}, ["y"])))
    assert {name: round(step, 3) for name, step in steps.items()} == {"p": 1.0, "y": 0.25}


def test_an_integer_network_is_compared_to_the_bit() -> None:
    nodes = [node("QuantizeLinear", "x s", "q"), node("DequantizeLinear", "q s", "d"), node("Transpose", "d", "y")]
    assert rounding_steps(import_model(model(nodes, {"x": (2, 4)}, ["y"], {"s": np.float32(0.5)}))) == {}
