"""Small TensorFlow Lite files for tests, written with the schema's own builders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

from tilewright.ir.types import Array

KINDS = {
    "float32": "FLOAT32", "float16": "FLOAT16", "int8": "INT8", "uint8": "UINT8", "int16": "INT16", "int32": "INT32",
    "int64": "INT64", "bool": "BOOL",
}  # fmt: skip


@dataclass
class T:
    """A tensor: a constant if it has a value."""

    dtype: str
    shape: tuple[int, ...]
    scale: float | Sequence[float] | None = None
    zero: int | Sequence[int] = 0
    value: Array | None = None
    axis: int = 0
    name: str = ""
    kind: str = ""
    """The name of another element type than that of `dtype`."""
    sparse: Sparse | None = None
    """Then the value is what is stored."""
    signature: tuple[int, ...] = ()
    """The shape with -1 for open sizes."""
    is_variable: bool = False


@dataclass
class Sparse:
    """How elements are listed: axes in order (blocks' behind the others), and for each its size or (begins, lists)."""

    order: Sequence[int] = ()
    levels: Sequence[int | tuple[Sequence[int], Sequence[int]]] = ()
    blocks: Sequence[int] = ()
    vector: str = "Uint8Vector"


@dataclass
class O:  # noqa: E742 an operator beside a tensor T
    """An operator on tensors, by their positions."""

    kind: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    custom: str = ""


def constant(array: Array, scale: float | Sequence[float] | None = None, zero: int = 0, axis: int = 0) -> T:
    return T(array.dtype.name, array.shape, scale, zero, array, axis)


Graph = tuple[Sequence[T], Sequence[O], Sequence[int], Sequence[int]]
"""Tensors, operators, inputs and outputs."""


def write(
    tensors: Sequence[T], operators: Sequence[O], inputs: Sequence[int], outputs: Sequence[int], version: int = 3,
    more: Sequence[Graph] = (),
) -> bytes:  # fmt: skip
    """The bytes of a file with one graph, or with more that it calls."""
    b = flatbuffers.Builder(1024)
    graphs = [(tensors, operators, inputs, outputs), *more]
    buffers = [_buffer(b, np.zeros(0, np.uint8))]
    codes = [_code(b, operator) for graph in graphs for operator in graph[1]]
    made, first = [], 0
    for graph in graphs:
        made.append(_graph(b, graph, buffers, first))
        first += len(graph[1])
    graph_list, code_list, buffer_list = _offsets(b, made), _offsets(b, codes), _offsets(b, buffers)
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, version)
    tflite.ModelAddOperatorCodes(b, code_list)
    tflite.ModelAddSubgraphs(b, graph_list)
    tflite.ModelAddBuffers(b, buffer_list)
    b.Finish(tflite.ModelEnd(b), file_identifier=b"TFL3")
    return bytes(b.Output())


def _graph(b: Any, graph: Graph, buffers: list[int], first: int) -> int:
    """`first` is the number of its first operator among those of all graphs."""
    tensors, operators, inputs, outputs = graph
    made = []
    for number, tensor in enumerate(tensors):
        place = 0
        if tensor.value is not None:
            place = len(buffers)
            buffers.append(_buffer(b, np.frombuffer(np.ascontiguousarray(tensor.value).tobytes(), np.uint8)))
        made.append(_tensor(b, tensor, place, tensor.name or f"t{number}"))
    ops = [_operator(b, operator, first + number) for number, operator in enumerate(operators)]
    lists = _integers(b, inputs), _integers(b, outputs)
    tensor_list, op_list = _offsets(b, made), _offsets(b, ops)
    name = b.CreateString("main")
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, tensor_list)
    tflite.SubGraphAddInputs(b, lists[0])
    tflite.SubGraphAddOutputs(b, lists[1])
    tflite.SubGraphAddOperators(b, op_list)
    tflite.SubGraphAddName(b, name)
    return int(tflite.SubGraphEnd(b))


def _buffer(b: Any, data: Array) -> int:
    vector = b.CreateNumpyVector(data) if data.size else None
    tflite.BufferStart(b)
    if vector is not None:
        tflite.BufferAddData(b, vector)
    return int(tflite.BufferEnd(b))


def _tensor(b: Any, tensor: T, buffer: int, name: str) -> int:
    text, shape = b.CreateString(name), _integers(b, tensor.shape)
    quantisation = _quantisation(b, tensor) if tensor.scale is not None else None
    sparsity = None if tensor.sparse is None else _sparsity(b, tensor.sparse)
    signature = _integers(b, tensor.signature) if tensor.signature else None
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, shape)
    tflite.TensorAddType(b, getattr(tflite.TensorType, tensor.kind or KINDS[tensor.dtype]))
    tflite.TensorAddBuffer(b, buffer)
    tflite.TensorAddName(b, text)
    tflite.TensorAddIsVariable(b, tensor.is_variable)
    if quantisation is not None:
        tflite.TensorAddQuantization(b, quantisation)
    if signature is not None:
        tflite.TensorAddShapeSignature(b, signature)
    if sparsity is not None:
        tflite.TensorAddSparsity(b, sparsity)
    return int(tflite.TensorEnd(b))


VECTORS = {"Uint8Vector": np.uint8, "Uint16Vector": np.uint16, "Int32Vector": np.int32}


def _sparsity(b: Any, sparse: Sparse) -> int:
    levels = _offsets(b, [_level(b, level, sparse.vector) for level in sparse.levels])
    order, blocks = _integers(b, sparse.order), _integers(b, sparse.blocks)
    tflite.SparsityParametersStart(b)
    tflite.SparsityParametersAddTraversalOrder(b, order)
    tflite.SparsityParametersAddBlockMap(b, blocks)
    tflite.SparsityParametersAddDimMetadata(b, levels)
    return int(tflite.SparsityParametersEnd(b))


def _level(b: Any, level: int | tuple[Sequence[int], Sequence[int]], vector: str) -> int:
    made = [] if isinstance(level, int) else [_vector(b, values, vector) for values in level]
    tflite.DimensionMetadataStart(b)
    if isinstance(level, int):
        tflite.DimensionMetadataAddDenseSize(b, level)
        return int(tflite.DimensionMetadataEnd(b))
    kind = getattr(tflite.SparseIndexVector, vector)
    tflite.DimensionMetadataAddFormat(b, tflite.DimensionType.SPARSE_CSR)
    tflite.DimensionMetadataAddArraySegmentsType(b, kind)
    tflite.DimensionMetadataAddArraySegments(b, made[0])
    tflite.DimensionMetadataAddArrayIndicesType(b, kind)
    tflite.DimensionMetadataAddArrayIndices(b, made[1])
    return int(tflite.DimensionMetadataEnd(b))


def _vector(b: Any, values: Sequence[int], kind: str) -> int:
    made = b.CreateNumpyVector(np.asarray(values, VECTORS[kind]))
    getattr(tflite, f"{kind}Start")(b)
    getattr(tflite, f"{kind}AddValues")(b, made)
    return int(getattr(tflite, f"{kind}End")(b))


def _quantisation(b: Any, tensor: T) -> int:
    scales = np.atleast_1d(np.asarray(tensor.scale, np.float32))
    zeros = np.broadcast_to(np.asarray(tensor.zero, np.int64), scales.shape).copy()
    scale, zero = b.CreateNumpyVector(scales), b.CreateNumpyVector(zeros)
    tflite.QuantizationParametersStart(b)
    tflite.QuantizationParametersAddScale(b, scale)
    tflite.QuantizationParametersAddZeroPoint(b, zero)
    tflite.QuantizationParametersAddQuantizedDimension(b, tensor.axis)
    return int(tflite.QuantizationParametersEnd(b))


def _code(b: Any, operator: O) -> int:
    number = tflite.BuiltinOperator.CUSTOM if operator.custom else getattr(tflite.BuiltinOperator, operator.kind)
    text = b.CreateString(operator.custom) if operator.custom else None
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
    tflite.OperatorCodeAddVersion(b, operator.version)
    tflite.OperatorCodeAddBuiltinCode(b, number)
    if text is not None:
        tflite.OperatorCodeAddCustomCode(b, text)
    return int(tflite.OperatorCodeEnd(b))


def _operator(b: Any, operator: O, code: int) -> int:
    inputs, outputs = _integers(b, operator.inputs), _integers(b, operator.outputs)
    options = _options(b, operator) if operator.options else None
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, code)
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, operator.options))
        tflite.OperatorAddBuiltinOptions(b, options)
    return int(tflite.OperatorEnd(b))


def _options(b: Any, operator: O) -> int:
    values = {name: _field(b, value) for name, value in operator.fields.items()}
    getattr(tflite, f"{operator.options}Start")(b)
    for name, value in values.items():
        getattr(tflite, f"{operator.options}Add{name}")(b, value)
    return int(getattr(tflite, f"{operator.options}End")(b))


def _field(b: Any, value: Any) -> Any:
    if isinstance(value, str):
        return b.CreateString(value)
    return _integers(b, value) if isinstance(value, list | tuple) else value


def _integers(b: Any, values: Sequence[int]) -> int:
    return int(b.CreateNumpyVector(np.asarray(values, np.int32)))


def _offsets(b: Any, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())
