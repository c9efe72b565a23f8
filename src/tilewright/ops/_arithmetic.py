"""Base of sums and products of two tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.onnx_node import OnnxNode
from tilewright.op import Op
from tilewright.ops._elementwise import NUMBERS, Elementwise, same_types
from tilewright.types import TensorType, is_integer


@dataclass(frozen=True)
class Arithmetic(Elementwise):
    """Two operands of one type, or (`wide`) of any integer types with an int32 result."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B")
    accepts = NUMBERS
    wide: bool = False

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        if not self.wide:
            same_types(types)
        elif not all(is_integer(kind.dtype) for kind in types.values()):
            raise Refusal("int32 arithmetic on an operand that is not integer", "insert a Cast or a Quant")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int32",) if self.wide else super().result_dtypes(dtypes)

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        node.ignore("consumed_inputs")
        return cls(wide=node.integers), node.inputs
