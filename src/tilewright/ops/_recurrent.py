"""From ONNX's recurrent layers to a matrix product of all steps and the cells of each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, Shape
from tilewright.ops._cells import Cells
from tilewright.ops._gate_functions import GateFunction, gate_functions
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.matmul import MatMul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Whether each direction runs from the end."""

Positions = dict[str, int]


@dataclass(frozen=True)
class Recurrent(Op):
    """X (steps, batch, inputs) and, for each direction, W, R and the biases of both in B."""

    gates: ClassVar[int]
    defaults: ClassVar[tuple[str, ...]]
    """The functions of one direction."""
    positions: ClassVar[Positions] = {"X": 0, "W": 1, "R": 2, "B": 3, "N": 4, "H": 5, "C": 6, "P": 7}

    @classmethod
    def cells(cls, node: OnnxNode, functions: tuple[GateFunction, ...], reverse: bool, clip: float) -> Cells:
        raise NotImplementedError(cls.__name__)


class RecurrentImport:
    """One recurrent layer while it is imported."""

    def __init__(self, kind: type[Recurrent], node: OnnxNode, emit: Emit, positions: Positions) -> None:
        self.kind, self.node, self.emit, self.positions = kind, node, emit, positions
        self.batch_first = bool(node.attribute("layout", 0))
        self.directions = _directions(node)
        self.functions = self._functions()
        self.clip = float(node.attribute("clip", 0.0))
        self.hidden = self._hidden()
        self._check_shapes()
        self.lengths = self._lengths()

    def outputs(self) -> Sequence[str]:
        """The layer's results, in the node's order; what nobody reads is not made."""
        x = self._steps_first()
        made = [self._direction(x, d, reverse) for d, reverse in enumerate(self.directions)]
        for position, name in enumerate(self.node.outputs):
            if self.node.must_give(position):
                self._join([results[position] for results in made], position, name)
        return self.node.outputs

    # ---- attributes -----------------------------------------------------------------------------------------------

    def _functions(self) -> tuple[tuple[GateFunction, ...], ...]:
        """Of each direction."""
        count, node = len(self.kind.defaults), self.node
        names = node.attribute("activations", ()) or self.kind.defaults * len(self.directions)
        if len(names) != count * len(self.directions):
            raise Refusal(f"{len(names)} activations, but {len(self.directions)} directions with {count} each")
        found = gate_functions(names, node.attribute("activation_alpha", ()), node.attribute("activation_beta", ()))
        return tuple(found[d * count : (d + 1) * count] for d in range(len(self.directions)))

    def _hidden(self) -> int:
        shape = self.node.type(self.positions["R"]).shape
        hidden = int(self.node.attribute("hidden_size", shape[-1] if shape else 0))
        wanted = (len(self.directions), self.kind.gates * hidden, hidden)
        if shape != wanted:
            raise Refusal(f"R has shape {shape}, but hidden size {hidden} needs {wanted}")
        return hidden

    def _check_shapes(self) -> None:
        directions, width = len(self.directions), self.kind.gates * self.hidden
        if self.node.rank(0) != 3:
            raise Refusal(f"X has shape {self.node.type(0).shape}, but steps, a batch and inputs are expected")
        wanted: dict[str, Shape] = {"W": (directions, width, self.node.type(0).shape[2])}
        wanted |= {"B": (directions, 2 * width), "P": (directions, 3 * self.hidden)}
        for name, shape in wanted.items():
            position = self.positions.get(name, -1)
            if position >= 0 and self.node.has(position) and self.node.type(position).shape != shape:
                raise Refusal(f"{name} has shape {self.node.type(position).shape}, but {shape} is expected")

    def _lengths(self) -> str:
        """The tensor of the sequences' lengths; none where all have the length of X."""
        position = self.positions["N"]
        if not self.node.has(position):
            return ""
        steps = self.node.type(0).shape[1 if self.batch_first else 0]
        known = self.node.constants[position]
        return "" if known is not None and np.all(known >= steps) else self.node.inputs[position]

    # ---- one direction --------------------------------------------------------------------------------------------

    def _steps_first(self) -> str:
        return self._swapped(self.node.inputs[0]) if self.batch_first else self.node.inputs[0]

    def _swapped(self, tensor: str) -> str:
        """With the first two axes exchanged."""
        shape = self.emit.type_of(tensor).shape
        perm = (1, 0, *range(2, len(shape)))
        return self.emit(Transpose(perm).simplest(shape), [tensor])[0]

    def _direction(self, x: str, direction: int, reverse: bool) -> Sequence[str]:
        """The outputs of all steps and the last states."""
        cells = self.kind.cells(self.node, self.functions[direction], reverse, self.clip)
        product = self._input_product(x, direction, cells)
        given = {"X": product, "R": self._part("R", direction), "N": self.lengths, "P": self._part("P", direction)}
        given |= {"H": self._state("H", direction), "C": self._state("C", direction)}
        given["B"] = self._bias(direction, slice(5, 6)) if cells_add_bias(cells) else ""
        inputs = [given.get(name.rstrip("?"), "") for name in cells.operands]
        names = [self._name(position, direction) for position in range(len(cells.results))]
        return self.emit(cells, inputs, names)

    def _name(self, position: int, direction: int) -> str:
        if not self.node.must_give(position):
            return ""
        return self.emit.fresh(f"{self.node.outputs[position]}_{'forward' if direction == 0 else 'backward'}")

    def _input_product(self, x: str, direction: int, cells: Cells) -> str:
        weights = self._part("W", direction)
        bias = self._input_bias(direction, cells)
        return self.emit(MatMul(trans_b=True), [x, weights, *([bias] if bias else [])])[0]

    def _input_bias(self, direction: int, cells: Cells) -> str:
        """Both biases, but for what is added to a product that is reset afterwards."""
        if "B" not in self.positions or not self.node.has(self.positions["B"]):
            return ""
        gates = self.kind.gates
        if not cells_add_bias(cells):
            halves = [self._bias(direction, slice(0, gates)), self._bias(direction, slice(gates, 2 * gates))]
            return self._sum(halves)
        first = self._sum([self._bias(direction, slice(0, 2)), self._bias(direction, slice(gates, gates + 2))])
        return self._joined([first, self._bias(direction, slice(2, 3))])

    def _bias(self, direction: int, gates: slice) -> str:
        """The biases of some gates: those of X come first, then those of the state."""
        return self._part("B", direction, slice(gates.start * self.hidden, gates.stop * self.hidden))

    def _sum(self, names: Sequence[str]) -> str:
        first, second = (self._constant(name) for name in names)
        if first is not None and second is not None:
            return self.emit.constant(first + second, names[0])
        return self.emit(Add(), names)[0]

    def _joined(self, names: Sequence[str]) -> str:
        values = [value for name in names if (value := self._constant(name)) is not None]
        if len(values) == len(names):
            return self.emit.constant(np.concatenate(values), names[0])
        return self.emit(Concat(0), names)[0]

    def _constant(self, name: str) -> Array | None:
        return getattr(self.emit, "constants", {}).get(name)

    def _state(self, name: str, direction: int) -> str:
        """A direction's state to begin with."""
        position = self.positions.get(name, -1)
        if position < 0 or not self.node.has(position):
            return ""
        return self._part(name, direction, axis=1 if self.batch_first else 0)

    def _part(self, name: str, direction: int, columns: slice | None = None, axis: int = 0) -> str:
        """What an operand holds for a direction, and of that some of a vector's elements; constants stay constants."""
        position = self.positions.get(name, -1)
        if position < 0 or not self.node.has(position):
            return ""
        tensor, shape = self.node.inputs[position], self.node.type(position).shape
        if len(shape) <= axis or shape[axis] != len(self.directions):
            raise Refusal(f"{name} has shape {shape}, but {len(self.directions)} directions")
        ranges = {axis: (direction, direction + 1, 1)}
        if columns is not None:
            ranges[len(shape) - 1] = (columns.start, columns.stop, 1)
        part = of_ranges(shape, ranges)
        wanted = tuple(size for a, size in enumerate(part.sizes) if a != axis)
        value = self.node.constants[position]
        if value is not None:
            return self.emit.constant(np.ascontiguousarray(part.numpy(value).reshape(wanted)), tensor)
        (sliced,) = (tensor,) if part.sizes == shape else self.emit(part, [tensor])
        return self.emit(Reshape(wanted), [sliced])[0]

    # ---- both directions ------------------------------------------------------------------------------------------

    def _join(self, parts: Sequence[str], position: int, name: str) -> None:
        """Y is (steps, directions, batch, hidden), a state (directions, batch, hidden); or with the batch first, where
        directions come before the last axis."""
        first = [self._swapped(part) if self.batch_first and position == 0 else part for part in parts]
        shape = self.emit.type_of(first[0]).shape
        axis = len(shape) - 1 if self.batch_first else len(shape) - 2
        with_axis = Reshape((*shape[:axis], 1, *shape[axis:]))
        if len(first) == 1:
            self.emit(with_axis, first, [name])
            return
        self.emit(Concat(axis), [self.emit(with_axis, [part])[0] for part in first], [name])


def cells_add_bias(cells: Cells) -> bool:
    """Whether a bias of the state is added inside the cells."""
    return bool(getattr(cells, "linear_before_reset", False))


def _directions(node: OnnxNode) -> tuple[bool, ...]:
    direction = str(node.attribute("direction", "forward")).lower()
    if direction not in DIRECTIONS:
        raise Refusal(f"direction '{direction}' is unknown", f"known: {', '.join(DIRECTIONS)}")
    return DIRECTIONS[direction]
