"""A judge between two runtimes: the model with all floats in double, by ONNX's own evaluator or ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tilewright.ir.types import Array

SINGLE, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "stash_type")
DEFAULTS = {
    "ConstantOfShape": helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))),
    "GroupNormalization": helper.make_attribute("stash_type", DOUBLE),
    "RMSNormalization": helper.make_attribute("stash_type", DOUBLE),
}
"""Attributes that say float32 where they are not given."""
BY_FUNCTION = ("MeanVarianceNormalization",)
"""Operators that ONNX's evaluator computes by a function with constants in float32."""
OWN_DOMAIN = "in_double"


def outputs_in_double(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
    """By the names of outputs; None where neither ONNX's evaluator nor ONNX Runtime takes the model in double."""
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in feeds.items()}
    made, names = widened(model), [value.name for value in model.graph.output]
    for run in (_by_evaluator, _by_onnx_runtime):
        try:
            with np.errstate(all="ignore"):
                found = run(made, wide)
        except Exception:  # an operator that it does not have, or not in double
            continue
        return {name: np.asarray(value) for name, value in zip(names, found, strict=True)}
    return None


def part_for(model: onnx.ModelProto, output: str) -> onnx.ModelProto:
    """What one output is computed by: what else is in a model may not be had in double."""
    made, needed, kept = onnx.ModelProto(), {output}, list[onnx.NodeProto]()
    made.CopyFrom(model)
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            inner = (name for graph in _subgraphs([node]) for one in graph.node for name in one.input)
            needed.update(node.input, inner)
    del made.graph.node[:], made.graph.output[:]
    made.graph.node.extend(reversed(kept))
    made.graph.output.extend(value for value in model.graph.output if value.name == output)
    return made


def _by_evaluator(model: onnx.ModelProto, feeds: dict[str, Array]) -> Sequence[Array]:
    found: Sequence[Array] = ReferenceEvaluator(model).run(None, feeds)
    return found


def _by_onnx_runtime(model: onnx.ModelProto, feeds: dict[str, Array]) -> Sequence[Array]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: Sequence[Array] = session.run(None, feeds)
    return found


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with double in the place of float32."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _write_functions(made)
    for graph in [made.graph, *_subgraphs(made.graph.node)]:
        _widen(graph)
    for function in made.functions:
        for node in function.node:
            _widen_attributes(node)
        for graph in _subgraphs(function.node):
            _widen(graph)
    return made


def _write_functions(model: onnx.ModelProto) -> None:
    """Functions of ONNX as functions of the model, whose constants can be widened."""
    (opset,) = (one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    nodes = [node for node in model.graph.node if node.op_type in BY_FUNCTION and not node.domain]
    for kind in sorted({node.op_type for node in nodes}):
        function = onnx.FunctionProto()
        function.CopyFrom(onnx.defs.get_schema(kind, opset).function_body)
        function.domain = OWN_DOMAIN
        model.functions.append(function)
        model.opset_import.append(helper.make_opsetid(OWN_DOMAIN, 1))
    for node in nodes:
        node.domain = OWN_DOMAIN


def _subgraphs(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    for node in nodes:
        for item in node.attribute:
            if item.type == AttributeProto.GRAPH:
                yield item.g
                yield from _subgraphs(item.g.node)


def _widen(graph: onnx.GraphProto) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == SINGLE:
            value.type.tensor_type.elem_type = DOUBLE
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for node in graph.node:
        _widen_attributes(node)


def _widen_attributes(node: onnx.NodeProto) -> None:
    default = DEFAULTS.get(node.op_type)
    if default is not None and default.name not in [item.name for item in node.attribute]:
        node.attribute.append(default)
    for item in node.attribute:
        if item.type == AttributeProto.TENSOR:
            _widen_tensor(item.t)
        if item.name in TYPE_ATTRIBUTES and item.i == SINGLE:
            item.i = DOUBLE


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == SINGLE:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), name))
