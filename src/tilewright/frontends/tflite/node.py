"""What the rules see: one operator with its tensors, and the graph that grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright import ops
from tilewright.errors import Refusal
from tilewright.frontends.tflite.arithmetic import Arithmetic, find
from tilewright.frontends.tflite.file import Operator, Quantisation, Tensor
from tilewright.frontends.tflite.variables import Variables
from tilewright.ir.graph import MAX_ELEMENTS, Builder
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.records import dataclass

OPSET = 20
"""Of ONNX, whose operators stand for many of TensorFlow Lite's."""

MAX_FOLDED = 2**22
"""Elements of what is computed at import: shapes come from an untrusted file."""


class Scope:
    """The tensors of a subgraph, and what they are called in the graph."""

    def __init__(self, name: str, tensors: Sequence[Tensor], meant: Arithmetic) -> None:
        self.tensors, self.meant, self.builder = tensors, meant, Builder(name)
        self.variables = Variables(self.builder)
        self.names: dict[int, str] = {}
        self.imaginary: dict[int, str] = {}
        """Of complex tensors the imaginary part; the real one stands among the names."""
        self.is_quantised = False
        """Whether an operator's rounding follows `meant`."""

    def input(self, number: int, kind: TensorType) -> None:
        self.names[number] = self.builder.input(self.builder.fresh(self.tensors[number].name), kind)

    def define(self, number: int, tensor: str) -> None:
        self.names[number] = tensor

    def tensor(self, number: int) -> str:
        """The graph's name of a tensor; constants enter the graph when they are first used."""
        if number not in self.names:
            tensor = self.tensors[number]
            # The shape of a scalar, for one, is a constant without bytes.
            value = np.zeros(tensor.shape, tensor.dtype) if 0 in tensor.shape else tensor.value
            if value is None:
                raise Refusal(f"reads tensor '{tensor.name}', which nothing defines")
            self.names[number] = self.constant(value, tensor.name)
        return self.names[number]

    def constant(self, value: Array, hint: str) -> str:
        """float16 is how weights are stored, not how anything is computed."""
        wide = value.astype(np.float32) if value.dtype == np.float16 else value
        return self.builder.constant(np.ascontiguousarray(wide) if wide.ndim else wide, hint)

    @staticmethod
    def stored_dtype(tensor: Tensor) -> str:
        return "float32" if tensor.dtype in ("float16", "complex64") else tensor.dtype

    def emit(self, op: Op, inputs: Sequence[str], outputs: Sequence[str] | None = None) -> Sequence[str]:
        """Add an operator, or compute it now if all that it reads is known: shape arithmetic disappears."""
        values = [self.builder.constants.get(name) if name else None for name in inputs]
        known = all(value is not None for value, name in zip(values, inputs, strict=True) if name)
        if not known or sum(value.size for value in values if value is not None) > MAX_FOLDED:
            return self.builder(op, inputs, outputs)
        types = op.infer(op.bind([self.builder.types[name] if name else None for name in inputs]))
        if sum(kind.elements for kind in types) > MAX_FOLDED:
            raise Refusal(f"a constant would have {sum(kind.elements for kind in types)} elements")
        made = op.numpy(*values)
        results = made if isinstance(made, tuple) else (made,)
        return [self.constant(np.asarray(result), f"{op.kind.lower()}_folded") for result in results]


class Emitter:
    """Adds operators on behalf of ONNX's: the protocol `Emit` of ir/op.py."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.given: dict[str, str] = {}
        """What stands for a tensor that an operator wanted to name."""

    def __call__(self, op: Op, inputs: Sequence[str], outputs: Sequence[str] | None = None) -> Sequence[str]:
        made = self.scope.emit(op, inputs)
        self.given |= zip(outputs or (), made, strict=False)
        return made

    def constant(self, array: Array, hint: str = "constant") -> str:
        return self.scope.constant(array, hint)

    def type_of(self, tensor: str) -> TensorType:
        return self.scope.builder.types[tensor]

    def fresh(self, hint: str) -> str:
        return self.scope.builder.fresh(hint)

    def word(self, text: str) -> int:
        return self.scope.builder.word(text)

    def note(self, text: str) -> None:
        self.scope.builder.note(text)


@dataclass(frozen=True)
class Node:
    operator: Operator
    scope: Scope
    name: str

    # ---- operands -----------------------------------------------------------------------------------------------

    def has(self, position: int) -> bool:
        return position < len(self.operator.inputs) and self.operator.inputs[position] >= 0

    @property
    def count(self) -> int:
        return len(self.operator.inputs)

    def declared(self, position: int) -> Tensor:
        if not self.has(position):
            raise Refusal(f"input {position} is missing")
        return self.scope.tensors[self.operator.inputs[position]]

    def input(self, position: int) -> str:
        self.declared(position)
        return self.scope.tensor(self.operator.inputs[position])

    def inputs(self) -> list[str]:
        return [self.input(position) for position in range(self.count)]

    def type(self, position: int) -> TensorType:
        return self.scope.builder.types[self.input(position)]

    def shape(self, position: int) -> Shape:
        return self.type(position).shape

    def dtype(self, position: int = 0) -> str:
        return self.type(position).dtype

    def value(self, position: int) -> Array | None:
        """What an operand is, if that is known."""
        return self.scope.builder.constants.get(self.input(position))

    def constant(self, position: int, meaning: str) -> Array:
        value = self.value(position)
        if value is None:
            raise Refusal(f"{meaning} (input {position}) is computed at run time", "a constant is expected")
        return value

    def integers(self, position: int, meaning: str) -> list[int]:
        value = self.constant(position, meaning)
        if value.dtype.kind not in "iu":
            raise Refusal(f"{meaning} (input {position}) is {value.dtype.name}, integers are expected")
        return [int(number) for number in value.reshape(-1)]

    def is_variable(self, position: int) -> bool:
        """Whether the file says that an operand keeps its value from call to call."""
        return self.declared(position).is_variable

    def declared_name(self, position: int) -> str:
        return self.declared(position).name

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise Refusal(f"axis {axis} of a tensor of {rank} axes")
        return axis % rank

    # ---- results ------------------------------------------------------------------------------------------------

    def result(self, position: int = 0) -> Tensor:
        if position >= len(self.operator.outputs) or self.operator.outputs[position] < 0:
            raise Refusal(f"output {position} is missing")
        return self.scope.tensors[self.operator.outputs[position]]

    # ---- quantisation -------------------------------------------------------------------------------------------

    def quantisation(self, position: int) -> Quantisation:
        return _required(self.declared(position))

    def result_quantisation(self, position: int = 0) -> Quantisation:
        return _required(self.result(position))

    def is_quantised(self, position: int = 0) -> bool:
        """Whether an operand's integers stand for real numbers."""
        declared = self.declared(position)
        return declared.dtype in ("int8", "uint8", "int16") and declared.quantisation is not None

    @property
    def meant(self) -> Arithmetic:
        """The arithmetic that is meant; whoever asks depends on it."""
        self.scope.is_quantised = True
        # XNNPACK has no kernels of 16-bit tensors: LiteRT's own compute them.
        words = self.scope.meant.name == "float" and self.declared(0).dtype == "int16"
        return find("optimised") if words else self.scope.meant

    # ---- options and emission -----------------------------------------------------------------------------------

    def option(self, name: str, default: Any = 0) -> Any:
        return self.operator.options.get(name, default)

    def emit(self, op: Op, *inputs: str) -> str:
        return self.scope.emit(op, inputs)[0]

    def add_constant(self, array: Array, hint: str = "constant") -> str:
        return self.scope.constant(array, f"{self.name}_{hint}")

    def onnx(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> Sequence[str]:
        """What ONNX's operator of that name stands for."""
        operator = ops.find(kind)
        if operator is None:
            raise Refusal(f"operator {kind}, which it stands for, is not supported")
        types = tuple(self.scope.builder.types[name] if name else None for name in inputs)
        values = tuple(self.scope.builder.constants.get(name) for name in inputs)
        made = tuple(f"{self.name}_{position}" for position in range(outputs))
        node = OnnxNode(kind, "", self.name, OPSET, attributes, tuple(inputs), made, types, values)
        emitter = Emitter(self.scope)
        return [emitter.given.get(name, name) for name in operator.expand(node, emitter)]

    def check_elements(self, shape: Sequence[int]) -> None:
        """Sizes from a file that are about to be allocated."""
        count = 1
        for size in shape:
            count *= size
        if count > MAX_ELEMENTS:
            raise Refusal(f"a tensor of shape {list(shape)} has {count} elements, at most {MAX_ELEMENTS} fit")


def _required(tensor: Tensor) -> Quantisation:
    if tensor.quantisation is None:
        raise Refusal(f"tensor '{tensor.name}' is {tensor.dtype} without a scale", "quantise the model again")
    if not np.all(tensor.quantisation.scale > 0):
        raise Refusal(f"tensor '{tensor.name}' has a scale of 0", "quantise the model again")
    return tensor.quantisation
