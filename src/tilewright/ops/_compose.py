"""Writing an operator down in terms of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ops._elementwise import broadcast
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.identity import Identity
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.sub import Sub
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

MOST_ELEMENTS = 2**26
"""Of a constant that is made here: sizes come from an untrusted file."""


def refuse_large(what: str, *sizes: int) -> None:
    if math.prod(sizes) > MOST_ELEMENTS:
        raise Refusal(f"{what} would have {math.prod(sizes)} elements", f"at most {MOST_ELEMENTS} are made")


@dataclass(frozen=True)
class Compose:
    """Emits operators one by one and leaves out those that would change nothing. Tensors are names."""

    node: OnnxNode
    emit: Emit

    def __call__(self, op: Op, *tensors: str) -> str:
        """The first result of an operator."""
        return self.emit(op, tensors)[0]

    def kind(self, tensor: str) -> TensorType:
        return self.emit.type_of(tensor)

    def shape(self, tensor: str) -> Shape:
        return self.emit.type_of(tensor).shape

    def constant(self, value: Array, hint: str = "constant") -> str:
        return self.emit.constant(np.ascontiguousarray(value), f"{self.node.name}_{hint}")

    def like(self, value: float, tensor: str) -> str:
        """A number in the element type of a tensor."""
        return self.emit.constant(np.asarray(value, self.kind(tensor).element), f"{self.node.name}_{value:g}")

    def add(self, a: str, b: str) -> str:
        return self(Add(), a, b)

    def sub(self, a: str, b: str) -> str:
        return self(Sub(), a, b)

    def mul(self, a: str, b: str) -> str:
        return self(Mul(), a, b)

    def scaled(self, tensor: str, factor: float) -> str:
        return tensor if factor == 1.0 else self.mul(tensor, self.like(factor, tensor))

    def matmul(self, a: str, b: str, trans_b: bool = False) -> str:
        return self(MatMul(trans_b=trans_b), a, b)

    def cast(self, tensor: str, dtype: str) -> str:
        return tensor if self.kind(tensor).dtype == dtype else self(Cast(dtype), tensor)

    def reshape(self, tensor: str, shape: Sequence[int]) -> str:
        return tensor if self.shape(tensor) == tuple(shape) else self(Reshape(tuple(shape)), tensor)

    def transpose(self, tensor: str, order: Sequence[int]) -> str:
        if list(order) == sorted(order):
            return tensor
        shape = self.shape(tensor)
        moved = [axis for axis in order if shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshape(tensor, [shape[axis] for axis in order])
        return self(Transpose(tuple(order)), tensor)

    def expand(self, tensor: str, shape: Sequence[int]) -> str:
        wanted = broadcast([self.shape(tensor), tuple(shape)])
        return tensor if self.shape(tensor) == wanted else self(Expand(wanted).simplest(self.kind(tensor)), tensor)

    def part(self, tensor: str, axis: int, start: int, stop: int, step: int = 1) -> str:
        shape = self.shape(tensor)
        return self.parts(tensor, {axis % len(shape): (start, stop, step)})

    def parts(self, tensor: str, ranges: Mapping[int, tuple[int, int, int]]) -> str:
        shape = self.shape(tensor)
        found = of_ranges(shape, ranges).simplest(shape)
        return tensor if isinstance(found, Identity) else self(found, tensor)

    def join(self, axis: int, *tensors: str) -> str:
        """One after the other along an axis; those without elements are left out."""
        kept = [tensor for tensor in tensors if self.kind(tensor).elements] or list(tensors[:1])
        axis %= len(self.shape(kept[0]))
        return kept[0] if len(kept) == 1 else self(Concat(axis), *kept)

    def give(self, *tensors: str) -> Sequence[str]:
        """The node's results, as far as they are asked for."""
        for tensor, name in zip(tensors, self.node.outputs, strict=False):
            if tensor and name:
                self.emit(Identity(), [tensor], [name])
        return self.node.outputs
