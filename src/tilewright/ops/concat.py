from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._arithmetic import in_one_type
from tilewright.ops._elementwise import same_types
from tilewright.ops.identity import Identity
from tilewright.records import dataclass


@dataclass(frozen=True)
class Concat(Op):
    """The operands one after the other along an axis."""

    operands: ClassVar[tuple[str, ...]] = ("X*",)
    axis: int = 0

    def index(self, shapes: Shapes) -> Index:
        lengths = [shape[self.axis] for shape in shapes.values()]
        starts = [end - length for end, length in zip(accumulate(lengths), lengths, strict=True)]
        loops = axis_loops(len(next(iter(shapes.values()))))
        before, along, after = loops[: self.axis], loops[self.axis], loops[self.axis + 1 :]
        # A tile touches the part of each operand that its range, seen from the operand's start, has inside of it.
        maps = {name: (*before, along - start, *after) for name, start in zip(shapes, starts, strict=True)}
        return {**maps, "Y": loops}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        sizes = list(next(iter(shapes.values())))
        sizes[self.axis] = sum(shape[self.axis] for shape in shapes.values())
        return {f"d{axis}": size for axis, size in enumerate(sizes)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        same_types(types)
        shapes = [kind.shape for kind in types.values()]
        if not 0 <= self.axis < len(shapes[0]):
            raise Refusal(f"axis {self.axis} is outside a tensor of rank {len(shapes[0])}")
        others = {shape[: self.axis] + shape[self.axis + 1 :] for shape in shapes}
        if len(others) > 1 or len({len(shape) for shape in shapes}) > 1:
            raise Refusal(f"shapes {', '.join(map(str, shapes))} differ in more than axis {self.axis}")

    def numpy(self, *X: Array) -> Array:
        return np.concatenate(X, self.axis)

    def gradients(self, at: Adjoint) -> Gradients:
        return {name: exchanged(self, at, name) for name in sorted(at.wanted)}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        tensors = in_one_type(node, emit)
        kept = [tensor for tensor in tensors if emit.type_of(tensor).elements] or tensors
        axis = node.axis(node.attribute("axis", 1), len(emit.type_of(kept[0]).shape))
        return emit(cls(axis) if len(kept) > 1 else Identity(), kept, node.outputs)
