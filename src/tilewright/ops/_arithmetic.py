"""Bases and import of arithmetic on two or more tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import TensorType, is_integer, limits
from tilewright.ops._elementwise import NUMBERS, Binary, Elementwise
from tilewright.ops.cast import Cast
from tilewright.ops.identity import Identity
from tilewright.records import dataclass


@dataclass(frozen=True)
class Arithmetic(Binary):
    """Two operands of one type, or (`wide`) of any integer types with an int32 result. Integers wrap around."""

    accepts: ClassVar[frozenset[str] | None] = NUMBERS
    wide: bool = False

    def check(self, types: Mapping[str, TensorType]) -> None:
        if not self.wide:
            return super().check(types)
        if not all(is_integer(kind.dtype) for kind in types.values()):
            raise Refusal("int32 arithmetic on an operand that is not integer", "insert a Cast or a Quant")
        return Elementwise.check(self, types)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",) if self.wide else super().result_dtypes(dtypes)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("consumed_inputs")
        return cls(wide=node.integers), node.inputs


def chain(op: Op, inputs: Sequence[str], outputs: Sequence[str] | None, emit: Emit) -> Sequence[str]:
    """((x0 op x1) op x2) op ...; a single operand stays as it is."""
    if len(inputs) == 1:
        return emit(Identity(), inputs, outputs)
    total = inputs[0]
    for operand in inputs[1:-1]:
        (total,) = emit(op, [total, operand])
    return emit(op, [total, inputs[-1]], outputs)


def in_one_type(node: OnnxNode, emit: Emit, positions: Sequence[int] | None = None) -> list[str]:
    """The operands; those of the integer dialect (whose constants are as narrow as can be) in a type that holds all."""
    names = list(node.inputs)
    positions = range(len(names)) if positions is None else positions
    if not node.integers or len({node.type(at).dtype for at in positions}) == 1:
        return names
    common = _common_type(node, positions)
    for at in positions:
        value = node.constants[at]
        if value is not None:
            names[at] = emit.constant(value.astype(common), names[at])
        elif node.type(at).dtype != common:
            (names[at],) = emit(Cast(common), [names[at]])
    return names


def _common_type(node: OnnxNode, positions: Sequence[int]) -> str:
    """The type of what is computed if the constants fit into it, else a wider one."""
    computed = [node.type(at).dtype for at in positions if node.constants[at] is None]
    values = [value for at in positions if (value := node.constants[at]) is not None and value.size]
    if computed:
        common = np.result_type(*computed).name
        low, high = limits(common)
        if all(int(value.min()) >= low and int(value.max()) <= high for value in values):
            return common
    return np.result_type(*(node.type(at).dtype for at in positions)).name


def widened(node: OnnxNode, emit: Emit) -> Sequence[str]:
    """The operand; of the integer dialect in int32, where its negative has room."""
    return emit(Cast("int32"), node.inputs) if node.integers else node.inputs
