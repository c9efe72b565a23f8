"""TensorFlow Lite files of integer operators, written with the schema's own builders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import flatbuffers
import numpy as np
import tflite

from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

KINDS = {"int8": "INT8", "uint8": "UINT8", "int16": "INT16", "int32": "INT32", "int64": "INT64"}
VERSION = 3


@dataclass(frozen=True, eq=False)
class FileTensor:
    name: str
    dtype: str
    shape: Shape
    scales: tuple[float, ...] = ()
    """One, or one for each position along `axis`; none where elements are plain integers."""
    zero: int = 0
    axis: int = 0
    value: Array | None = None


@dataclass(frozen=True)
class FileOperator:
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: str = ""
    """The schema's name of its attributes."""
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass
class FileGraph:
    """Grows by tensors and operators; both are known by their positions."""

    tensors: list[FileTensor] = field(default_factory=list)
    operators: list[FileOperator] = field(default_factory=list)

    def add(self, tensor: FileTensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def apply(self, kind: str, inputs: Sequence[int], output: int, options: str = "", **attributes: Any) -> int:
        self.operators.append(FileOperator(kind, tuple(inputs), (output,), options, attributes))
        return output

    def data(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        return _Writing(self).data(inputs, outputs)


class _Writing:
    def __init__(self, graph: FileGraph) -> None:
        self.graph, self.b = graph, flatbuffers.Builder(1024)
        self.buffers = [self._buffer(np.zeros(0, np.uint8))]

    def data(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        b = self.b
        kinds = list(dict.fromkeys(operator.kind for operator in self.graph.operators))
        tensors = self._list([self._tensor(tensor) for tensor in self.graph.tensors])
        operators = self._list([self._operator(one, kinds.index(one.kind)) for one in self.graph.operators])
        ends, name = [self._integers(inputs), self._integers(outputs)], b.CreateString("main")
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, tensors)
        tflite.SubGraphAddInputs(b, ends[0])
        tflite.SubGraphAddOutputs(b, ends[1])
        tflite.SubGraphAddOperators(b, operators)
        tflite.SubGraphAddName(b, name)
        graphs = self._list([int(tflite.SubGraphEnd(b))])
        codes, buffers = self._list([self._code(kind) for kind in kinds]), self._list(self.buffers)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, VERSION)
        tflite.ModelAddOperatorCodes(b, codes)
        tflite.ModelAddSubgraphs(b, graphs)
        tflite.ModelAddBuffers(b, buffers)
        b.Finish(tflite.ModelEnd(b), file_identifier=b"TFL3")
        return bytes(b.Output())

    def _code(self, kind: str) -> int:
        number = getattr(tflite.BuiltinOperator, kind)
        tflite.OperatorCodeStart(self.b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(self.b, min(number, 127))
        tflite.OperatorCodeAddVersion(self.b, 1)
        tflite.OperatorCodeAddBuiltinCode(self.b, number)
        return int(tflite.OperatorCodeEnd(self.b))

    def _tensor(self, tensor: FileTensor) -> int:
        b, place = self.b, 0
        if tensor.value is not None:
            place = len(self.buffers)
            self.buffers.append(self._buffer(np.frombuffer(np.ascontiguousarray(tensor.value).tobytes(), np.uint8)))
        name, shape = b.CreateString(tensor.name), self._integers(tensor.shape)
        scales = self._scales(tensor) if tensor.scales else None
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, getattr(tflite.TensorType, KINDS[tensor.dtype]))
        tflite.TensorAddBuffer(b, place)
        tflite.TensorAddName(b, name)
        if scales is not None:
            tflite.TensorAddQuantization(b, scales)
        return int(tflite.TensorEnd(b))

    def _scales(self, tensor: FileTensor) -> int:
        b, count = self.b, len(tensor.scales)
        scales = b.CreateNumpyVector(np.array(tensor.scales, np.float32))
        zeros = b.CreateNumpyVector(np.full(count, tensor.zero, np.int64))
        tflite.QuantizationParametersStart(b)
        tflite.QuantizationParametersAddScale(b, scales)
        tflite.QuantizationParametersAddZeroPoint(b, zeros)
        tflite.QuantizationParametersAddQuantizedDimension(b, tensor.axis)
        return int(tflite.QuantizationParametersEnd(b))

    def _operator(self, operator: FileOperator, code: int) -> int:
        b, ends = self.b, [self._integers(operator.inputs), self._integers(operator.outputs)]
        options = self._options(operator) if operator.options else None
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, code)
        tflite.OperatorAddInputs(b, ends[0])
        tflite.OperatorAddOutputs(b, ends[1])
        if options is not None:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, operator.options))
            tflite.OperatorAddBuiltinOptions(b, options)
        return int(tflite.OperatorEnd(b))

    def _options(self, operator: FileOperator) -> int:
        given = operator.attributes.items()
        values = {name: self._integers(one) if isinstance(one, tuple) else one for name, one in given}
        getattr(tflite, f"{operator.options}Start")(self.b)
        for name, value in values.items():
            getattr(tflite, f"{operator.options}Add{name}")(self.b, value)
        return int(getattr(tflite, f"{operator.options}End")(self.b))

    def _buffer(self, data: Array) -> int:
        vector = self.b.CreateNumpyVector(data) if data.size else None
        tflite.BufferStart(self.b)
        if vector is not None:
            tflite.BufferAddData(self.b, vector)
        return int(tflite.BufferEnd(self.b))

    def _integers(self, values: Sequence[int]) -> int:
        return int(self.b.CreateNumpyVector(np.array(values, np.int32)))

    def _list(self, offsets: Sequence[int]) -> int:
        self.b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.b.PrependUOffsetTRelative(offset)
        return int(self.b.EndVector())
