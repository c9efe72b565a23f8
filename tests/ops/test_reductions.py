"""Reductions, softmax and normalisations: their meaning is ONNX's, every form is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.checks import check_import, imported, one_node_model, same
from tests.support.movement import values
from tests.support.reductions import REDUCTIONS
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array
from tilewright.ops._reduction import Reduction
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(4)


# ---- import -------------------------------------------------------------------------------------------------------


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def floats(*shape: int) -> Array:
    return values(RANDOM, shape, "float32")


def in_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Array]) -> Array:
    """For what ONNX's reference does not have in this form."""
    model.ir_version = 8
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return np.asarray(onnxruntime.InferenceSession(model.SerializeToString()).run(["y0"], feeds)[0])


@pytest.mark.parametrize("kind", [kind.__name__ for kind in REDUCTIONS])
def test_axes_of_reductions(kind: str) -> None:
    x = np.abs(floats(2, 3, 4))
    check_import(kind, x, {"axes": ints(-1, 0)})
    check_import(kind, x, {"axes": ints(1)}, keepdims=0)
    check_import(kind, x, {})
    check_import(kind, x, {"axes": ints()}, keepdims=0)
    check_import(kind, x, {}, opset=12, axes=[2], keepdims=0)


def test_no_axes_may_mean_nothing_to_do() -> None:
    x = floats(2, 3)
    same(imported(one_node_model("ReduceSum", {"x": x}, noop_with_empty_axes=1), {"x": x})[0], x)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1"])
def test_reductions_of_integers(kind: str, dtype: str) -> None:
    check_import(kind, RANDOM.integers(0, 9, (3, 4)).astype(dtype), {"axes": ints(1)})


@pytest.mark.parametrize("kind", [kind for kind in REDUCTIONS if kind.__name__ not in ("ReduceMean", "ReduceLogSum")])
def test_reductions_of_nothing(kind: type[Reduction]) -> None:
    check_import(kind.__name__, np.zeros((2, 0, 3), np.float32), {"axes": ints(1)})


def test_means_in_the_dialect() -> None:
    """(S + L/2) >> log2(L) without the axes, else halves away from zero, but a sum of zero from below."""
    rows = np.array([[3, 0], [-3, 0], [1, 0], [-1, 0], [0, 0]], np.int8)
    assert ReduceMean((1,), False, integer=True).numpy(rows).tolist() == [2, -1, 1, 0, 0]
    assert ReduceMean((1,), True, integer=True).numpy(rows).reshape(-1).tolist() == [2, -2, 1, -1, 0]
    assert ReduceMean((1,), True).numpy(rows).reshape(-1).tolist() == [1, -1, 0, 0, 0]


def test_sums_in_the_dialect_are_wide() -> None:
    total = ReduceSum((0,), False, wide=True).numpy(np.full(300, 127, np.int8))
    assert total.dtype == np.int32
    assert int(total) == 300 * 127


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("attributes", [{}, {"axis": -1, "keepdims": 0}, {"axis": 1, "select_last_index": 1}])
def test_extremes(kind: str, attributes: dict[str, Any]) -> None:
    check_import(kind, RANDOM.integers(0, 3, (3, 4, 5)).astype(np.float32), {}, **attributes)


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_along_any_axis(kind: str) -> None:
    x = 10 * floats(2, 3, 4)
    for axis in (-1, 0, 1):
        check_import(kind, x, {}, axis=axis)
    check_import(kind, x, {})


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("attributes", [{}, {"axis": 0}, {"axis": 2}])
def test_older_softmax_flattens(kind: str, attributes: dict[str, int]) -> None:
    x = floats(2, 3, 4)
    model = one_node_model(kind, {"x": x}, 1, 11, **attributes)  # type: ignore[arg-type]
    same(imported(model, {"x": x})[0], in_onnxruntime(model, {"x": x}))


def test_older_softmax_of_a_constant_flattens() -> None:
    x = floats(2, 3, 4)
    found = imported(one_node_model("Softmax", {}, 1, 8, constants={"x": x}), {})[0]
    same(found, np.exp(x) / np.exp(x).sum((1, 2), keepdims=True))


def test_an_opset_that_lacks_an_operator_in_use_is_not_believed() -> None:
    """HardSwish came after Softmax had changed its default axis: the file can not mean the older Softmax."""
    x = floats(2, 3, 4)
    model = one_node_model("Softmax", {"x": x}, 1, 10)
    model.graph.node[0].input[0] = "h"
    model.graph.node.insert(0, onnx.helper.make_node("HardSwish", ["x"], ["h"]))
    found = imported(model, {"x": x})[0]
    same(found.sum(axis=-1), np.ones((2, 3), np.float32))


def check_normalisation(kind: str, arrays: dict[str, Array], results: int = 1, **attributes: Any) -> None:
    model = one_node_model(kind, dict(arrays), results, **attributes)
    wanted = ReferenceEvaluator(model).run(None, arrays)
    for found, value in zip(imported(model, arrays), wanted, strict=True):
        same(found, np.asarray(value))


@pytest.mark.parametrize("axis", [-1, -2, 0, 1])
def test_layer_normalisation(axis: int) -> None:
    x = floats(2, 3, 4)
    arrays = {"x": x, "scale": floats(*x.shape[axis:]), "bias": floats(*x.shape[axis:])}
    check_normalisation("LayerNormalization", arrays, 3, axis=axis)
    del arrays["bias"]
    check_normalisation("LayerNormalization", arrays, axis=axis, epsilon=0.1)
    check_normalisation("RMSNormalization", arrays, axis=axis)


def test_scales_are_broadcast_to_rows() -> None:
    arrays = {"x": floats(2, 3, 4), "scale": floats(4), "bias": floats(1, 3, 1)}
    check_normalisation("LayerNormalization", arrays, axis=1)


def test_group_and_instance_normalisation() -> None:
    x, scale, bias = floats(2, 6, 3, 2), floats(6), floats(6)
    check_normalisation("GroupNormalization", {"x": x, "scale": scale, "bias": bias}, num_groups=3)
    check_normalisation("InstanceNormalization", {"x": x, "scale": scale, "bias": bias}, epsilon=0.01)
    model = one_node_model("GroupNormalization", {"x": x, "scale": scale[:3], "bias": bias[:3]}, 1, 18, num_groups=3)
    wider = one_node_model(
        "GroupNormalization", {"x": x, "scale": np.repeat(scale[:3], 2), "bias": np.repeat(bias[:3], 2)}, num_groups=3
    )
    feeds = {"x": x, "scale": scale[:3], "bias": bias[:3]}
    wide_feeds = {"x": x, "scale": np.repeat(scale[:3], 2), "bias": np.repeat(bias[:3], 2)}
    same(imported(model, feeds)[0], imported(wider, wide_feeds)[0])


def test_skip_layer_normalisation() -> None:
    arrays = {name: floats(2, 3, 8) for name in ("x", "skip")} | {name: floats(8) for name in ("g", "b", "bias")}
    model = one_node_model("SkipLayerNormalization", dict(arrays), 4, 17, "com.microsoft", epsilon=1e-5)
    del model.graph.node[0].output[1:3], model.graph.output[1:3]
    model.graph.node[0].output[1:] = ["", "", "y3"]
    found = imported(model, arrays)
    same(found[1], arrays["x"] + arrays["bias"] + arrays["skip"])
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    same(found[0], in_onnxruntime(model, arrays))


def test_normalisation_of_the_dialect() -> None:
    x, w = floats(3, 8), floats(8)
    model = one_node_model("RMSNorm", {"x": x, "w": w}, eps=0.5)
    same(imported(model, {"x": x, "w": w})[0], x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 0.5) * w)


def test_cheap_normalisations() -> None:
    x = floats(2, 5, 3, 4)
    model = one_node_model("LRN", {"x": x}, 1, 13, size=3, alpha=0.5, bias=2.0)
    same(imported(model, {"x": x})[0], in_onnxruntime(model, {"x": x}))
    check_import("LpNormalization", x, {}, axis=1, p=2)
    check_import("LpNormalization", np.abs(x), {}, p=1)
    check_import("MeanVarianceNormalization", x, {})


# ---- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "dtype", "attributes", "says"),
    [
        ("Softmax", "float32", {"axis": 5}, "axis 5 is outside"),
        ("ReduceL2", "int32", {}, "X is int32; supported: float32"),
        ("ArgMax", "float32", {"axis": -3}, "axis -3 is outside"),
        ("LpNormalization", "float32", {"p": 3}, "the L3 norm"),
        ("LRN", "float32", {"size": 0}, "normalisation over 0 channels"),
    ],
)
def test_refusals(kind: str, dtype: str, attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(CompileError, match=says):
        frontend.load(one_node_model(kind, {"x": np.ones((4, 5), dtype)}, **attributes))
