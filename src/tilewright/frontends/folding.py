"""Nodes whose inputs are all known are computed at import; shape arithmetic disappears this way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx

from tilewright.errors import Refusal
from tilewright.frontends import onnx_file
from tilewright.types import Array

MAX_FOLDED = 2**26
"""Elements that one folded node may give: shapes come from an untrusted file."""


def fold(
    node: onnx.NodeProto, values: Sequence[Array | None], opset: int, model: onnx.ModelProto
) -> tuple[Array, ...] | None:
    """The results of a node on known inputs, or None where it cannot be computed here."""
    if node.op_type in ("Shape", "Size"):
        return (_shape(node, values),)
    if node.op_type == "ConstantOfShape":
        return (_constant_of_shape(node, values),)
    if node.op_type == "Range":
        _limit(_range_length(values), node)
    if node.op_type in ("Expand", "Tile") and values[1] is not None:
        _limit(math.prod(max(int(v), 1) for v in values[1].reshape(-1)), node)
    return _by_reference(node, values, opset, model)


def _shape(node: onnx.NodeProto, values: Sequence[Array | None]) -> Array:
    shape = values[0].shape if values[0] is not None else ()
    if node.op_type == "Size":
        return np.asarray(math.prod(shape), np.int64)
    found = onnx_file.attributes(node)
    return np.asarray(shape[slice(found.get("start", 0), found.get("end"))], np.int64)


def _constant_of_shape(node: onnx.NodeProto, values: Sequence[Array | None]) -> Array:
    shape = tuple(int(v) for v in values[0].reshape(-1)) if values[0] is not None else ()
    if any(size < 0 for size in shape):
        raise Refusal(f"negative shape {shape}")
    _limit(math.prod(shape), node)
    fill = onnx_file.attributes(node).get("value", np.zeros(1, np.float32))
    return np.full(shape, fill.reshape(-1)[0], fill.dtype)


def _range_length(values: Sequence[Array | None]) -> float:
    if len(values) < 3 or any(v is None or v.size != 1 for v in values[:3]):
        raise Refusal("Range takes three scalars")
    start, limit, delta = (float(v.reshape(-1)[0]) for v in values[:3] if v is not None)
    return abs((limit - start) / delta) if delta else math.inf


def _limit(elements: float, node: onnx.NodeProto) -> None:
    if not elements <= MAX_FOLDED:
        raise Refusal(
            f"the constant '{node.output[0]}' would have {elements} elements", f"at most {MAX_FOLDED} are folded"
        )


def _by_reference(
    node: onnx.NodeProto, values: Sequence[Array | None], opset: int, model: onnx.ModelProto
) -> tuple[Array, ...] | None:
    """Whatever else ONNX defines: onnx's own reference implementation computes it."""
    from onnx.reference import ReferenceEvaluator

    try:
        evaluator = ReferenceEvaluator(node, opsets={**_opsets(model), node.domain: opset})
        feeds = {name: value for name, value in zip(node.input, values, strict=True) if name}
        results = evaluator.run(None, feeds)
    except Exception:
        return None
    return tuple(np.asarray(result) for result in results)


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain: entry.version for entry in model.opset_import}
