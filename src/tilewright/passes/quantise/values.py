"""What the integer tensors of a quantised graph stand for, and what is known about its floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from tilewright.errors import instance
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, TensorType, limits
from tilewright.ops._qlinear import reach
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.identity import Identity
from tilewright.ops.pad import Pad
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

MOVES = (Expand, Gather, GatherElements, GatherND, Identity, Pad, Reshape, Slice, Transpose)
"""Operators that put elements of their first operand elsewhere, whatever the elements are."""


class NoIntegerForm(Exception):
    """Why something between quantised tensors cannot be computed with integers."""


@dataclass(frozen=True)
class Format:
    """How a QuantizeLinear stores numbers: round(x / scale) + zero."""

    dtype: str
    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int = 0

    @property
    def scale(self) -> float:
        return self.scales[0]

    @property
    def zero(self) -> int:
        return self.zeros[0]

    @property
    def is_per_tensor(self) -> bool:
        return len(self.scales) == 1

    def quantise(self, values: Array) -> Array:
        scale, zero = np.array(self.scales, np.float32), np.array(self.zeros, self.dtype)
        return QuantizeLinear(self.axis).numpy(values.astype(np.float32), scale, zero)

    def level(self, value: float) -> int:
        """The integer that stands for a number, saturated."""
        low, high = limits(self.dtype)
        return int(np.clip(np.rint(np.float64(value) / self.scale) + self.zero, low, high))


@dataclass(frozen=True)
class Value:
    """An integer tensor that stands for (tensor - zero) * scale, with one scale or one per position along an axis."""

    tensor: str
    kind: TensorType
    scales: Array
    zeros: Array
    axis: int = 0

    @property
    def is_per_tensor(self) -> bool:
        return self.scales.size == 1

    @property
    def scale(self) -> float:
        if not self.is_per_tensor:
            raise NoIntegerForm("it is quantised per channel")
        return float(self.scales[0])

    @property
    def zero(self) -> int:
        """The zero point, if there is only one."""
        if np.unique(self.zeros).size != 1:
            raise NoIntegerForm("its zero points differ")
        return int(self.zeros[0])

    @property
    def reach(self) -> int:
        """How far an element can be from the zero point."""
        return reach(self.kind.dtype, self.zero)

    @property
    def largest(self) -> float:
        """The largest magnitude that it can stand for."""
        return self.reach * self.scale

    def along(self, values: Array, rank: int, axis: int) -> Array:
        """Scales or zero points as an array that broadcasts along an axis of a tensor of that rank."""
        shape = [1] * rank
        if values.size > 1:
            shape[axis] = values.size
        return values.reshape(shape)


@dataclass
class Context:
    """One run of the pass: the graph as it is, the graph that is being built, and what was found out before."""

    graph: Graph
    builder: Builder
    moved: dict[str, Value] = field(default_factory=dict)
    floats: dict[str, Array] = field(default_factory=dict)
    made: dict[tuple[str, Format], str] = field(default_factory=dict)
    rows: dict[tuple[str, bytes], str] = field(default_factory=dict)
    """Float rows of a table, and the integers of the table -> the integer rows."""
    reason: str = ""
    """Why the last attempt to compute something with integers failed."""

    def producer(self, tensor: str) -> Node | None:
        return self.graph.producers.get(tensor)

    def shape(self, tensor: str) -> Shape:
        return self.graph.types[tensor].shape

    def emit(self, op: Op, inputs: list[str], output: str | None = None) -> str:
        return self.builder.add(op, inputs, [output] if output else None)[0]

    def array(self, tensor: str) -> Array | None:
        """The value of a constant of the new graph."""
        return self.builder.constants.get(tensor)

    # ---- floats that are known at compile time --------------------------------------------------------------------

    def known(self, tensor: str) -> Array | None:
        """A tensor's value if it depends on constants alone."""
        if tensor in self.graph.constants:
            return self.graph.constants[tensor]
        if tensor not in self.constant:
            return None
        if tensor not in self.floats:
            node = self.graph.producers[tensor]
            values = {name: value for name in filter(None, node.inputs) if (value := self.known(name)) is not None}
            self.floats[tensor] = evaluate_node(self.graph, node, values)[node.outputs.index(tensor)]
        return self.floats[tensor]

    @cached_property
    def constant(self) -> frozenset[str]:
        """The tensors that depend on constants alone."""
        found = set(self.graph.constants)
        for node in self.graph.nodes:
            if any(node.inputs) and all(name in found for name in node.inputs if name):
                found.update(filter(None, node.outputs))
        return frozenset(found)

    # ---- integers ---------------------------------------------------------------------------------------------------

    def value(self, tensor: str) -> Value:
        """The integer tensor behind a float one: a DequantizeLinear, maybe moved about afterwards."""
        if tensor not in self.moved:
            self.moved[tensor] = self._found(tensor)
        return self.moved[tensor]

    def _found(self, tensor: str) -> Value:
        node = self.producer(tensor)
        if node is None:
            raise NoIntegerForm(f"tensor '{tensor}' is not quantised")
        if isinstance(node.op, DequantizeLinear):
            return self._dequantised(node)
        if isinstance(node.op, MOVES):
            return self._move(node, self.value(node.inputs[0]))
        raise NoIntegerForm(f"tensor '{tensor}' is not quantised")

    def _dequantised(self, node: Node) -> Value:
        scales, zeros = (self.known(name) for name in node.inputs[1:])
        if scales is None or zeros is None or not usable(scales):
            raise NoIntegerForm("its scale or zero point is unusual: computed at run time, zero or not finite")
        op = instance(node.op, DequantizeLinear)
        scales, zeros = scales.reshape(-1).astype(np.float64), zeros.reshape(-1).astype(np.int64)
        constant, name = self.known(node.inputs[0]), node.inputs[0]
        if constant is not None and name not in self.builder.constants:
            name = self.builder.constant(constant, name)
        return Value(name, self.builder.types[name], scales, zeros, op.axis)

    def _move(self, node: Node, value: Value) -> Value:
        op = replace(node.op, value=value.zero) if isinstance(node.op, Pad) else node.op
        if isinstance(op, Pad) and node.op.value != 0:  # type: ignore[attr-defined]
            raise NoIntegerForm("it is padded with something else than zero")
        constant = self.array(value.tensor)
        others = [self.known(name) for name in node.inputs[1:]]
        if constant is not None and all(other is not None for other in others):
            return self._move_constant(op, value, constant, others)
        if not value.is_per_tensor:
            raise NoIntegerForm("it is quantised per channel and moved")
        tensor = self.emit(op, [value.tensor, *node.inputs[1:]])
        return replace(value, tensor=tensor, kind=self.builder.types[tensor])

    def _move_constant(self, op: Op, value: Value, constant: Array, others: list[Array | None]) -> Value:
        """Weights are moved at compile time, and their channels with them."""
        moved = np.ascontiguousarray(op.numpy(constant, *others))
        tensor = self.builder.constant(moved, value.tensor)
        if value.is_per_tensor:
            return replace(value, tensor=tensor, kind=self.builder.types[tensor])
        numbers = value.along(np.arange(value.scales.size), constant.ndim, value.axis)
        channels = op.numpy(np.ascontiguousarray(np.broadcast_to(numbers, constant.shape)), *others)
        axis, order = channel_axis(channels)
        kind = self.builder.types[tensor]
        return Value(tensor, kind, value.scales[order], value.zeros[order], axis)


def usable(scales: Array) -> bool:
    return bool(scales.size and np.all(np.isfinite(scales)) and np.all(scales > 0))


def channel_axis(channels: Array) -> tuple[int, Array]:
    """The one axis along which channel numbers vary, and the numbers along it."""
    for axis in range(channels.ndim):
        line = np.moveaxis(channels, axis, 0).reshape(channels.shape[axis], -1)
        if np.all(line == line[:, :1]):
            return axis, line[:, 0]
    raise NoIntegerForm("its channels are spread over several axes")


def format_of(context: Context, node: Node) -> Format:
    """What a QuantizeLinear asks for, if it is known at compile time."""
    scales, zeros = (context.known(name) for name in node.inputs[1:])
    if scales is None or zeros is None or not usable(scales):
        raise NoIntegerForm("its scale or zero point is unusual: computed at run time, zero or not finite")
    axis = instance(node.op, QuantizeLinear).axis
    return Format(zeros.dtype.name, tuple(map(float, scales.reshape(-1))), tuple(map(int, zeros.reshape(-1))), axis)


Rule = Callable[[Context, str, Format, "str | None"], "str | None"]
"""The integer tensor for a float tensor in a format, or None where the rule does not apply."""
