"""Base of normalisations over the last axes of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Shape, Shapes, TensorType
from tilewright.ops.expand import Expand
from tilewright.ops.reshape import Reshape
from tilewright.records import dataclass


@dataclass(frozen=True)
class RowNormalisation(Op):
    """The axes from `axis` on are one row; operands after X have one value for each element of a row."""

    operands: ClassVar[tuple[str, ...]] = ("X", "scale?")
    axis: int = -1
    epsilon: float = 1e-5

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        row = loops[self.axis % len(loops) :]
        return {"X": loops, **{name: row for name in shapes if name != "X"}, "Y": loops}

    def row_axes(self, rank: int) -> list[int]:
        return list(range(self.axis % rank, rank))

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        rank = len(shapes["X"])
        return frozenset(f"d{axis}" for axis in range(self.axis % rank, rank))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if not -len(shape) <= self.axis < len(shape):
            raise Refusal(f"axis {self.axis} is outside a tensor of rank {len(shape)}")
        for name, kind in types.items():
            if kind.dtype != "float32":
                raise Refusal(f"{name} is {kind.dtype}, float32 expected", "insert a Cast")
            if name != "X" and kind.shape != shape[self.axis % len(shape) :]:
                raise Refusal(f"{name} has shape {kind.shape} for rows of shape {shape[self.axis % len(shape) :]}")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("stash_type")
        shape = node.type(0).shape
        axis = node.axis(node.attribute("axis", -1), len(shape))
        op = cls(axis, node.attribute("epsilon", 1e-5))
        return emit(op, [node.inputs[0], *(fitted(name, shape[axis:], emit) for name in node.inputs[1:])], node.outputs)


def fitted(tensor: str, row: Shape, emit: Emit) -> str:
    """A scale or bias in the shape of a row; it may have axes of size 1 in front, or be broadcast."""
    if not tensor or emit.type_of(tensor).shape == row:
        return tensor
    shape = emit.type_of(tensor).shape
    surplus = len(shape) - len(row)
    if surplus > 0:
        if shape[:surplus] != (1,) * surplus:
            raise Refusal(f"a scale or bias of shape {shape} for rows of shape {row}", "use Mul and Add instead")
        (tensor,) = emit(Reshape(shape[surplus:]), [tensor])
    return tensor if emit.type_of(tensor).shape == row else emit(Expand(row), [tensor])[0]
