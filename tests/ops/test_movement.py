"""Operators that move elements: their meaning is ONNX's, and every form of a node is imported."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support.checks import check_import, imported, one_node_model, same
from tests.support.movement import values
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, Shape
from tilewright.ops._resampling import COORDINATES

pytestmark = pytest.mark.fast

RANDOM = np.random.default_rng(3)


# ---- import -------------------------------------------------------------------------------------------------------


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def floats(*shape: int) -> Array:
    return values(RANDOM, shape, "float32")


def kinds(graph: Graph) -> list[str]:
    return [node.op.kind for node in graph.nodes]


@pytest.mark.parametrize("wanted", [(6, 4), (-1, 2), (0, -1), (2, 0, 2, 2), (24,), (0, 0, 0)])
def test_reshape(wanted: Shape) -> None:
    check_import("Reshape", floats(2, 3, 4), {"shape": ints(*wanted)})


def test_reshape_may_keep_zeros() -> None:
    check_import("Reshape", floats(0, 3), {"shape": ints(3, 0)}, allowzero=1)


@pytest.mark.parametrize("axis", [-2, 0, 1, 3])
def test_flatten(axis: int) -> None:
    check_import("Flatten", floats(2, 3, 4), {}, axis=axis)


def test_squeeze_and_unsqueeze_by_input_or_attribute() -> None:
    x = floats(1, 3, 1, 2)
    check_import("Squeeze", x, {})
    check_import("Squeeze", x, {"axes": ints(-2)})
    check_import("Squeeze", x, {}, opset=11, axes=[0, 2])
    check_import("Unsqueeze", x, {"axes": ints(-1, 0)})
    check_import("Unsqueeze", x, {}, opset=11, axes=[1, 3])


def test_transposition_of_axes_of_one_moves_nothing() -> None:
    assert kinds(check_import("Transpose", floats(1, 3, 1, 4), {}, perm=[1, 2, 0, 3])) == ["Reshape"]
    assert kinds(check_import("Transpose", floats(2, 3, 4), {})) == ["Transpose"]


@pytest.mark.parametrize(
    "bounds",
    [
        {"starts": ints(1, 0), "ends": ints(3, 2)},
        {"starts": ints(-3, 1), "ends": ints(1000, -1), "axes": ints(-1, 0)},
        {"starts": ints(4, -1), "ends": ints(-100, 0), "axes": ints(2, 1), "steps": ints(-2, -1)},
        {"starts": ints(2), "ends": ints(1), "axes": ints(0)},
        {"starts": ints(2**63 - 1), "ends": ints(-(2**63)), "axes": ints(2), "steps": ints(-1)},
    ],
)  # fmt: skip
def test_slice(bounds: dict[str, Array]) -> None:
    check_import("Slice", floats(3, 4, 5), dict(bounds))


def test_slice_by_attributes() -> None:
    assert kinds(check_import("Slice", floats(3, 4), {}, opset=9, starts=[0, 1], ends=[9, -1])) == ["Slice"]
    assert kinds(check_import("Slice", floats(3, 4), {}, opset=9, starts=[0], ends=[3], axes=[0])) == ["Identity"]


def test_split() -> None:
    x = floats(7, 4)
    check_import("Split", x, {}, 2, axis=1, num_outputs=2)
    check_import("Split", x, {}, 3, num_outputs=3)
    check_import("Split", x, {"split": ints(0, 5, 2)}, 3)
    check_import("Split", x, {}, 2, opset=11, axis=-1, split=[1, 3])
    check_import("Split", x, {}, 2, opset=11, axis=1)


def test_part_of_a_split_that_nothing_reads_costs_nothing() -> None:
    model = one_node_model("Split", {"x": floats(6)}, 3, num_outputs=3)
    model.graph.node[0].output[1] = ""
    del model.graph.output[1]
    assert kinds(frontend.load(model)) == ["Slice", "Slice"]


def test_concat_drops_what_is_empty() -> None:
    x = {"a": floats(2, 3), "b": floats(2, 0), "c": floats(2, 1)}
    model = one_node_model("Concat", dict(x), axis=-1)
    same(imported(model, x)[0], np.concatenate([x["a"], x["c"]], 1))
    assert [len(node.inputs) for node in frontend.load(model).nodes] == [2]


@pytest.mark.parametrize("wanted", [(3, 4), (2, 3, 4), (1, 1), (5, 1, 4)])
def test_expand(wanted: Shape) -> None:
    check_import("Expand", floats(3, 1), {"shape": ints(*wanted)})


@pytest.mark.parametrize("repeats", [(1, 1, 1), (2, 1, 3), (1, 4, 1), (0, 1, 1)])
def test_tile(repeats: Shape) -> None:
    check_import("Tile", floats(2, 1, 3), {"repeats": ints(*repeats)})


def test_gather_of_one_known_index_is_a_slice() -> None:
    assert "Gather" not in kinds(check_import("Gather", floats(3, 4), {"i": np.array(-1)}, axis=1))
    assert "Gather" not in kinds(check_import("Gather", floats(3, 4), {"i": ints(2)}))
    check_import("Gather", floats(3, 4), {"i": np.array([[0, -1], [1, 1]])}, axis=-1)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_and_back(mode: str) -> None:
    check_import("DepthToSpace", floats(2, 12, 2, 3), {}, blocksize=2, mode=mode)
    check_import("SpaceToDepth", floats(2, 3, 4, 6), {}, blocksize=2)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(1, 2, 2, 1), (0, 0, 0, 3), (0, 0, 0, 0)])
def test_pad(mode: str, pads: Shape) -> None:
    check_import("Pad", floats(4, 5), {"pads": ints(*pads)}, mode=mode)


def test_pad_by_attributes_axes_and_value() -> None:
    x = floats(4, 5)
    seven, axis = np.array(7, np.float32), ints(-1)
    check_import("Pad", x, {"pads": ints(1, 2), "value": seven, "axes": axis})
    check_import("Pad", x, {"pads": ints(1, 2), "value": None, "axes": axis}, mode="edge")
    check_import("Pad", x, {}, opset=7, pads=[0, 1, 2, 0], value=1.5)
    check_import("Pad", values(RANDOM, (3,), "int8"), {"pads": ints(1, 1), "value": np.array(-3, np.int8)})


def test_negative_pads_cut() -> None:
    x = floats(4, 5)
    wanted = np.pad(x[1:, :-2], [(0, 1), (2, 0)])
    model = one_node_model("Pad", {"x": x}, constants={"pads": ints(-1, 2, 1, -2)})
    same(imported(model, {"x": x})[0], wanted)


def test_constants_are_folded_by_the_rules_of_their_opset() -> None:
    """A newer Squeeze has its axes as an input, and would remove all that it can."""
    x = floats(1, 3, 4, 1)
    same(imported(one_node_model("Squeeze", {}, 1, 11, constants={"x": x}, axes=[-4]), {})[0], x[0])
    wide = imported(one_node_model("Unsqueeze", {}, 1, 11, constants={"x": x}, axes=[-2, -1]), {})[0]
    same(wide, x[..., None, None])
    same(imported(one_node_model("ReduceSum", {}, 1, 11, constants={"x": x}, axes=[1]), {})[0], x.sum(1, keepdims=True))
    same(imported(one_node_model("Clip", {}, 1, 7, constants={"x": x}, min=0.0, max=0.5), {})[0], x.clip(0, 0.5))


@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceMax"])
def test_folded_constants_keep_their_type(kind: str) -> None:
    x = np.array([1, -2, 3], np.int32)
    assert imported(one_node_model(kind, {}, 1, 13, constants={"x": x}), {})[0].dtype == np.int32


def test_negative_pads_cut_before_elements_are_repeated() -> None:
    x = floats(7)
    model = one_node_model("Pad", {"x": x}, constants={"pads": ints(1, -2)}, mode="wrap")
    same(imported(model, {"x": x})[0], np.pad(x[:-2], (1, 0), mode="wrap"))


@pytest.mark.parametrize("constant", [False, True])
def test_backward_slices_from_before_the_first_element_begin_there(constant: bool) -> None:
    """Not numpy's rule: ONNX moves such a start to the first element."""
    x = floats(3, 4)
    bounds = {"starts": ints(-9), "ends": ints(-(2**63)), "axes": ints(0), "steps": ints(-1)}
    inputs, constants = ({}, {"x": x, **bounds}) if constant else ({"x": x}, bounds)
    same(imported(one_node_model("Slice", inputs, constants=constants), inputs)[0], x[:1])


@pytest.mark.parametrize("scale", [0.6, 1.7, 0.7, 3.3])
def test_resize_positions_are_rounded_like_their_scale(scale: float) -> None:
    """In float32, as ONNX Runtime does: in float64, 3 / 0.6 would be a little less than 5 with the 0.6 of the file."""
    x = floats(1, 1, 1, 40)
    constants = {"roi": None, "scales": np.array([1, 1, 1, scale], np.float32)}
    rules = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    model = one_node_model("Resize", {"x": x}, 1, 19, constants=constants, **rules)
    same(imported(model, {"x": x})[0], run_onnxruntime(model, {"x": x})["y0"])


@pytest.mark.parametrize(
    ("coordinates", "mode", "scales"),
    list(product(
            sorted(COORDINATES.keys() - {"tf_half_pixel_for_nn"}), ["nearest", "linear", "cubic"],
            [(1, 1, 2, 3), (1, 1, 0.6, 1.7)],
        )),
)  # fmt: skip
def test_resize_by_scales(mode: str, coordinates: str, scales: tuple[float, ...]) -> None:
    constants = {"roi": None, "scales": np.array(scales, np.float32)}
    x = floats(1, 2, 4, 5)
    check_import("Resize", x, dict(constants), mode=mode, coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("coordinates", ["align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_resize_to_few_elements(coordinates: str, size: int) -> None:
    """Where the scale, rounded to float32, does not quite give the size."""
    x, constants = floats(1, 1, 1, 6), {"roi": None, "scales": None, "sizes": ints(1, 1, 1, size)}
    for rules in ({"mode": "nearest", "nearest_mode": "floor"}, {"mode": "linear"}):
        rules |= {"coordinate_transformation_mode": coordinates}
        model = one_node_model("Resize", {"x": x}, 1, 19, constants=constants, **rules)
        same(imported(model, {"x": x})[0], run_onnxruntime(model, {"x": x})["y0"])


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_to_sizes(rounding: str) -> None:
    constants = {"roi": None, "scales": None, "sizes": ints(7, 3)}
    check_import("Resize", floats(1, 4, 5), dict(constants), axes=[2, 1], nearest_mode=rounding)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_keeps_the_aspect(policy: str) -> None:
    constants = {"roi": None, "scales": None, "sizes": ints(7, 8)}
    check_import("Resize", floats(4, 5), dict(constants), keep_aspect_ratio_policy=policy, mode="linear")


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias(mode: str) -> None:
    constants = {"roi": None, "scales": np.array([0.6, 0.4], np.float32)}
    check_import("Resize", floats(9, 8), dict(constants), mode=mode, antialias=1)
    check_import("Resize", floats(9, 8), dict(constants), mode=mode, exclude_outside=1)


def test_resize_of_integers_with_antialias_is_refused() -> None:
    constants = {"roi": None, "scales": np.array([0.6, 0.4], np.float32)}
    pixels = np.arange(72, dtype=np.uint8).reshape(9, 8)
    with pytest.raises(CompileError, match="interpolation of uint8 with antialias is not supported"):
        check_import("Resize", pixels, constants, mode="linear", antialias=1)


@pytest.mark.parametrize(("kind", "opset"), [("Upsample", 9), ("Resize", 10)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_older_forms_of_resize(kind: str, opset: int, mode: str) -> None:
    x, scales = floats(1, 1, 3, 4), np.array([1, 1, 2, 3], np.float32)
    model = one_node_model(kind, {"x": x}, 1, opset, constants={"scales": scales}, mode=mode)
    model.ir_version = 8
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    same(imported(model, {"x": x})[0], wanted)


def test_cumulative_sums_triangles_and_one_hot() -> None:
    x = floats(3, 4)
    check_import("CumSum", x, {"axis": np.array(-1)}, exclusive=1, reverse=1)
    check_import("Trilu", x, {"k": np.array(-1)}, upper=0)
    check_import("Trilu", x, {"k": np.array(1000)})
    hot = {"depth": np.array(5), "values": np.array([2.0, 3.0], np.float32)}
    check_import("OneHot", np.array([[1, -2], [7, 0]]), dict(hot), axis=1)


# ---- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "constants", "attributes", "says"),
    [
        ("Reshape", {"shape": ints(3, -1)}, {}, "does not have the elements"),
        ("Reshape", {"shape": ints(-1, -1)}, {}, "more than one unknown"),
        ("Transpose", {}, {"perm": [0, 0]}, "no order of the axes"),
        ("Slice", {"starts": ints(0), "ends": ints(1), "axes": ints(5)}, {}, "along axis 5"),
        ("Slice", {"starts": ints(0), "ends": ints(1), "axes": ints(0), "steps": ints(0)}, {}, "step 0"),
        ("Squeeze", {"axes": ints(0)}, {}, "not all of size 1"),
        ("Expand", {"shape": ints(2, 7)}, {}, "do not broadcast"),
        ("Gather", {"i": ints(9)}, {}, "axis 9 is outside"),
        ("Split", {"split": ints(1, 1)}, {}, "do not make up an axis of 4"),
        ("Pad", {"pads": ints(1, 1)}, {}, "for 2 axes"),
        ("Slice", {"a": ints(-1), "b": ints(2**63 - 1), "c": ints(0), "d": ints(-1)}, {}, "others read it as no end"),
        ("Pad", {"pads": ints(1, 1, 1, 1)}, {"mode": "mirror"}, "mode mirror is unknown"),
        ("Resize", {"roi": None, "scales": np.ones(2, np.float32)}, {"mode": "sharp"}, "mode sharp is unknown"),
        ("Resize", {"roi": None, "scales": np.array([1, 3e38], np.float32)}, {}, "an axis of 5 resized by"),
        (
            "Resize",
            {"roi": np.ones(4, np.float32), "scales": np.array([1, 2], np.float32)},
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            "tf_crop_and_resize is not supported",
        ),
    ],
)  # fmt: skip
def test_refusals(kind: str, constants: dict[str, Array | None], attributes: dict[str, Any], says: str) -> None:
    model = one_node_model(kind, {"x": floats(4, 5)}, constants=constants, **attributes)
    with pytest.raises(CompileError, match=says):
        frontend.load(model)


def test_a_shape_that_is_computed_at_run_time_is_refused() -> None:
    model = one_node_model("Reshape", {"x": floats(4, 5), "shape": ints(5, 4)})
    with pytest.raises(CompileError, match="computed at run time"):
        frontend.load(model)


# ---- what is known only at run time -------------------------------------------------------------------------------


def at_run_time(kind: str, x: Array, second: Array, wanted: Array, **attributes: Any) -> Graph:
    """Of a node whose second operand is an input; the file declares the shape of the result."""
    model = one_node_model(kind, {"x": x, "second": second}, **attributes)
    dtype = onnx.helper.np_dtype_to_tensor_dtype(wanted.dtype)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y0", dtype, wanted.shape))
    same(imported(model, {"x": x, "second": second})[0], wanted)
    return frontend.load(model)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_an_axis_that_is_known_at_run_time(axis: int) -> None:
    x = floats(2, 3, 4)
    at_run_time("CumSum", x, np.array(axis), np.cumsum(x, axis, dtype=np.float32))
    graph = at_run_time("CumProd", x, np.array(axis), np.cumprod(x, axis, dtype=np.float32), opset=26)
    assert "node 'y0': axes are known at run time: all 3 ways are computed" in graph.notes


@pytest.mark.parametrize("axes", [(0, 1), (-1, 0), (2, 1)])
def test_axes_of_reductions_that_are_known_at_run_time(axes: tuple[int, int]) -> None:
    x = floats(3, 3, 3)
    at_run_time("ReduceMax", x, ints(*axes), x.max(axes), keepdims=0)
    at_run_time(
        "ReduceSum",
        x,
        ints(*axes),
        x.sum(axes, keepdims=True) if axes == (0, 1) else x.sum(axes),
        keepdims=int(axes == (0, 1)),
    )


def test_axes_that_too_many_sizes_fit() -> None:
    model = one_node_model("ReduceMax", {"x": floats(3, 3, 3), "axes": ints(1)}, keepdims=0)
    with pytest.raises(CompileError, match=r"axes .* are computed at run time, and 0 ways fit the shapes"):
        frontend.load(model)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 7])
def test_a_diagonal_that_is_known_at_run_time(k: int, upper: int) -> None:
    x = floats(2, 4, 5)
    at_run_time("Trilu", x, np.array(k), np.triu(x, k) if upper else np.tril(x, k), upper=upper)
