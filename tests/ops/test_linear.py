"""Linear operators and pools: every form of a node is imported, and means what ONNX's own reference says."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from tests.support import linear_cases
from tests.support.checks import Case, imported, one_node_model, same
from tests.support.examples import examples
from tests.support.quantiser import run_onnxruntime
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array
from tilewright.ops._windows import Windowed
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.matmul import MatMul

pytestmark = pytest.mark.fast

few = examples(40)


# ---- import -----------------------------------------------------------------------------------------------------


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return np.random.default_rng(sum(shape)).integers(info.min, info.max, shape, dtype, endpoint=True)


def check_import(kind: str, arrays: list[Array | None], opset: int = 0, constants: int = 0, **attributes: Any) -> None:
    """A one-node model means the same here and in ONNX; the last `constants` inputs are initialisers."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    split = len(arrays) - constants
    inputs = dict(zip(names[:split], arrays[:split], strict=True))
    fixed = {name: array for name, array in zip(names[split:], arrays[split:], strict=True) if array is not None}
    model = one_node_model(kind, inputs, 1, opset, constants=fixed, **attributes)
    feeds = {name: array for name, array in inputs.items() if array is not None}
    graph = pipeline.import_model(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ReferenceEvaluator(model).run(None, feeds)
    same(evaluate(graph, feeds)[graph.outputs[0]], np.asarray(wanted[0]))


def refuses(kind: str, arrays: list[Array], results: int = 1, **attributes: Any) -> str:
    model = one_node_model(kind, {f"x{i}": array for i, array in enumerate(arrays)}, results, **attributes)
    with pytest.raises(CompileError) as caught:
        pipeline.import_model(model)
    return str(caught.value)


@pytest.mark.parametrize("opset", [7, 11, 22])
def test_conv_imports(opset: int) -> None:
    x, w, b = floats(1, 4, 7, 8), floats(6, 2, 3, 2), floats(6)
    check_import("Conv", [x, w, b], opset, pads=[1, 0, 2, 3], strides=[2, 1], dilations=[1, 2], group=2)
    check_import("Conv", [x, floats(6, 4, 3, 3)], opset, auto_pad="SAME_LOWER", strides=[2, 2])
    check_import("Conv", [floats(2, 3, 9), floats(4, 3, 4)], opset, auto_pad="SAME_UPPER", kernel_shape=[4])
    check_import("Conv", [floats(2, 3, 9), floats(3, 1, 4)], opset, auto_pad="VALID", group=3)


def scattered(op: ConvTranspose, x: Array, w: Array) -> Array:
    """The definition, element by element, in one spatial axis and one group."""
    y = np.zeros((x.shape[0], w.shape[1], *op.spatial), np.float64)
    for n, c, i, f, r in np.ndindex(*x.shape, *w.shape[1:]):
        at = i * op.strides[0] + r * op.dilations[0] - op.before[0]
        if 0 <= at < op.spatial[0]:
            y[n, f, at] += float(x[n, c, i]) * float(w[c, f, r])
    return y.astype(np.float32)


@few
@given(st.integers(1, 3), st.integers(1, 3), st.integers(-2, 3), st.integers(1, 12), st.integers(1, 4))
def test_transposed_conv_scatters(stride: int, dilation: int, before: int, size: int, taps: int) -> None:
    op = ConvTranspose(strides=(stride,), dilations=(dilation,), before=(before,), spatial=(size,))
    x, w = floats(2, 2, 4), floats(2, 3, taps)
    same(op.numpy(x, w), scattered(op, x, w))


def transposed(**attributes: Any) -> ConvTranspose:
    """The operator for 5 inputs and 3 taps with stride 2: 11 outputs before anything is cut off."""
    model = one_node_model("ConvTranspose", {"x": floats(1, 2, 5), "w": floats(2, 2, 3)}, strides=[2], **attributes)
    (node,) = pipeline.import_model(model).nodes
    assert isinstance(node.op, ConvTranspose)
    return node.op


def test_conv_transpose_geometry() -> None:
    assert (transposed().before, transposed().spatial) == ((0,), (11,))
    assert transposed(pads=[1, 2], output_padding=[1]).spatial == (9,)
    assert transposed(output_shape=[8]).before == (2,)
    assert transposed(output_shape=[8], auto_pad="SAME_UPPER").before == (1,)
    assert transposed(auto_pad="SAME_LOWER").spatial == (10,)


def test_conv_transpose_pads_no_result_to_the_same_size() -> None:
    """What onnxruntime and ONNX's shape inference give where windows are shorter than strides."""
    operands = {"x": floats(1, 2, 5), "w": floats(2, 2, 1)}
    model = one_node_model("ConvTranspose", operands, opset=19, strides=[2], auto_pad="SAME_UPPER")
    (found,) = imported(model, operands)
    assert found.shape == (1, 2, 9)
    same(found, run_onnxruntime(model, operands)["y0"], 1e-6)


def test_conv_transpose_reads_no_more_than_it_needs() -> None:
    """With stride 2 and one tap every other result comes from no input at all."""
    op = ConvTranspose(strides=(2,), dilations=(1,), before=(0,), spatial=(7,))
    shapes = {"X": (1, 1, 4), "W": (1, 1, 1)}
    spans = [op.footprint(shapes, box(y))["X"][2] for y in range(4)]
    assert spans == [(0, 1), (1, 1), (1, 2), (2, 2)]


def box(y: int) -> dict[str, tuple[int, int]]:
    return {**dict.fromkeys("ngfcs", (0, 1)), "x": (y, y + 1)}


def test_conv_transpose_imports() -> None:
    x, w = floats(1, 4, 5, 4), floats(4, 3, 3, 2)
    check_import("ConvTranspose", [x, w], strides=[3, 2], pads=[1, 0, 1, 0])
    check_import("ConvTranspose", [floats(1, 4, 5), floats(4, 2, 3), floats(2)], strides=[2])


def test_integer_forms_import() -> None:
    x, w = integers("uint8", 1, 2, 6, 5), integers("uint8", 3, 2, 3, 3)
    check_import("ConvInteger", [x, w, np.array(7, np.uint8)], constants=1, pads=[1, 1, 1, 1])
    check_import("ConvInteger", [x, w, np.array(7, np.uint8), np.array([3, 5, 200], np.uint8)], constants=3)
    check_import("ConvInteger", [x, w, np.array(7, np.uint8)], pads=[0, 1, 0, 1])
    a, b = integers("uint8", 4, 3), integers("int8", 3, 5)
    check_import("MatMulInteger", [a, b])
    check_import("MatMulInteger", [a, b, np.array([12], np.uint8), np.array([-3], np.int8)], constants=2)
    check_import("MatMulInteger", [a, b, np.array([12], np.uint8), integers("int8", 5)], constants=3)
    check_import("MatMulInteger", [a, b, np.array([12], np.uint8)])


@pytest.mark.parametrize("opset", [7, 9, 11, 13])
def test_matmul_and_gemm_import(opset: int) -> None:
    check_import("MatMul", [floats(2, 1, 3, 4), floats(5, 4, 2)], opset)
    check_import("MatMul", [floats(4), floats(5, 4, 2)], opset)
    check_import("MatMul", [floats(2, 3, 4), floats(4)], opset)
    check_import("Gemm", [floats(4, 3), floats(5, 4), floats(1, 5)], opset, transA=1, transB=1, alpha=0.5, beta=2.0)
    check_import("Gemm", [floats(3, 4), floats(4, 5), floats(3, 1)], opset)
    if opset >= 9:
        check_import("MatMul", [integers("int32", 3, 4), integers("int32", 4, 2)], opset)
        check_import("MatMul", [integers("int64", 3, 4), integers("int64", 4, 2)], opset)
    if opset >= 11:
        check_import("Gemm", [floats(3, 4), floats(4, 5)], opset, beta=3.0)


@pytest.mark.parametrize("opset", [10, 19, 22])
def test_pools_import(opset: int) -> None:
    x = floats(1, 2, 7, 9)
    check_import("MaxPool", [x], opset, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1, pads=[1, 0, 1, 1])
    check_import("MaxPool", [floats(1, 2, 9)], opset, kernel_shape=[2], dilations=[3])
    check_import("AveragePool", [x], opset, kernel_shape=[3, 2], auto_pad="SAME_UPPER", strides=[2, 2])
    check_import("AveragePool", [x], opset, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    check_import("AveragePool", [x], opset, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
    check_import("AveragePool", [floats(1, 2, 3, 3)], opset, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    check_import("MaxPool", [floats(1, 2, 3, 3)], opset, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    # A last window that starts in the padding after the last element counts, one behind all padding does not.
    line = floats(1, 1, 6)
    check_import("MaxPool", [line], opset, kernel_shape=[3], strides=[3], ceil_mode=1, pads=[1, 1])
    check_import("MaxPool", [line], opset, kernel_shape=[2], strides=[3], ceil_mode=1, pads=[0, 1])
    check_import("GlobalAveragePool", [floats(2, 3, 4, 5, 2)], opset)
    check_import("GlobalMaxPool", [x], opset)


def test_convolutions_over_three_axes_import() -> None:
    x, w = floats(2, 4, 5, 6, 4), floats(6, 2, 3, 2, 3)
    check_import("Conv", [x, w, floats(6)], group=2, strides=[2, 1, 2], pads=[1, 0, 1, 2, 1, 0])
    check_import("Conv", [x, floats(3, 4, 2, 1, 1)], dilations=[3, 1, 1])
    check_import("Conv", [x, floats(4, 1, 3, 3, 3)], group=4, auto_pad="SAME_UPPER", strides=[2, 2, 2])
    check_import("Conv", [floats(1, 1, 3, 3, 3), floats(1, 1, 3, 3, 3)])


@pytest.mark.parametrize("depth", [(1, 1, 0, 0), (2, 1, 1, 0), (3, 2, 1, 2), (1, 3, 7, 0), (2, 1, 4, 1)])
def test_transposed_convolutions_over_three_axes_import(depth: tuple[int, int, int, int]) -> None:
    stride, dilation, before, after = depth
    operands: list[Array | None] = [floats(2, 2, 4, 3, 2), floats(2, 3, 3, 2, 3), floats(3)]
    window = {"strides": [stride, 2, 1], "dilations": [dilation, 1, 1], "pads": [before, 0, 1, after, 1, 0]}
    check_import("ConvTranspose", operands, **window)
    if stride > 1:
        check_import("ConvTranspose", operands, **window, output_padding=[1, 0, 0])


def test_batch_normalization_imports() -> None:
    arrays: list[Array | None] = [floats(2, 3, 4), floats(3), floats(3), floats(3), np.abs(floats(3)) + 1]
    check_import("BatchNormalization", arrays, epsilon=0.01)
    check_import("BatchNormalization", arrays, constants=4)


def test_indices_that_nothing_reads_are_not_computed() -> None:
    model = one_node_model("MaxPool", {"x": floats(1, 1, 4)}, 2, kernel_shape=[2])
    del model.graph.output[1]
    assert [node.op.kind for node in pipeline.import_model(model).nodes] == ["MaxPool"]


def test_refusals_say_why() -> None:
    assert "4 spatial axes" in refuses("Conv", [floats(1, 1, 4, 4, 4, 4), floats(1, 1, 2, 2, 2, 2)])
    assert "4 spatial axes" in refuses("ConvTranspose", [floats(1, 1, 4, 4, 4, 4), floats(1, 1, 2, 2, 2, 2)])
    assert "on 2 planes" in refuses("Conv", [floats(1, 1, 2, 4, 4), floats(1, 1, 3, 1, 1)])
    assert "channels" in refuses("Conv", [floats(1, 3, 2, 2, 2), floats(1, 2, 2, 2, 2)])
    assert "must fit" in refuses("Conv", [floats(1, 1, 4, 4), floats(1, 1, 5, 5)])
    assert "would have -5 elements" in refuses("ConvTranspose", [floats(1, 1, 2), floats(1, 1, 2)], pads=[4, 4])
    assert "channels" in refuses("Conv", [floats(1, 3, 4, 4), floats(1, 2, 2, 2)])
    assert "Indices" in refuses("MaxPool", [floats(1, 1, 4, 4, 4)], 2, kernel_shape=[2, 2, 2])
    assert "rows of 4 elements, B columns of 5" in refuses("MatMul", [floats(3, 4), floats(5, 2)])
    assert "do not broadcast" in refuses("MatMul", [floats(2, 3, 4), floats(3, 4, 5)])


# ---- layouts ----------------------------------------------------------------------------------------------------


@few
@given(st.one_of([linear_cases.CASES[kind] for kind in ("Conv", "MaxPool", "AveragePool")]))
def test_channels_last_means_the_same(case: Case) -> None:
    op, arrays = case
    assert isinstance(op, Windowed)
    images = 2 if isinstance(op, Conv) else 1
    source, to = (-1, 1) if op.channels_last else (1, -1)
    moved = [np.moveaxis(array, source, to) for array in arrays[:images] if array is not None]
    other = replace(op, channels_last=not op.channels_last).numpy(*moved, *arrays[images:])
    same(np.moveaxis(other, to, source), op.numpy(*arrays))


@few
@given(linear_cases.matmuls())
def test_stored_orders_of_a_matrix_product_are_transposes(case: Case) -> None:
    op, (a, b, *rest) = case
    assert isinstance(op, MatMul)
    assert a is not None
    assert b is not None
    left, right = (x.transpose(perm or range(x.ndim)) for x, perm in ((a, op.perm_a), (b, op.perm_b)))
    product = np.asarray(replace(op, perm_a=(), perm_b=(), perm_y=()).numpy(left, right, *rest))
    same(np.asarray(op.numpy(a, b, *rest)), product.transpose(op.perm_y or range(product.ndim)))
