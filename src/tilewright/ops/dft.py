from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops._fourier import transformed


@dataclass(frozen=True)
class DFT(Op):
    """The discrete Fourier transform along an axis. Becomes an FFT, or a MatMul where the length is no power of two."""

    operands: ClassVar[tuple[str, ...]] = ("X", "dft_length?", "axis?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, rank = Compose(node, emit), node.rank()
        given = node.scalar_at(2, "the axis") if node.has(2) else None
        default = 1 if node.opset < 20 else -2
        axis = node.axis(int(given) if given is not None else node.attribute("axis", default), rank)
        inverse, onesided = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
        if axis == rank - 1:
            raise Refusal("a transform along the axis of real and imaginary parts")
        order = [*(a for a in range(rank - 1) if a != axis), axis, rank - 1]
        points = node.type(0).shape[axis]
        length = node.scalar_at(1, "the length") if node.has(1) else None
        if length is None:
            length = 2 * (points - 1) if inverse and onesided else points
        y = transformed(make, make.transpose(node.inputs[0], order), int(length), inverse, onesided)
        return make.give(make.transpose(y, [order.index(axis) for axis in range(rank)]))
