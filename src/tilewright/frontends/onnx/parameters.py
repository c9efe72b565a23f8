"""ONNX in for training: weights stay tensors of their own, whatever an operator makes of them when it is imported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import onnx
from onnx import numpy_helper

from tilewright.errors import CompileError
from tilewright.frontends.model_options import ModelOptions
from tilewright.frontends.onnx import file as onnx_file
from tilewright.frontends.onnx import importer
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.records import dataclass

PLACES = {
    "Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (0, 1, 2), "MatMul": (0, 1), "Add": (0, 1), "Mul": (0, 1),
    "Sum": (0, 1), "PRelu": (1,), "BatchNormalization": (1, 2, 3, 4), "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2), "LayerNormalization": (1, 2), "RMSNormalization": (1,),
    "SimplifiedLayerNormalization": (1,), "SkipLayerNormalization": (2, 3, 4), "LSTM": (1, 2, 3, 7), "GRU": (1, 2, 3),
    "RNN": (1, 2, 3), "Gather": (0,), "Einsum": (0, 1),
    "FusedMatMul": (0, 1), "FusedConv": (1, 2), "FusedGemm": (0, 1, 2),
}  # fmt: skip
"""Operands that are weights where they are constants. Others, as sizes, must be known."""

MOVEMENT = {"Transpose", "Reshape", "Identity", "Unsqueeze", "Squeeze", "Flatten", "Slice", "Split", "Expand", "Concat"}
"""What only moves the elements of its first operand, or of all."""

STATISTICS = (3, 4)
"""Of BatchNormalization."""


@dataclass(frozen=True)
class Opened:
    """A model whose weights are constants of the graph, each under its name, with nothing folded into it."""

    graph: Graph
    parameters: tuple[str, ...]
    dropped: Mapping[str, float]
    """The results of Dropout, and the share of elements that each drops in training."""
    fixed: tuple[str, ...] = ()
    """Parameters that stay as they are: an operator needs the value of one of them when the model is read."""


def load(model: Any, options: ModelOptions, known: Collection[str] = ()) -> Opened:
    """`known` are weights wherever they are read, if the importer takes them there."""
    if not known:
        return _loaded(model, options, ())
    try:
        return _loaded(model, options, known)
    except CompileError:
        found = _loaded(model, options, ())
        return replace(found, fixed=_read_besides(found, model, known))


def _read_besides(found: Opened, model: Any, known: Collection[str]) -> tuple[str, ...]:
    graph = onnx_file.read(model)[0].graph
    read = {name for node in graph.node for name in node.input}
    given = {tensor.name for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    return tuple(sorted(given & read & set(known) - set(found.parameters)))


def _loaded(model: Any, options: ModelOptions, known: Collection[str]) -> Opened:
    proto, stem = onnx_file.read(model)
    proto = _copied(proto)
    _constants_as_initialisers(proto.graph)
    dropped = dict(_dropouts(proto.graph))
    weights = _weights(proto.graph, known)
    _as_inputs(proto.graph, weights)
    graph = importer.load(proto, options, stem)
    return Opened(_with_constants(graph, weights), tuple(weights), dropped)


def _copied(proto: onnx.ModelProto) -> onnx.ModelProto:
    found = onnx.ModelProto()
    found.CopyFrom(proto)
    return found


def _constants_as_initialisers(graph: onnx.GraphProto) -> None:
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        value = onnx_file.constant_value(node)
        if value.dtype == "float32" and value.size > 1:
            graph.initializer.append(numpy_helper.from_array(value, node.output[0]))
            graph.node.remove(node)


def _dropouts(graph: onnx.GraphProto) -> Iterator[tuple[str, float]]:
    """Dropout as at inference, and its ratio."""
    known = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type != "Dropout" or node.domain not in ("", "ai.onnx"):
            continue
        ratio = next((item.f for item in node.attribute if item.name == "ratio"), 0.5)
        if len(node.input) > 1 and node.input[1] in known:
            ratio = float(numpy_helper.to_array(known[node.input[1]]).reshape(-1)[0])
        if len(node.input) > 2:
            del node.input[2]
        yield node.output[0], ratio


def _weights(graph: onnx.GraphProto, known: Collection[str]) -> dict[str, Array]:
    """Constants that are weights wherever they are read, also through a rearrangement."""
    found = {tensor.name: tensor for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    read: dict[str, list[bool]] = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            read.setdefault(name, []).append(_is_place(graph, node, position))
    names = [name for name in found if (name in known and name in read) or all(read.get(name, [False]))]
    values = {name: numpy_helper.to_array(found[name]) for name in names}
    return {name: value for name, value in values.items() if value.size and (value.ndim or name in known)}


def _is_place(graph: onnx.GraphProto, node: onnx.NodeProto, position: int) -> bool:
    if node.op_type not in MOVEMENT:
        return position in PLACES.get(node.op_type, ())
    if position and node.op_type != "Concat":
        return False
    read = [(other, at, name) for other in graph.node for at, name in enumerate(other.input)]
    readers = [(other, at) for other, at, name in read if name in node.output]
    return bool(readers) and all(_is_place(graph, other, at) for other, at in readers)


def _as_inputs(graph: onnx.GraphProto, weights: Mapping[str, Array]) -> None:
    kept = [tensor for tensor in graph.initializer if tensor.name not in weights]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    declared = {value.name for value in graph.input}
    for name, value in weights.items():
        if name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape))


def _with_constants(graph: Graph, weights: Mapping[str, Array]) -> Graph:
    inputs = tuple(name for name in graph.inputs if name not in weights)
    values = {name: value for name, value in weights.items() if name in graph.types}
    return replace(graph, inputs=inputs, constants={**graph.constants, **values})


def open_batches(model: Any) -> list[str]:
    """The names of first dimensions of inputs that the file leaves open."""
    proto, _ = onnx_file.read(model)
    firsts = [value.type.tensor_type.shape.dim[:1] for value in onnx_file.true_inputs(proto.graph)]
    return [axis.dim_param for dims in firsts for axis in dims if axis.dim_param]
