from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops.slice import of_ranges
from tilewright.records import dataclass


@dataclass(frozen=True)
class Split(Op):
    """Consecutive parts of an axis. Becomes one Slice for each part that is read."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        shape = node.type(0).shape
        axis = node.axis(node.attribute("axis", 0), len(shape))
        sizes = _sizes(node, shape[axis])
        if sum(sizes) != shape[axis] or len(sizes) < len(node.outputs) or min(sizes, default=0) < 0:
            raise Refusal(f"parts {sizes} for {len(node.outputs)} results do not make up an axis of {shape[axis]}")
        ends = list(accumulate(sizes))
        for output, size, end in zip(node.outputs, sizes, ends, strict=False):
            if output:
                emit(of_ranges(shape, {axis: (end - size, end, 1)}).simplest(shape), node.inputs[:1], [output])
        return node.outputs


def _sizes(node: OnnxNode, length: int) -> tuple[int, ...]:
    """As stated, or as equal as they can be with the smaller part last."""
    stated = node.integers_given(1, "split")
    count = node.attribute("num_outputs", len(node.outputs))
    if stated is not None:
        return stated
    if not isinstance(count, int) or not 1 <= count <= max(length, len(node.outputs)):
        raise Refusal(f"{count} parts asked for")
    part = -(-length // count)
    return tuple(max(min(part, length - part * i), 0) for i in range(count))
