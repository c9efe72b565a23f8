"""Gradients: of linear operators by their adjoints, of others by differences, of losses by both; and their import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.support.checks import imported, one_node_model, same
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.conv import Conv
from tilewright.ops.gelu import Gelu
from tilewright.ops.maxpool import MaxPool

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(7)
MICROSOFT = "com.microsoft"


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(kind: str, inputs: dict[str, Array], results: int = 1, domain: str = MICROSOFT, **attributes: Any) -> Any:
    return imported(one_node_model(kind, inputs, results, 17, domain=domain, **attributes), inputs)


def slope(function: Callable[[Array], Any], x: Array, direction: Array, step: float = 1e-3) -> float:
    """How fast a number grows along a direction, by central differences."""
    wide = x.astype(np.float64)
    ends = [float(function(wide + sign * step * direction)) for sign in (1, -1)]
    return (ends[0] - ends[1]) / (2 * step)


def agrees(found: float, wanted: float, scale: float = 1.0) -> None:
    assert abs(found - wanted) < 1e-3 * max(scale, abs(wanted)), (found, wanted)


CONVOLUTIONS = [
    # groups, filters and channels of one, spatial, kernel, strides, pads, dilations
    (1, 4, 3, (6, 7), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (1, 2, 3, (9, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    (1, 3, 2, (8, 9), (3, 2), (2, 3), (0, 1, 2, 0), (2, 1)),
    (4, 1, 1, (7, 7), (3, 3), (2, 2), (0, 0, 1, 1), (1, 1)),
    (2, 3, 2, (5, 6), (1, 1), (2, 2), (0, 0, 0, 0), (1, 1)),
    (1, 3, 2, (11,), (4,), (3,), (2, 1), (1,)),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_gradients_of_convolutions_are_adjoints(case: Any) -> None:
    """A convolution is linear in X and in W: with any other X or W, products with gradients are the same."""
    groups, filters, channels, spatial, kernel, strides, pads, dilations = case
    x, w = floats(2, groups * channels, *spatial), floats(groups * filters, channels, *kernel)
    conv = Conv(strides, dilations, pads, groups)
    g = floats(*conv.numpy(x, w).shape)
    how = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups, "kernel_shape": kernel}
    by_x, by_w, by_b = run("ConvGrad", {"g": g, "x": x, "w": w}, 3, **how)
    other_x, other_w = floats(*x.shape), floats(*w.shape)
    agrees(float((by_x * other_x).sum()), float((g * conv.numpy(other_x, w)).sum()), 10)
    agrees(float((by_w * other_w).sum()), float((g * conv.numpy(x, other_w)).sum()), 10)
    same(by_b, g.sum(axis=(0, *range(2, g.ndim))), 1e-4)
    same(run("ConvGradW", {"g": g, "x": x}, domain="", **how)[0], by_w)
    same(run("ConvGradB", {"g": g}, domain="")[0], by_b)
    (alone,) = run("ConvGradX", {"g": g, "w": w}, domain="", **how)
    same(alone, by_x[(..., *(slice(size) for size in alone.shape[2:]))])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate: str) -> None:
    x, g = floats(40), floats(40)
    (found,) = run("GeluGrad", {"g": g, "x": x}, approximate=approximate)
    if approximate == "tanh":
        same(run("FastGeluGrad", {"g": g, "x": x})[0], found)
    for at in range(0, 40, 7):
        only = np.eye(40)[at]
        agrees(float(found[at]), slope(lambda x: (Gelu(approximate).function(x) * g).sum(), x, only))


def test_relu_has_no_slope_at_zero() -> None:
    g, x = floats(5), np.array([-1, -0.0, 0, 2, np.nan], np.float32)
    (found,) = run("ReluGrad", {"g": g, "x": x})
    np.testing.assert_array_equal(found, np.array([0, 0, 0, g[3], 0], np.float32))


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("kind", ["SoftmaxGrad", "SoftmaxGrad_13"])
def test_softmax(kind: str, axis: int) -> None:
    def softmax(x: Array) -> Array:
        shares = np.exp(x - x.max(axis=axis, keepdims=True))
        return np.asarray(shares / shares.sum(axis=axis, keepdims=True))

    x, g, way = floats(2, 3, 4), floats(2, 3, 4), floats(2, 3, 4)
    (found,) = run(kind, {"g": g, "y": softmax(x).astype(np.float32)}, axis=axis)
    agrees(float((found * way).sum()), slope(lambda x: (softmax(x) * g).sum(), x, way))


def layer_norm(x: Array, scale: Array, bias: Array) -> tuple[Array, Array, Array]:
    mean = x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return (x - mean) * inverse * scale + bias, mean, inverse


@pytest.mark.parametrize("is_given", [True, False])
def test_layer_normalisation(is_given: bool) -> None:
    """With each row's mean and inverse deviation, or from the rows again."""
    x, g, scale, bias, way = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(2, 3, 8)
    _, mean, inverse = layer_norm(x, scale, bias)
    rest = {"mean": mean, "inverse": inverse} if is_given else {"bias": bias}
    inputs = {"g": g, "x": x, "scale": scale, **rest}
    found, by_scale, by_bias = run("LayerNormalizationGrad", inputs, 3, axis=-1, epsilon=1e-5)
    agrees(float((found * way).sum()), slope(lambda x: (layer_norm(x, scale, bias)[0] * g).sum(), x, way))
    same(by_scale, (g * (x - mean) * inverse).sum(axis=(0, 1)), 1e-4)
    same(by_bias, g.sum(axis=(0, 1)), 1e-4)


def batch_norm(x: Array, scale: Array, bias: Array) -> tuple[Array, Array, Array]:
    mean = x.mean(axis=(0, 2, 3))
    inverse = 1 / np.sqrt(x.var(axis=(0, 2, 3)) + 1e-5)
    column = (-1, 1, 1)
    y = (x - mean.reshape(column)) * (inverse * scale).reshape(column) + bias.reshape(column)
    return y, mean, inverse


def test_batch_normalisation() -> None:
    x, g, scale, bias, way = floats(2, 3, 4, 5), floats(2, 3, 4, 5), floats(3), floats(3), floats(2, 3, 4, 5)
    before = {"mean": floats(3), "var": np.abs(floats(3))}
    inputs = {"x": x, "scale": scale, "bias": bias, **before}
    y, mean, var, saved, inverse = run("BatchNormInternal", inputs, 5, momentum=0.75, epsilon=1e-5, training_mode=1)
    wanted = batch_norm(x, scale, bias)
    for found, value in zip((y, saved, inverse), wanted, strict=True):
        same(found, value.astype(np.float32), 1e-4)
    same(mean, 0.75 * before["mean"] + 0.25 * wanted[1].astype(np.float32), 1e-4)
    same(var, 0.75 * before["var"] + np.float32(0.25) * x.var(axis=(0, 2, 3)), 1e-4)
    inputs = {"g": g, "x": x, "scale": scale, "mean": saved, "inverse": inverse}
    found, by_scale, by_bias = run("BatchNormalizationGrad", inputs, 3, epsilon=1e-5)
    agrees(float((found * way).sum()), slope(lambda x: (batch_norm(x, scale, bias)[0] * g).sum(), x, way))
    normal = (x - wanted[1].reshape(-1, 1, 1)) * wanted[2].reshape(-1, 1, 1)
    same(by_scale, (g * normal).sum(axis=(0, 2, 3)).astype(np.float32), 1e-4)
    same(by_bias, g.sum(axis=(0, 2, 3)), 1e-4)


POOLS = [
    ((8, 8), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((7, 9), (3, 3), (2, 2), (1, 1, 1, 1)),
    ((9, 7), (3, 2), (3, 2), (0, 0, 0, 0)),
]


@pytest.mark.parametrize("case", POOLS)
@pytest.mark.parametrize("counts_pads", [0, 1])
def test_average_pool(case: Any, counts_pads: int) -> None:
    size, kernel, strides, pads = case
    pool, x = AveragePool(strides, (1, 1), pads, kernel, bool(counts_pads)), floats(2, 3, *size)
    g = floats(*pool.numpy(x).shape)
    how = {"kernel_shape": kernel, "strides": strides, "pads": pads, "count_include_pad": counts_pads}
    (found,) = run("AveragePoolGrad", {"g": g}, **how)
    inside = (..., *(slice(size) for size in found.shape[2:]))
    whole = np.zeros_like(x)
    whole[inside] = x[inside]
    agrees(float((found * x[inside]).sum()), float((g * pool.numpy(whole)).sum()), 10)


@pytest.mark.parametrize("case", POOLS)
def test_max_pool(case: Any) -> None:
    size, kernel, strides, pads = case
    pool, x, way = MaxPool(strides, (1, 1), pads, kernel), floats(2, 3, *size), floats(2, 3, *size)
    g = floats(*pool.numpy(x).shape)
    (found,) = run("MaxPoolGrad", {"g": g, "x": x}, kernel_shape=kernel, strides=strides, pads=pads)
    agrees(float((found * way).sum()), slope(lambda x: (pool.numpy(x.astype(np.float32)) * g).sum(), x, way, 1e-3), 10)


def test_max_pool_gives_to_the_first_of_equals() -> None:
    x, g = np.zeros((1, 1, 4), np.float32), np.array([[[1, 2]]], np.float32)
    (found,) = run("MaxPoolGrad", {"g": g, "x": x}, kernel_shape=(2,), strides=(2,))
    np.testing.assert_array_equal(found, [[[1, 0, 2, 0]]])


def test_max_pool_by_places() -> None:
    """The places that MaxPool gives are in all of its operand."""
    places, g = np.array([[[[5, 5]], [[9, 7]]]]), np.array([[[[1, 2]], [[3, 4]]]], np.float32)
    model = one_node_model("MaxPoolGrad", {"g": g, "places": places}, 1, 17, domain=MICROSOFT)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", TensorProto.FLOAT, [1, 2, 2, 3]))
    (found,) = imported(model, {"g": g, "places": places})
    np.testing.assert_array_equal(found.reshape(-1), [0, 0, 0, 0, 0, 3, 0, 4, 0, 3, 0, 0])


def test_global_average_pool() -> None:
    (found,) = run("GlobalAveragePoolGrad", {"g": np.array([[[[4.0]], [[8.0]]]], np.float32)}, kernel_shape=(2, 4))
    np.testing.assert_array_equal(found, np.stack([np.full((2, 4), 0.5), np.full((2, 4), 1.0)])[None])


def test_mean_squared_error() -> None:
    a, b = floats(3, 4), floats(3, 4)
    same(run("MSELoss", {"a": a, "b": b})[0], np.asarray(((a - b) ** 2).mean(), np.float32))
    same(run("MSELoss", {"a": a, "b": b}, reduction="sum")[0], np.asarray(((a - b) ** 2).sum(), np.float32))
    same(run("MSELossGrad", {"a": a, "b": b})[0], (a - b) * np.float32(2 / 12))
    outer = np.array(3, np.float32)
    same(run("MSELossGrad", {"g": outer, "a": a, "b": b}, reduction="sum")[0], (a - b) * np.float32(6))


def log_softmax(x: Array) -> Array:
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


@pytest.mark.parametrize(
    ("reduction", "is_bare"), [("mean", False), ("mean", True), ("sum", False), ("sum", True), ("none", False)]
)
@pytest.mark.parametrize("ignored", [None, 1, -1])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_cross_entropy(reduction: str, ignored: int | None, is_weighted: bool, is_bare: bool) -> None:
    x, way, labels = floats(3, 4, 2), floats(3, 4, 2), np.array([[0, 3], [1, 1], [2, -1 if ignored == -1 else 0]])
    weights = np.abs(floats(4)) if is_weighted else np.ones(4, np.float32)
    outer = {"mean": np.array(0.5), "sum": np.array(2.0), "none": RANDOM.standard_normal((3, 2))}[reduction]
    outer = np.asarray(1.0) if is_bare else outer
    counts = np.where(labels == ignored, 0, weights[labels])

    def loss(x: Array) -> Any:
        losses = -np.take_along_axis(log_softmax(x), np.maximum(labels, 0)[:, None], 1)[:, 0] * counts
        return (outer * (losses / counts.sum() if reduction == "mean" else losses)).sum()

    inputs = {} if is_bare else {"outer": outer.astype(np.float32)}
    inputs |= {"log_prob": log_softmax(x), "labels": labels} | ({"weights": weights} if is_weighted else {})
    how = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
    (found,) = run("SoftmaxCrossEntropyLossGrad", inputs, **how)
    agrees(float((found * way).sum()), slope(loss, x, way))


def test_accumulation() -> None:
    buffer, gradient = floats(3, 2), floats(3, 2)
    for flag, wanted in ((True, gradient), (False, buffer + gradient)):
        inputs = {"buffer": buffer, "gradient": gradient, "flag": np.array([flag])}
        same(run("InPlaceAccumulatorV2", inputs)[0], wanted)
        updated, found = run("InPlaceAccumulatorV2", inputs, 2)
        same(found, wanted)
        assert updated.tolist() == [True]


def test_gradient_descent() -> None:
    weight, gradient = floats(3, 2), floats(3, 2)
    same(run("SGD", {"w": weight, "g": gradient}, domain="", lr=0.25)[0], weight - np.float32(0.25) * gradient)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "text"),
    [
        ("ConvGrad", [(1, 2, 4, 4), (1, 3, 4, 4), (2, 3, 3, 3)], {}, "the window has (2, 2) positions"),
        ("ConvGradW", [(1, 2, 4, 4), (1, 3, 4, 4)], {}, "attribute 'kernel_shape' is missing"),
        ("SoftmaxGrad", [(2, 3), (2, 4)], {}, "dY has shape (2, 3) and Y (2, 4)"),
        ("MaxPoolGrad", [(1, 2, 3, 3), (1, 2, 4, 4)], {"kernel_shape": (2, 2), "strides": (2, 2)}, "(2, 2) positions"),
        ("InPlaceAccumulatorV2", [(2, 3), (3, 2)], {}, "the buffer has shape (2, 3)"),
        ("SGD", [(2,), (2,)], {}, "attribute 'lr' is missing"),
        ("SGD", [(2,), (3,)], {"lr": 0.1}, "its gradient (3,)"),
        ("GeluGrad", [(2,), (2,)], {"approximate": "x"}, "approximate='x' is unknown"),
        ("GlobalAveragePoolGrad", [(1, 2, 1, 1)], {}, "give kernel_shape"),
        ("MSELoss", [(2,), (2,)], {"reduction": "most"}, "reduction most is unknown"),
    ],
)
def test_what_is_refused(kind: str, inputs: list[tuple[int, ...]], attributes: dict[str, Any], text: str) -> None:
    arrays = {f"x{number}": floats(*shape) for number, shape in enumerate(inputs)}
    model = one_node_model(kind, arrays, 2 if kind == "ConvGrad" else 1, domain=MICROSOFT, **attributes)
    with pytest.raises(CompileError) as caught:
        pipeline.import_model(model)
    assert text in str(caught.value)
