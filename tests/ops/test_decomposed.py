"""Operators that become simpler ones, and those of few users: their meaning is ONNX's or ONNX Runtime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.ops.test_attention import check as check_contrib
from tests.support.checks import check_import, imported, one_node_model, same
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array

RANDOM = np.random.default_rng(5)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op.kind for node in frontend.load(model).nodes]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_top_k(axis: int, largest: int, k: int) -> None:
    x = RANDOM.integers(-3, 3, (5, 6, 5)).astype(np.float32)
    model = one_node_model("TopK", {"x": x}, 2, 18, constants={"k": ints(k)}, axis=axis, largest=largest)
    for found, wanted in zip(imported(model, {"x": x}), run_onnxruntime(model, {"x": x}).values(), strict=True):
        same(found, wanted)


def test_top_k_of_old_opsets_and_of_integers() -> None:
    x = RANDOM.integers(-9, 9, (4, 7)).astype(np.int32)
    for found, wanted in zip(
        imported(one_node_model("TopK", {"x": x}, 2, constants={"k": ints(3)}), {"x": x}),
        (np.sort(x)[:, :-4:-1], np.argsort(-x, kind="stable")[:, :3]),
        strict=True,
    ):
        same(found, np.ascontiguousarray(wanted))


def test_top_k_asks_for_no_more_than_there_is() -> None:
    with pytest.raises(CompileError, match="k is 8, but axis 1 has 7 elements"):
        frontend.load(one_node_model("TopK", {"x": floats(2, 7)}, 2, constants={"k": ints(8)}))


EQUATIONS = {
    "ij,jk->ik": [(3, 4), (4, 5)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "ij->ji": [(3, 4)], "ij->": [(3, 4)], "ij->j": [(3, 4)], "ii->i": [(4, 4)], "ii": [(4, 4)], "i,j->ij": [(3,), (4,)],
    "...ij,...jk->...ik": [(2, 3, 4), (4, 5)], "bij,kj->bki": [(2, 3, 4), (5, 4)], "i,i": [(4,), (4,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)], "ijk,ijk->ik": [(2, 3, 4), (2, 3, 4)], "...ii->...i": [(2, 3, 3)],
    "ij, kj -> jik": [(2, 3), (4, 3)], "...,...": [(2, 3), (1, 3)], "abc,cd->abd": [(2, 3, 4), (4, 1)],
}  # fmt: skip


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str) -> None:
    operands = [floats(*shape) for shape in EQUATIONS[equation]]
    feeds = {f"x{position}": operand for position, operand in enumerate(operands)}
    (found,) = imported(one_node_model("Einsum", feeds, equation=equation), feeds)
    same(found, np.asarray(np.einsum(equation.replace(" ", ""), *operands), np.float32))


def test_einsum_is_a_product_of_matrices() -> None:
    feeds = {"q": floats(1, 2, 3, 4), "k": floats(1, 2, 5, 4)}
    assert "MatMul" in kinds(one_node_model("Einsum", feeds, equation="bhid,bhjd->bhij"))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij->kk", "ijk->i"])
def test_equations_that_do_not_fit_are_refused(equation: str) -> None:
    with pytest.raises(CompileError, match=r"equation|stands for"):
        frontend.load(one_node_model("Einsum", {"x": floats(2, 3)}, equation=equation))


@pytest.mark.parametrize("length", [4, 7, 16, 32, 64])
@pytest.mark.parametrize(
    ("parts", "how"), [(1, {}), (2, {}), (1, {"inverse": 1}), (2, {"inverse": 1}), (1, {"onesided": 1})]
)
def test_dft(length: int, parts: int, how: dict[str, Any]) -> None:
    check_import("DFT", floats(2, length, 3, parts), {"n": None, "axis": np.array(1)}, **how)


@pytest.mark.parametrize("length", [3, 9, 16, 40])
def test_dft_of_another_length(length: int) -> None:
    """Cut, or filled up with zeros; numpy is the judge, for ONNX's own reference does otherwise when it cuts."""
    x = floats(2, 24, 1)
    made = one_node_model("DFT", {"x": x}, constants={"n": np.array(length)}, axis=1, opset=17)
    wanted = np.fft.fft(x[..., 0], length)
    same(imported(made, {"x": x})[0], np.stack([wanted.real, wanted.imag], -1).astype(np.float32))


@pytest.mark.parametrize("points", [9, 17, 33])
def test_real_values_come_back(points: int) -> None:
    x = floats(2, points, 2)
    made = one_node_model("DFT", {"x": x}, opset=17, axis=1, inverse=1, onesided=1)
    wanted = np.fft.irfft(x[..., 0] + 1j * x[..., 1])
    same(imported(made, {"x": x})[0], wanted[..., None].astype(np.float32))


@pytest.mark.parametrize("length", [10, 16])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", [False, True])
def test_stft(length: int, onesided: int, window: bool) -> None:
    constants = {"step": np.array(7), "window": floats(length) if window else None, "length": np.array(length)}
    check_import("STFT", floats(2, 60, 1), constants, onesided=onesided)


@pytest.mark.parametrize("batch_axis", [0, 1])
def test_reverse_sequence(batch_axis: int) -> None:
    x, lengths = floats(4, 4, 3), ints(1, 4, 0, 3)
    at = {"batch_axis": batch_axis, "time_axis": 1 - batch_axis}
    made = one_node_model("ReverseSequence", {"x": x, "n": lengths}, opset=18, **at)
    same(imported(made, {"x": x, "n": lengths})[0], run_onnxruntime(made, {"x": x, "n": lengths})["y0"])


def test_erfc() -> None:
    from math import erfc

    x = floats(3, 5)
    (found,) = imported(one_node_model("Erfc", {"x": x}), {"x": x})
    same(found, np.vectorize(erfc)(x).astype(np.float32))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None) -> None:
    chosen = np.array([True, False, True])
    check_import("Compress", floats(3, 4), {"condition": chosen}, **({} if axis is None else {"axis": axis}))


def packed(bits: int, columns: int, inner: int, block: int) -> dict[str, Array | None]:
    """Random weights of few bits as ONNX Runtime stores them."""
    blocks = -(-inner // block)
    return {
        "b": RANDOM.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8),
        "scales": np.abs(floats(columns * blocks)),
        "zeros": RANDOM.integers(0, 256, columns * (-(-blocks * bits // 8))).astype(np.uint8),
    }


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("inner", [32, 48, 96])
@pytest.mark.parametrize("bits", [4, 8])
def test_products_with_weights_of_few_bits(zeros: bool, inner: int, bits: int) -> None:
    tables = packed(bits, 6, inner, 32)
    if not zeros:
        tables["zeros"] = None
    inputs = {"a": floats(2, 3, inner), **tables}
    check_contrib("MatMulNBits", inputs, 1, ("b", "scales", "zeros"), K=inner, N=6, bits=bits, block_size=32)


def test_normalisations_of_onnxruntime() -> None:
    x, skip, gamma = floats(2, 3, 8), floats(2, 3, 8), floats(8)
    inputs: dict[str, Array | None] = {"x": x, "skip": skip, "gamma": gamma}
    check_contrib("SkipSimplifiedLayerNormalization", inputs, 1, ("gamma",), epsilon=1e-5)
    check_contrib("SkipSimplifiedLayerNormalization", {**inputs, "bias": floats(8)}, 1, ("gamma",), epsilon=1e-5)


def test_fused_operators_of_onnxruntime() -> None:
    check_contrib("FusedMatMul", {"a": floats(2, 4, 3), "b": floats(2, 5, 4)}, 1, transA=1, transB=1, alpha=0.5)
    image: dict[str, Array | None] = {"x": floats(1, 3, 6, 6), "w": floats(4, 3, 3, 3), "b": floats(4)}
    check_contrib("FusedConv", image, 1, ("w", "b"), activation="Relu", kernel_shape=[3, 3])
    check_contrib("FusedConv", image, 1, ("w", "b"), activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1])
    check_contrib("FusedConv", {**image, "z": floats(1, 4, 4, 4)}, 1, ("w", "b"), activation="Relu")


@pytest.mark.parametrize("dtype", [onnx.TensorProto.INT4, onnx.TensorProto.UINT4, onnx.TensorProto.INT8])
@pytest.mark.parametrize("zero", [False, True])
def test_constants_that_are_quantised_in_blocks(dtype: int, zero: bool) -> None:
    """Weights of 4 bits with a scale for every four of a row."""
    element = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    low = 0 if dtype == onnx.TensorProto.UINT4 else -8
    weights, zeros = (RANDOM.integers(low, low + 16, shape).astype(element) for shape in ((3, 8), (3, 2)))
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["w", "s", *(["z"] if zero else [])], ["d"], axis=1, block_size=4),
        onnx.helper.make_node("Mul", ["x", "d"], ["y"]),
    ]
    scales = np.abs(floats(3, 2))
    tensors = [onnx.numpy_helper.from_array(a, n) for a, n in ((weights, "w"), (scales, "s"), (zeros, "z"))]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "blocks", [info("x", 1, (3, 8))], [info("y", 1, (3, 8))], tensors[: 3 if zero else 2]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    x = floats(3, 8)
    same(imported(model, {"x": x})[0], np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0]))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    x, grid = floats(2, 3, 5, 4), RANDOM.uniform(-1.5, 1.5, (2, 6, 3, 2)).astype(np.float32)
    old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    feeds = {"x": x, "grid": grid}
    made = one_node_model("GridSample", feeds, opset=16, mode=old, padding_mode=padding, align_corners=align)
    same(imported(made, feeds)[0], run_onnxruntime(made, feeds)["y0"], 1e-5)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, -2])
def test_tensor_scatter(mode: str, axis: int) -> None:
    """From a place on, and (a ring) on from the start behind the end."""
    cache, new = floats(2, 6, 6, 4), floats(*((2, 3, 6, 4) if axis == 1 else (2, 6, 3, 4)))
    first = ints(1, 4 if mode == "circular" else 3)
    wanted = np.moveaxis(cache.copy(), axis, 1)
    for row, place in enumerate(first):
        wanted[row, (place + np.arange(3)) % 6] = np.moveaxis(new, axis, 1)[row]
    feeds = {"cache": cache, "new": new, "first": first}
    (found,) = imported(one_node_model("TensorScatter", feeds, axis=axis, mode=mode), feeds)
    same(found, np.moveaxis(wanted, 1, axis))


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("more", [{}, {"pads": [1, 0, 1, 1]}, {"ceil_mode": 1, "strides": [2, 2]}])
def test_lp_pool(p: int, more: dict[str, Any]) -> None:
    x = floats(1, 2, 6, 7)
    made = one_node_model("LpPool", {"x": x}, opset=18, kernel_shape=[3, 2], p=p, **more)
    same(imported(made, {"x": x})[0], run_onnxruntime(made, {"x": x})["y0"], 1e-5)


@pytest.mark.parametrize("more", [{}, {"strides": [2, 1]}, {"pads": [1, 0, 1, 2]}, {"dilations": [1, 2]}])
def test_col2im(more: dict[str, Any]) -> None:
    image, block = (6, 7), (2, 3)
    strides, dilations, pads = more.get("strides", [1, 1]), more.get("dilations", [1, 1]), more.get("pads", [0] * 4)
    counts = [
        (size + pads[at] + pads[2 + at] - (taps - 1) * dilations[at] - 1) // strides[at] + 1
        for at, (size, taps) in enumerate(zip(image, block, strict=True))
    ]
    shapes = {"image": ints(*image), "block": ints(*block)}
    check_import("Col2Im", floats(2, 18, counts[0] * counts[1]), shapes, **more)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_columns_of_short_integers_wrap_around(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = RANDOM.integers(limits.min, limits.max, (2, 18, 30), endpoint=True).astype(dtype)
    with np.errstate(over="ignore"):
        check_import("Col2Im", x, {"image": ints(6, 6), "block": ints(3, 3)}, pads=[1, 0, 1, 1])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
def test_short_integers_are_interpolated_as_floats_and_cut_off(dtype: str, mode: str) -> None:
    limits = np.iinfo(dtype)
    x = RANDOM.integers(limits.min, limits.max, (1, 2, 5, 9), endpoint=True).astype(dtype)
    x[0, 0, 0, :2] = limits.min, limits.max
    sizes = {"roi": None, "scales": None, "sizes": ints(1, 2, 9, 17)}
    model = one_node_model(
        "Resize", {"x": x}, opset=13, constants=sizes, mode="linear", coordinate_transformation_mode=mode
    )
    (found,), wanted = imported(model, {"x": x}), run_onnxruntime(model, {"x": x})["y0"]
    assert found.dtype == wanted.dtype
    apart = np.abs(found.astype(int) - wanted.astype(int))
    assert apart.max() <= 1
    assert np.mean(apart) < 0.02  # next to a whole number, rounding of floats decides


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("more", [{}, {"pads": [1, 0, 1, 0, 1, 1]}, {"ceil_mode": 1, "strides": [2, 2, 3]}])
def test_pools_over_three_axes(kind: str, more: dict[str, Any]) -> None:
    x = floats(1, 2, 6, 5, 7)
    made = one_node_model(kind, {"x": x}, opset=19, kernel_shape=[3, 2, 2], **more)
    same(imported(made, {"x": x})[0], run_onnxruntime(made, {"x": x})["y0"])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"pads": [1, 0, 1, 1], "strides": [2, 1]},
        {"dilations": [2, 1], "storage_order": 1},
        {"ceil_mode": 1, "strides": [2, 2]},
    ],
)
def test_where_the_maxima_of_windows_stand(more: dict[str, Any]) -> None:
    x = floats(2, 3, 6, 5)
    made = one_node_model("MaxPool", {"x": x}, 2, opset=19, kernel_shape=[3, 2], **more)
    wanted = run_onnxruntime(made, {"x": x})
    for found, name in zip(imported(made, {"x": x}), ("y0", "y1"), strict=True):
        same(found, wanted[name])


@pytest.mark.parametrize(("dtype", "least"), [("uint8", 0), ("int8", -128), ("float32", -np.inf)])
def test_maxima_never_stand_in_the_padding(dtype: str, least: float) -> None:
    x = np.full((1, 2, 4, 4), least, dtype)
    made = one_node_model("MaxPool", {"x": x}, 2, opset=19, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1])
    same(imported(made, {"x": x})[1], run_onnxruntime(made, {"x": x})["y1"])


@pytest.mark.parametrize("constants", [{}, {"shape": [1, 2, 5, 5]}])
def test_max_unpool(constants: dict[str, list[int]]) -> None:
    indices = np.array([0, 3, 9, 14, 17, 18, 25, 31], np.int64).reshape(1, 2, 2, 2)
    fixed = {"indices": indices, **{name: ints(*value) for name, value in constants.items()}}
    check_import("MaxUnpool", floats(1, 2, 2, 2), fixed, kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize("more", [{}, {"k": -1}, {"dtype": onnx.TensorProto.INT32}])
def test_what_needs_no_more_than_a_shape_is_a_constant(more: dict[str, int]) -> None:
    assert not check_import("EyeLike", floats(3, 4), {}, **more).nodes


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [1, 5])
def test_products_that_are_quantised_on_the_way(dtype: str, columns: int) -> None:
    low, high = (-128, 128) if dtype == "int8" else (0, 256)
    b = RANDOM.integers(low, high, (7, 5)).astype(dtype)
    scale, zero = np.abs(floats(columns)) + 0.1, RANDOM.integers(max(low, -9), 9, columns).astype(dtype)
    weights = ("b", "scale", "zero", "bias")
    inputs: dict[str, Array | None] = {"a": floats(2, 3, 7), "b": b, "scale": scale, "zero": zero, "bias": floats(5)}
    check_contrib("DynamicQuantizeMatMul", inputs, 1, weights)
    a = RANDOM.integers(0, 256, (2, 3, 7)).astype(np.uint8)
    scales = {"a_scale": np.float32(0.3).reshape(1), "scale": scale, "a_zero": np.uint8([9])}
    given: dict[str, Array | None] = {"a": a, "b": b, **scales, "zero": zero, "bias": floats(5)}
    check_contrib("MatMulIntegerToFloat", given, 1, (*weights, "a_scale", "a_zero"))


@pytest.mark.parametrize("segments", [False, True])
def test_embeddings_of_onnxruntime(segments: bool) -> None:
    ids, mask = RANDOM.integers(0, 9, (2, 4)).astype(np.int32), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    tables = {"words": floats(9, 8), "places": floats(6, 8), "segments": floats(2, 8) if segments else None}
    inputs: dict[str, Array | None] = {
        "ids": ids, "of": RANDOM.integers(0, 2, (2, 4)).astype(np.int32) if segments else None, **tables,
        "gamma": floats(8), "beta": floats(8), "mask": mask,
    }  # fmt: skip
    check_contrib("EmbedLayerNormalization", inputs, 2, ("words", "places", "segments", "gamma", "beta"))


def test_constant_indices_take_32_bits() -> None:
    graph = check_import("Gather", floats(5, 4), {"indices": ints(0, -1, 3)})
    assert {array.dtype.name for array in graph.constants.values() if array.shape == (3,)} >= {"int32"}
    assert graph.types[graph.nodes[0].inputs[1]].dtype == "int32"
    check_import("ScatterND", floats(5, 4), {"indices": ints(0, 3).reshape(2, 1), "updates": floats(2, 4)})
    check_import("GatherElements", floats(5, 4), {"indices": ints(0, -1, 3, 2).reshape(1, 4)})


def test_tables_of_a_hostile_size_are_refused() -> None:
    with pytest.raises(CompileError, match="the table of a transform would have 1073741824 elements"):
        frontend.load(one_node_model("DFT", {"x": floats(1, 8, 1)}, constants={"n": np.array(2**30)}, opset=17, axis=1))
    blocks = {"image": ints(2**20, 2**20), "block": ints(2**14, 1)}
    with pytest.raises(CompileError, match="the filters would have 268435456 elements"):
        frontend.load(one_node_model("Col2Im", {"x": floats(1, 2**14, 1)}, constants=blocks))
