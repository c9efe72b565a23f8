from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class Reshape(Op):
    """The same elements in the same order under another shape."""

    view: ClassVar[bool] = True
    shape: Shape = ()

    def index(self, shapes: Shapes) -> Index:
        return {"X": tuple(map(whole, shapes["X"])), "Y": tuple(map(whole, self.shape))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if min(self.shape, default=0) < 0 or math.prod(self.shape) != types["X"].elements:
            raise Refusal(f"shape {types['X'].shape} does not have the elements of {self.shape}")

    def numpy(self, X: Array) -> Array:
        return X.reshape(self.shape)

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": at.gradient.reshape(at["X"].shape)}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        wanted = node.integers_at(1, "the shape")
        if wanted is None:
            wanted = node.attribute("shape")
        keep_zeros = bool(node.attribute("allowzero", 0))
        return cls(resolve(wanted, node.type(0).shape, keep_zeros)), node.inputs[:1]


def resolve(wanted: Sequence[int], shape: Shape, keep_zeros: bool = False) -> Shape:
    """A wanted shape with -1 (what is left) and 0 (as before, unless zeros are kept) filled in."""
    if list(wanted).count(-1) > 1 or min(wanted, default=0) < -1:
        raise Refusal(f"shape {tuple(wanted)} has more than one unknown size")
    if not keep_zeros and any(size == 0 and axis >= len(shape) for axis, size in enumerate(wanted)):
        raise Refusal(f"shape {tuple(wanted)} keeps an axis that {shape} does not have")
    sizes = [shape[axis] if size == 0 and not keep_zeros else size for axis, size in enumerate(wanted)]
    known = math.prod(size for size in sizes if size != -1)
    return tuple(math.prod(shape) // max(known, 1) if size == -1 else size for size in sizes)
