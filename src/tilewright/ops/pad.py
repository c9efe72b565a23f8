from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Box, Span, axis_loops, outside
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType, is_integer, limits
from tilewright.ops._spatial import Padding, pad_spans
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.slice import of_ranges
from tilewright.records import dataclass

MODES = ("constant", "reflect", "edge", "wrap")


@dataclass(frozen=True)
class Pad(Op):
    """X with a border of a constant. Other kinds of border become Gathers, cut edges a Slice."""

    pads: Padding = ()
    value: float | int = 0

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(self.pads) // 2)
        return {"X": tuple(loop - before for loop, before in zip(loops, self.pads, strict=False)), "Y": loops}

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return {("X", axis): span for axis, span in enumerate(pad_spans(self.pads))}

    def at(self, shapes: Shapes, box: Box) -> Op:
        expressions = zip(self.index(shapes)["X"], shapes["X"], strict=True)
        edges = [outside(expression.span(box), size) for expression, size in expressions]
        return replace(self, pads=(*(before for before, _ in edges), *(after for _, after in edges)))

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind = types["X"]
        if len(self.pads) != 2 * len(kind.shape) or min(self.pads, default=0) < 0:
            raise Refusal(f"pads {self.pads} do not fit shape {kind.shape}")
        if is_integer(kind.dtype) and not limits(kind.dtype)[0] <= self.value <= limits(kind.dtype)[1]:
            raise Refusal(f"padding with {self.value} does not fit {kind.dtype}")

    def numpy(self, X: Array) -> Array:
        return np.pad(X, pad_spans(self.pads), constant_values=X.dtype.type(self.value))

    def gradients(self, at: Adjoint) -> Gradients:
        return {"X": exchanged(self, at, "X")}

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        mode = node.attribute("mode", "constant")
        if mode not in MODES:
            raise Refusal(f"mode {mode} is unknown", f"known: {', '.join(MODES)}")
        pads, value = _pads(node), _value(node)
        x, shape = node.inputs[0], node.type(0).shape
        if min(pads, default=0) < 0:
            ranges = {axis: (max(-a, 0), size + min(b, 0), 1) for axis, (size, (a, b)) in enumerate(_axes(shape, pads))}
            cut = of_ranges(shape, ranges)
            shape, (x,) = cut.sizes, emit(cut, [x])
        border = tuple(max(size, 0) for size in pads)
        if mode != "constant":
            return emit(Identity(), [_gathered(x, shape, node.name, emit, border, mode)], node.outputs)
        return emit(cls(border, value) if any(border) else Identity(), [x], node.outputs)


def _pads(node: OnnxNode) -> Padding:
    """One start per axis, then one end per axis, from any of ONNX's ways to say so."""
    given, axes, rank = node.integers_given(1, "pads"), node.integers_at(3, "axes"), node.rank()
    if given is None:
        given = node.attribute("paddings")
    chosen = [node.axis(axis, rank) for axis in axes] if axes is not None else list(range(rank))
    if len(given) != 2 * len(chosen):
        raise Refusal(f"pads {given} for {len(chosen)} axes")
    pads = [0] * (2 * rank)
    for position, axis in enumerate(chosen):
        pads[axis], pads[rank + axis] = given[position], given[len(chosen) + position]
    return tuple(pads)


def _value(node: OnnxNode) -> float | int:
    value: float = node.attribute("value", 0.0)
    if node.has(2) and node.type(2).elements:
        value = node.scalar_at(2, "the border's value") or 0.0
    if node.type(0).dtype == "float32":
        return float(value)
    if not math.isfinite(value):
        raise Refusal(f"{value} is no value to pad integers with")
    return int(value)


def _axes(shape: Sequence[int], pads: Padding) -> list[tuple[int, Span]]:
    return list(zip(shape, pad_spans(pads), strict=True))


def _gathered(x: str, shape: Shape, name: str, emit: Emit, border: Padding, mode: str) -> str:
    """A border that repeats elements of X: a Gather along each padded axis."""
    for axis, (size, (before, after)) in enumerate(_axes(shape, border)):
        if before or after:
            table = _sources(size, before, after, mode)
            (x,) = emit(Gather(axis), [x, emit.constant(table.astype(np.int32), f"{name}_{mode}")])
    return x


def _sources(size: int, before: int, after: int, mode: str) -> Array:
    """For each position along a padded axis, which element of X it shows."""
    positions = np.arange(-before, max(size + after, -before))
    if mode == "edge":
        return np.clip(positions, 0, size - 1)
    if mode == "wrap":
        return positions % max(size, 1)
    period = max(2 * (size - 1), 1)
    return (size - 1) - np.abs((size - 1) - positions % period)
