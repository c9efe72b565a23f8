"""Interpolation of quantised tensors is integer arithmetic that agrees with ONNX Runtime."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.quantise.test_rules import check, kinds, lowered
from tests.support.models import model, node
from tests.support.quantiser import Style, quantise
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast

SHAPE = (1, 3, 9, 11)


def image(*shape: int) -> Array:
    return (np.random.default_rng(5).standard_normal(shape or SHAPE) + 0.4).astype(np.float32)


def resize(scales: list[float], **attributes: object) -> ModelProto:
    # Without its negative half the result has another scale, so that hardly any lies in the middle of two levels.
    nodes = [node("Resize", "x - scales", "r", **attributes), node("Relu", "r", "y")]
    return model(nodes, {"x": SHAPE}, ["y"], {"scales": np.array(scales, np.float32)})


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("scales", "coordinates", "mode", "style"),
    list(product(
            [[1, 1, 2, 2], [1, 1, 1, 3]], ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"],
            ["linear", "cubic"], ["int8", "uint8"],
        )),
)  # fmt: skip
def test_whole_scales(scales: list[float], coordinates: str, mode: str, style: str) -> None:
    made, feeds = resize(scales, mode=mode, coordinate_transformation_mode=coordinates), {"x": image()}
    graph = check(quantise(made, feeds, Style(activation=style, skip=("r",))), feeds)
    assert kinds(graph) == ["QLinearResize"] * sum(scale != 1 for scale in scales)


@pytest.mark.parametrize("style", ["int8", "uint8"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [[1, 1, 1.7, 0.6], [1, 1, 0.4, 1.1]])
def test_broken_scales(scales: list[float], mode: str, style: str) -> None:
    made, feeds = resize(scales, mode=mode), {"x": image()}
    graph = check(quantise(made, feeds, Style(activation=style, skip=("r",))), feeds)
    assert set(kinds(graph)) == {"QLinearResize"}


@pytest.mark.parametrize("style", ["int8", "uint8"])
def test_ties_go_to_the_even_neighbour(style: str) -> None:
    nodes = [node("Resize", "x - scales", "y", mode="linear")]
    made = model(nodes, {"x": SHAPE}, ["y"], {"scales": np.array([1, 1, 2, 2], np.float32)})
    quantised = quantise(made, {"x": image()}, Style(activation=style, same={"y": "x"}))
    # With a power of two as its scale ONNX Runtime's floats are exact, too.
    (scale,) = (tensor for tensor in quantised.graph.initializer if tensor.name == "x_s")
    scale.raw_data = np.float32(2**-5).tobytes()
    check(quantised, {"x": image()}, equal=1.0)


def test_antialias() -> None:
    nodes = [node("Resize", "x - scales", "y", mode="linear", antialias=1)]
    made = model(nodes, {"x": SHAPE}, ["y"], {"scales": np.array([1, 1, 0.3, 0.45], np.float32)}, opset=18)
    assert kinds(check(quantise(made, {"x": image()}), {"x": image()})) == ["QLinearResize"] * 2


def test_small_sums_of_products_are_interpolated() -> None:
    nodes = [node("Conv", "x w b", "c"), node("Resize", "c - scales", "y", mode="linear")]
    constants = {"w": image(4, 3, 1, 1), "b": image(4), "scales": np.array([1, 1, 1.6, 2.3], np.float32)}
    made = model(nodes, {"x": SHAPE}, ["y"], constants)
    graph = check(quantise(made, {"x": image()}, Style(skip=("c",))), {"x": image()})
    assert kinds(graph) == ["Conv", "QLinearResize", "QLinearResize"]


def test_what_is_too_large_for_16_bits_stays_in_floats() -> None:
    nodes = [node("Add", "x much", "c"), node("Resize", "c - scales", "y", mode="linear")]
    constants = {"much": np.float32([1e5]), "scales": np.array([1, 1, 1.6, 1], np.float32)}
    quantised = quantise(model(nodes, {"x": SHAPE}, ["y"], constants), {"x": image()}, Style(skip=("c", "much")))
    for tensor in quantised.graph.initializer:
        if tensor.name == "y_s":
            tensor.raw_data = np.float32(0.01).tobytes()
    assert any("too large for fine 16-bit numbers" in note for note in lowered(quantised).notes)
