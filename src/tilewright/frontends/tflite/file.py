"""A TensorFlow Lite file as plain data. It is untrusted: whatever is wrong with its bytes is one designed error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import flatbuffers
import numpy as np
import tflite
from flatbuffers.table import Table

from tilewright.errors import CompileError, printable, unreadable
from tilewright.frontends.model_files import empty
from tilewright.frontends.python_errors import raised_in
from tilewright.frontends.tflite.sparsity import Damaged, dense
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

MAGIC, MAGIC_AT, VERSION = b"TFL3", 4, 3
DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT8": "int8", "UINT8": "uint8", "INT16": "int16", "UINT16": "uint16",
    "INT32": "int32", "UINT32": "uint32", "INT64": "int64", "UINT64": "uint64", "BOOL": "bool",
}  # fmt: skip
"""Element types that a tensor of a file may have; the others are named in an error."""
ACCESSORS = (str(Path(flatbuffers.__file__).parent), str(Path(tflite.__file__).parent))
"""Where the code lies that follows offsets. It has no checks: an offset that leads nowhere ends in any exception."""
MAX_AXES = 16
PLACES = "OfflineMemoryAllocation"
"""Names the metadata that says where tensors lie."""
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Quantisation:
    """real = scale * (integer - zero_point): one of each, or one for each position along `axis`."""

    scale: Array
    """float32."""
    zero_point: Array
    axis: int


@dataclass(frozen=True, eq=False)
class Tensor:
    name: str
    kind: str
    """The name of its element type in the schema."""
    shape: Shape
    value: Array | None
    """Of a constant."""
    quantisation: Quantisation | None
    is_sparse: bool = False
    """Without a value: sparse constants are dense here."""
    is_variable: bool = False
    signature: Shape = ()
    """The shape with -1 for sizes that are open, or depend on those of the inputs; `shape` has 1 in their place."""
    offset: int = -1
    """Where the file puts it in the arena; -1 where it leaves that to the runtime."""

    @property
    def is_open(self) -> bool:
        return -1 in self.signature

    @property
    def dtype(self) -> str:
        return DTYPES.get(self.kind, self.kind.lower())


@dataclass(frozen=True, eq=False)
class Operator:
    kind: str
    """Its name in the schema; of custom operators what they call themselves."""
    version: int
    is_custom: bool
    inputs: tuple[int, ...]
    """Positions in the list of tensors; -1 for one that is absent."""
    outputs: tuple[int, ...]
    options_kind: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Subgraph:
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, eq=False)
class Model:
    stem: str
    subgraphs: tuple[Subgraph, ...]


def read(model: str | Path | bytes) -> Model:
    """All subgraphs of a file."""
    data, stem, where = _bytes(model)
    if not data:
        raise empty(where)
    if len(data) < 8 or data[MAGIC_AT : MAGIC_AT + 4] != MAGIC:
        raise CompileError(where, "is no TensorFlow Lite file: TFL3 is missing at byte 4", "check the path")
    try:
        return _Reader(data, where).model(stem)
    except Damaged as error:
        raise CompileError(where, f"is damaged: {error}", "convert it again") from None
    except Exception as error:
        if not raised_in(error, ACCESSORS):
            raise
        what = f"is damaged: offsets point outside its {len(data)} bytes"
        raise CompileError(where, what, "convert it again") from None


def _bytes(model: str | Path | bytes) -> tuple[bytes, str, str]:
    if isinstance(model, bytes):
        return model, "network", "the model"
    path = Path(model)
    where = f"model '{printable(str(path))}'"
    try:
        return path.read_bytes(), path.stem, where
    except OSError as error:
        raise unreadable(path, error, where) from None


class _Reader:
    def __init__(self, data: bytes, where: str) -> None:
        self.data, self.where = data, where

    def model(self, stem: str) -> Model:
        root = tflite.Model.GetRootAs(self.data, 0)
        if root.Version() != VERSION:
            raise CompileError(
                self.where, f"has version {root.Version()} of the schema, {VERSION} is known", "convert it again"
            )
        self.codes = [self._code(root.OperatorCodes(i)) for i in self._count(root.OperatorCodesLength())]
        self.buffers = [root.Buffers(i) for i in self._count(root.BuffersLength())]
        self.offsets = self._places(root)
        subgraphs = tuple(self._subgraph(root.Subgraphs(i)) for i in self._count(root.SubgraphsLength()))
        if not subgraphs:
            raise CompileError(self.where, "holds no graph", "convert it again")
        return Model(stem, subgraphs)

    def _places(self, root: Any) -> tuple[int, ...]:
        """Offsets of the first graph's tensors in the arena, behind three words; empty where the file has none."""
        for i in self._count(root.MetadataLength()):
            entry = root.Metadata(i)
            raw = self._buffer(entry.Buffer()) if _text(entry.Name()) == PLACES else None
            if raw is not None and raw.size >= 12 and raw.size % 4 == 0:
                return tuple(np.frombuffer(raw.tobytes(), "<i4")[3:].tolist())
        return ()

    def _count(self, length: int) -> range:
        """The positions of a list, each of which takes an offset of four bytes at least."""
        if not 0 <= 4 * length <= len(self.data):
            raise Damaged(f"it has a list of {length}, which {len(self.data)} bytes cannot hold")
        return range(length)

    def _code(self, code: Any) -> tuple[str, int, bool]:
        """Name, version, and whether it is a custom operator. Codes up to 127 may stand in an older field only."""
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if number == tflite.BuiltinOperator.CUSTOM:
            return _text(code.CustomCode()) or "CUSTOM", code.Version(), True
        return _names(tflite.BuiltinOperator).get(number, f"number {number}"), code.Version(), False

    def _subgraph(self, graph: Any) -> Subgraph:
        tensors = tuple(self._tensor(graph.Tensors(i), i) for i in self._count(graph.TensorsLength()))
        operators = tuple(self._operator(graph.Operators(i)) for i in self._count(graph.OperatorsLength()))
        inputs, outputs = _integers(graph, "Inputs"), _integers(graph, "Outputs")
        known = range(-1, len(tensors))
        for number in (*inputs, *outputs, *(n for op in operators for n in (*op.inputs, *op.outputs))):
            if number not in known:
                raise Damaged(f"it speaks of tensor {number} of {len(tensors)}")
        if -1 in (*inputs, *outputs):
            raise Damaged("an input or output is absent")
        return Subgraph(_text(graph.Name()), tensors, inputs, outputs, operators)

    def _operator(self, operator: Any) -> Operator:
        kind, version, is_custom = _at(self.codes, operator.OpcodeIndex(), "operator codes")
        options_kind = _names(tflite.BuiltinOptions).get(operator.BuiltinOptionsType(), "NONE")
        table = operator.BuiltinOptions()
        options = {} if table is None or options_kind == "NONE" else _options(options_kind, table)
        inputs, outputs = _integers(operator, "Inputs"), _integers(operator, "Outputs")
        return Operator(kind, version, is_custom, inputs, outputs, options_kind, options)

    def _tensor(self, tensor: Any, number: int) -> Tensor:
        kind = _names(tflite.TensorType).get(tensor.Type(), f"type {tensor.Type()}")
        shape, name = _integers(tensor, "Shape"), _text(tensor.Name()) or f"tensor_{number}"
        if len(shape) > MAX_AXES or min(shape, default=0) < 0:
            raise Damaged(f"tensor '{name}' has shape {shape}")
        value = self._value(tensor, kind, shape, name)
        quantisation = _quantisation(tensor.Quantization(), shape, name)
        is_sparse = value is None and tensor.Sparsity() is not None
        signature = _integers(tensor, "ShapeSignature")
        offset = self.offsets[number] if number < len(self.offsets) else -1
        return Tensor(name, kind, shape, value, quantisation, is_sparse, bool(tensor.IsVariable()), signature, offset)

    def _value(self, tensor: Any, kind: str, shape: Shape, name: str) -> Array | None:
        raw, sparsity = self._buffer(tensor.Buffer()), tensor.Sparsity()
        if raw is None or not raw.size or kind not in DTYPES:
            return None
        dtype = np.dtype(DTYPES[kind]).newbyteorder("<")
        if raw.size % dtype.itemsize:
            raise Damaged(f"tensor '{name}' has {raw.size} bytes, elements of {dtype.itemsize}")
        if sparsity is not None:
            try:
                return dense(sparsity, np.frombuffer(raw.tobytes(), dtype).astype(DTYPES[kind]), shape)
            except Damaged as error:
                raise Damaged(f"sparse tensor '{name}': {error}") from None
        if raw.size != math.prod(shape) * dtype.itemsize:
            raise Damaged(f"tensor '{name}' of shape {shape} has {raw.size} bytes")
        return np.frombuffer(raw.tobytes(), dtype).reshape(shape).astype(DTYPES[kind])

    def _buffer(self, number: int) -> Array | None:
        """The bytes of a constant: inside the tables or, in large files, behind them."""
        buffer = _at(self.buffers, number, "buffers")
        if buffer.Offset() > 1:
            first, size = buffer.Offset(), buffer.Size()
            if first + size > len(self.data):
                raise Damaged(f"it speaks of bytes {first} to {first + size} of {len(self.data)}")
            return np.frombuffer(self.data, np.uint8, size, first)
        return None if buffer.DataIsNone() else np.asarray(buffer.DataAsNumpy())


def _quantisation(given: Any, shape: Shape, name: str) -> Quantisation | None:
    if given is None or given.ScaleIsNone() or not given.ScaleLength():
        return None
    scale = np.asarray(given.ScaleAsNumpy(), np.float32)
    count, axis = len(scale), given.QuantizedDimension()
    zero = np.zeros(count, np.int64) if given.ZeroPointIsNone() else np.asarray(given.ZeroPointAsNumpy(), np.int64)
    if len(zero) not in (1, count):
        raise Damaged(f"tensor '{name}' has {count} scales and {len(zero)} zero points")
    zero = np.broadcast_to(zero, (count,)).copy()
    if not np.all(np.isfinite(scale) & (scale >= 0)):
        raise Damaged(f"tensor '{name}' has a scale of {scale[~(np.isfinite(scale) & (scale >= 0))][0]}")
    if count > 1 and not (0 <= axis < len(shape) and shape[axis] == count):
        raise Damaged(f"tensor '{name}' of shape {shape} has {count} scales along axis {axis}")
    return Quantisation(scale, zero, axis)


def _at(values: Sequence[Value], number: int, what: str) -> Value:
    if not 0 <= number < len(values):
        raise Damaged(f"it speaks of number {number} of {len(values)} {what}")
    return values[number]


# ---- tables ---------------------------------------------------------------------------------------------------------


@cache
def _names(enumeration: type) -> dict[int, str]:
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


def _text(given: bytes | None) -> str:
    return given.decode("utf-8", "replace") if given else ""


def _integers(table: Any, name: str) -> tuple[int, ...]:
    if not getattr(table, f"{name}Length")():
        return ()
    return tuple(int(value) for value in getattr(table, f"{name}AsNumpy")())


def _options(kind: str, table: Table) -> dict[str, Any]:
    """Every field of an operator's options, read now: later, nobody expects a bad offset."""
    options = getattr(tflite, kind)()
    options.Init(table.Bytes, table.Pos)
    return {name: read(options) for name, read in _fields(kind)}


@cache
def _fields(kind: str) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """The methods that take no more than the table itself, and give a field of it."""
    return tuple(_methods(getattr(tflite, kind)))


def _methods(options: type) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for name, method in vars(options).items():
        code = getattr(method, "__code__", None)
        if code is not None and code.co_argcount == 1:
            yield name, cast("Callable[[Any], Any]", method)
