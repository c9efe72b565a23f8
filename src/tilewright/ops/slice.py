from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, axis_loops
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._loops import row_major
from tilewright.ops._movement import StridedCopy
from tilewright.ops.identity import Identity
from tilewright.records import dataclass

NO_END = (2**31 - 1, 2**63 - 1)
"""What stands for the end of an axis of unknown size in forward slices."""


@dataclass(frozen=True)
class Slice(StridedCopy):
    """Along each axis `sizes` elements from `starts` on, `steps` (maybe negative) apart."""

    starts: Shape = ()
    steps: Shape = ()
    sizes: Shape = ()

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(self.sizes))
        return {
            "X": tuple(loop * step + start for loop, step, start in zip(loops, self.steps, self.starts, strict=True)),
            "Y": loops,
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(self.sizes)}

    def at(self, shapes: Shapes, box: Box) -> Op:
        sizes = [box[f"d{axis}"][1] - box[f"d{axis}"][0] for axis in range(len(self.sizes))]
        return reversible(self.steps, sizes)

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if not len(shape) == len(self.starts) == len(self.steps) == len(self.sizes):
            raise Refusal(f"a slice of {len(self.sizes)} axes of a tensor of rank {len(shape)}")
        for start, step, size, length in zip(self.starts, self.steps, self.sizes, shape, strict=True):
            if size and not (0 <= start < length and 0 <= start + step * (size - 1) < length):
                raise Refusal(f"{size} elements from {start} on, {step} apart, of an axis of {length}")

    def numpy(self, X: Array) -> Array:
        return X[tuple(map(_slice, self.starts, self.steps, self.sizes))].copy()

    def walk(self, shape: Shape) -> tuple[int, Sequence[int]]:
        strides = row_major(shape)
        start = sum(first * stride for first, stride in zip(self.starts, strides, strict=True))
        return start, [step * stride for step, stride in zip(self.steps, strides, strict=True)]

    def simplest(self, shape: Shape) -> Op:
        """A slice that takes everything in order is no slice."""
        return Identity() if self.sizes == shape and min(self.steps, default=1) > 0 else self

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X")}

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        starts, ends = node.integers_given(1, "starts"), node.integers_given(2, "ends")
        if starts is None or ends is None:
            raise Refusal("starts or ends are missing")
        axes = node.integers_given(3, "axes") or tuple(range(len(starts)))
        steps = node.integers_given(4, "steps") or (1,) * len(starts)
        if not len(starts) == len(ends) == len(axes) == len(steps):
            raise Refusal(f"starts {starts}, ends {ends}, axes {axes}, steps {steps} differ in length")
        ranges = dict(zip(axes, zip(starts, ends, steps, strict=True), strict=True))
        return of_ranges(node.type(0).shape, ranges).simplest(node.type(0).shape), node.inputs[:1]


def of_ranges(shape: Shape, ranges: Mapping[int, tuple[int, int, int]]) -> Slice:
    """A slice from (start, end, step) of some axes, with ONNX's rules for negative and outlying values."""
    found = [range(size) for size in shape]
    for axis, (start, end, step) in ranges.items():
        if not -len(shape) <= axis < len(shape) or step == 0:
            raise Refusal(f"a slice with step {step} along axis {axis} of a tensor of rank {len(shape)}")
        if step < 0 and end in NO_END:
            raise Refusal(f"a slice with step {step} that ends at {end}: by ONNX it is empty, others read it as no end")
        # Python's rules but for one: backward from before the first element, ONNX begins at the first.
        first = max(start, -shape[axis]) if step < 0 else start
        found[axis] = range(*slice(first, end, step).indices(shape[axis]))
    return Slice(tuple(r.start for r in found), tuple(r.step for r in found), tuple(map(len, found)))


def reversible(steps: Sequence[int], sizes: Sequence[int]) -> Slice:
    """A slice of a tensor that is just as long as the slice needs."""
    starts = tuple(-step * (size - 1) if step < 0 and size else 0 for step, size in zip(steps, sizes, strict=True))
    return Slice(starts, tuple(steps), tuple(sizes))


def _slice(start: int, step: int, size: int) -> slice:
    stop = start + step * size
    return slice(start, stop if stop >= 0 else None, step) if size else slice(0, 0)
