"""ONNX Runtime's attention operators: decomposed into simpler ones, they give what ONNX Runtime gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.checks import imported, same
from tests.support.quantiser import run_onnxruntime
from tilewright.errors import CompileError
from tilewright.frontends.onnx import importer as frontend
from tilewright.ir.types import Array

RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(
    kind: str, inputs: Mapping[str, Array | None], results: int, constants: tuple[str, ...] = (), **attributes: Any
) -> onnx.ModelProto:
    """One node of ONNX Runtime's domain; the named inputs are constants, those that are None absent."""
    given = {name: array for name, array in inputs.items() if array is not None}
    outputs = [f"y{position}" for position in range(results)]
    names = [name if array is not None else "" for name, array in inputs.items()]
    node = helper.make_node(kind, names, outputs, domain="com.microsoft", **attributes)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
        if name not in constants
    ]
    results_info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    weights = [numpy_helper.from_array(given[name], name) for name in constants if name in given]
    graph = helper.make_graph([node], "one", infos, results_info, weights)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def check(
    kind: str, inputs: Mapping[str, Array | None], results: int = 1, constants: tuple[str, ...] = (), **more: Any
) -> None:
    made = model(kind, inputs, results, constants, **more)
    feeds = {name: array for name, array in inputs.items() if array is not None and name not in constants}
    wanted = run_onnxruntime(made, feeds)
    for position, found in enumerate(imported(made, feeds)):
        same(found, wanted[f"y{position}"], 2e-5)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("first", [True, False])
def test_rotary_embedding(interleaved: int, first: bool) -> None:
    positions = np.array([2], np.int64) if first else RANDOM.integers(0, 12, (2, 5))
    tables = {"cos": floats(12, 4), "sin": floats(12, 4)}
    check("RotaryEmbedding", {"x": floats(2, 5, 24), "at": positions, **tables}, interleaved=interleaved)
    check("RotaryEmbedding", {"x": floats(2, 3, 5, 8), "at": positions, **tables}, interleaved=interleaved)


def test_rotary_embedding_of_some_channels() -> None:
    inputs = {"x": floats(1, 4, 30), "at": np.array([0], np.int64), "cos": floats(9, 2), "sin": floats(9, 2)}
    check("RotaryEmbedding", inputs, num_heads=3, rotary_embedding_dim=4)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", ["none", "lengths", "keys", "steps"])
def test_attention(unidirectional: int, mask: str) -> None:
    masks = {
        "none": None, "lengths": np.array([3, 5], np.int32), "keys": RANDOM.integers(0, 2, (2, 5)).astype(np.int32),
        "steps": RANDOM.integers(0, 2, (2, 5, 5)).astype(np.int32),
    }  # fmt: skip
    if masks[mask] is not None and mask != "lengths":
        masks[mask][..., 0] = 1  # a row that is masked throughout has no meaning
    inputs = {"x": floats(2, 5, 8), "weights": floats(8, 36), "bias": floats(36), "mask": masks[mask]}
    check("Attention", inputs, 1, ("weights", "bias"), num_heads=3, unidirectional=unidirectional)


def test_attention_after_a_past() -> None:
    inputs = {
        "x": floats(2, 3, 8), "weights": floats(8, 24), "bias": floats(24), "mask": None, "past": floats(2, 2, 2, 4, 4),
    }  # fmt: skip
    check("Attention", inputs, 2, ("weights", "bias"), num_heads=2, unidirectional=1)


def test_attention_with_values_of_another_width_and_a_bias() -> None:
    inputs = {
        "x": floats(1, 4, 8), "weights": floats(8, 22), "bias": floats(22), "mask": None, "past": None,
        "scores": floats(1, 2, 4, 4),
    }  # fmt: skip
    check("Attention", inputs, 1, ("weights", "bias"), num_heads=2, qkv_hidden_sizes=[8, 8, 6], scale=0.3)


@pytest.mark.parametrize("columns", [1, 24])
def test_attention_with_quantised_projections(columns: int) -> None:
    inputs = {
        "x": RANDOM.integers(0, 256, (2, 5, 8)).astype(np.uint8),
        "weights": RANDOM.integers(-128, 128, (8, 24)).astype(np.int8),
        "bias": floats(24), "x_scale": np.float32([0.01]), "w_scale": np.full(columns, 0.02, np.float32),
        "mask": np.array([5, 3], np.int32), "x_zero": np.uint8([120]), "w_zero": np.zeros(columns, np.int8),
    }  # fmt: skip
    check("QAttention", inputs, 1, tuple(name for name in inputs if name not in ("x", "mask")), num_heads=2)


def test_multi_head_attention() -> None:
    plain = {"q": floats(2, 3, 8), "k": floats(2, 5, 8), "v": floats(2, 5, 12)}
    check("MultiHeadAttention", plain, num_heads=2)
    check("MultiHeadAttention", {**plain, "bias": floats(28)}, num_heads=2, scale=0.2)
    masked = {**plain, "bias": None, "mask": np.array([[1, 1, 0, 1, 0], [1, 0, 1, 1, 1]], np.int32)}
    check("MultiHeadAttention", masked, num_heads=4)
    scored = {**plain, "bias": None, "mask": None, "scores": floats(1, 2, 3, 5)}
    check("MultiHeadAttention", scored, num_heads=2)


def test_multi_head_attention_after_a_past() -> None:
    past = {"pk": floats(1, 2, 4, 4), "pv": floats(1, 2, 4, 4)}
    new = {"q": floats(1, 2, 8), "k": floats(1, 2, 8), "v": floats(1, 2, 8), "bias": None, "mask": None, "scores": None}
    check("MultiHeadAttention", {**new, **past}, 3, num_heads=2, unidirectional=1)


def test_packed_keys_and_values_are_unpacked() -> None:
    """ONNX Runtime has no such kernel for this processor: what counts is that both forms are the same."""
    q, kv = floats(1, 4, 8), floats(1, 5, 2, 2, 4)
    k, v = (np.ascontiguousarray(kv[:, :, :, at].reshape(1, 5, 8)) for at in range(2))
    (wanted,) = imported(
        model("MultiHeadAttention", {"q": q, "k": k, "v": v}, 1, num_heads=2), {"q": q, "k": k, "v": v}
    )
    (found,) = imported(model("MultiHeadAttention", {"q": q, "k": kv}, 1, num_heads=2), {"q": q, "k": kv})
    same(found, wanted)


def group_query(
    steps: int, past: int, total: int, packed: bool, rotary: bool, batch: int = 1
) -> dict[str, Array | None]:
    """Four heads of 16 channels, of which two share a head of keys."""
    parts = {"q": floats(batch, steps, 128), "k": None, "v": None}
    if not packed:
        parts = {"q": floats(batch, steps, 64), "k": floats(batch, steps, 32), "v": floats(batch, steps, 32)}
    tables = {"cos": floats(32, 8), "sin": floats(32, 8)} if rotary else {}
    return {
        **parts, "pk": floats(batch, 2, past, 16), "pv": floats(batch, 2, past, 16),
        "lengths": np.full(batch, total - 1, np.int32), "total": np.array([total], np.int32), **tables,
    }  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("more", [{}, {"local_window_size": 3}, {"softcap": 2.0}, {"scale": 0.1}])
def test_group_query_attention_after_a_known_past(packed: bool, more: dict[str, Any]) -> None:
    inputs = group_query(1, 6, 7, packed, False)
    check("GroupQueryAttention", inputs, 3, ("total",), num_heads=4, kv_num_heads=2, **more)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_group_query_attention_turns_its_heads(interleaved: int) -> None:
    attributes = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": interleaved}
    check("GroupQueryAttention", group_query(1, 6, 7, False, True), 3, ("total",), **attributes)
    check("GroupQueryAttention", group_query(5, 0, 5, False, True), 3, ("total",), **attributes)


def test_a_past_that_is_a_buffer_is_written_where_the_lengths_say() -> None:
    """ONNX Runtime shares the buffer of past and present only where the caller binds them, so numpy is the judge."""
    inputs = group_query(1, 8, 5, False, False, batch=2)
    inputs["lengths"] = np.array([4, 2], np.int32)
    made = model("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, local_window_size=3)
    y, keys, values = imported(made, {name: array for name, array in inputs.items() if array is not None})
    wanted_keys, wanted_values = (_written(inputs, new, past) for new, past in (("k", "pk"), ("v", "pv")))
    same(keys, wanted_keys)
    same(values, wanted_values)
    same(y, _attended(inputs, wanted_keys, wanted_values, window=3))


def _written(inputs: Mapping[str, Any], new: str, past: str) -> Array:
    found = inputs[past].copy()
    for row, length in enumerate(inputs["lengths"]):
        found[row, :, length] = inputs[new][row, 0].reshape(2, 16)
    return found


def _attended(inputs: Mapping[str, Any], keys: Array, values: Array, window: int) -> Array:
    result = np.zeros((2, 1, 64), np.float32)
    for row, length in enumerate(inputs["lengths"]):
        seen = slice(max(length + 1 - window, 0), length + 1)
        for head, query in enumerate(inputs["q"][row, 0].reshape(4, 16)):
            scores = np.exp(keys[row, head // 2, seen] @ query / 4)
            result[row, 0, head * 16 : head * 16 + 16] = scores @ values[row, head // 2, seen] / scores.sum()
    return result


def test_what_is_not_supported_is_named() -> None:
    inputs = group_query(1, 6, 7, False, False)
    with pytest.raises(CompileError, match="smooth_softmax=1"):
        frontend.load(
            model("GroupQueryAttention", inputs, 1, ("total",), num_heads=4, kv_num_heads=2, smooth_softmax=1)
        )
    with pytest.raises(CompileError, match="8 channels for 3 heads"):
        frontend.load(
            model(
                "MultiHeadAttention", {"q": floats(1, 2, 8), "k": floats(1, 2, 8), "v": floats(1, 2, 8)}, 1, num_heads=3
            )
        )
