from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._chosen_axes import chosen
from tilewright.ops._compose import Compose
from tilewright.ops._fourier import transformed
from tilewright.records import dataclass


@dataclass(frozen=True)
class DFT(Op):
    """The discrete Fourier transform along an axis. Becomes an FFT, or a MatMul where the length is no power of two."""

    operands: ClassVar[tuple[str, ...]] = ("X", "dft_length?", "axis?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, rank = Compose(node, emit), node.rank()
        if node.has(2) and node.constants[2] is None:
            fitting = [axis for axis in range(rank - 1) if _length(node, axis) == _declared(node, axis)]
            ways = [(axis,) for axis in fitting]
            return make.give(chosen(make, node.inputs[2], rank, ways, lambda way: _along(make, way[0])))
        given = node.scalar_at(2, "the axis") if node.has(2) else None
        default = 1 if node.opset < 20 else -2
        axis = node.axis(int(given) if given is not None else node.attribute("axis", default), rank)
        if axis == rank - 1:
            raise Refusal("a transform along the axis of real and imaginary parts")
        return make.give(_along(make, axis))


def _flags(node: OnnxNode) -> tuple[bool, bool]:
    return bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))


def _length(node: OnnxNode, axis: int) -> int:
    """Of the transform along an axis."""
    given = node.scalar_at(1, "the length") if node.has(1) else None
    points = node.type(0).shape[axis]
    inverse, onesided = _flags(node)
    return int(given) if given is not None else 2 * (points - 1) if inverse and onesided else points


def _declared(node: OnnxNode, axis: int) -> int:
    """The length of a transform along an axis that gives the declared shape, or -1."""
    shape, declared, (inverse, onesided) = node.type(0).shape, (*node.declared, None)[0], _flags(node)
    others = [a for a in range(len(shape) - 1) if a != axis]
    if declared is None or len(declared) != len(shape) or any(declared[a] != shape[a] for a in others):
        return -1
    kept = _length(node, axis) // 2 + 1 if onesided and not inverse else _length(node, axis)
    return _length(node, axis) if declared[axis] == kept else -1


def _along(make: Compose, axis: int) -> str:
    node, rank = make.node, make.node.rank()
    order = [*(a for a in range(rank - 1) if a != axis), axis, rank - 1]
    y = transformed(make, make.transpose(node.inputs[0], order), _length(node, axis), *_flags(node))
    return make.transpose(y, [order.index(axis) for axis in range(rank)])
