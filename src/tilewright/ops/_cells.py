"""Base of the operators that run the cells of a recurrent layer over all steps, one direction at a time.

What a layer makes of its inputs, for all steps at once, is a matrix product before it; here is what has to be computed
step by step: products with the state, gates and the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import loops, whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._gate_functions import GateFunction
from tilewright.ops._internal import Internal
from tilewright.records import dataclass

State = tuple[Array, ...]
"""Of all sequences of a batch: the output h, and what else a cell remembers."""
Step = Callable[[Array, State, Array | None], State]
"""From a step's input, the state and products with it (None: to be computed) to the next state."""


@dataclass(frozen=True)
class Cells(Internal):
    """X[t, b, gates * hidden] is a step's input, R[gates * hidden, hidden] what the state is multiplied by.

    H (and C) are the state to begin with, zero where absent; N are the lengths of the sequences: beyond, outputs are 0
    and the state stays. `S`, the products of the state, may stand in place of R where there is but one step. Results
    are the outputs of all steps and the last state.
    """

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    functions: tuple[GateFunction, ...] = ()
    reverse: bool = False
    """From the last step to the first."""
    clip: float = 0.0
    """Sums that functions are taken of lie between -clip and clip; 0: wherever they lie."""

    def hidden(self, shapes: Shapes) -> int:
        return shapes["X"][2] // self.gates

    def index(self, shapes: Shapes) -> Index:
        t, b = loops("t b")
        units = whole(self.hidden(shapes))
        indexed = {"X": (t, b, whole(shapes["X"][2])), "H": (b, units), "C": (b, units), "N": (b,)}
        indexed["S"] = (b, whole(shapes["X"][2]))
        others = {name: tuple(map(whole, shape)) for name, shape in shapes.items() if name not in indexed}
        results = dict(zip(self.results, ((t, b, units), (b, units), (b, units)), strict=False))
        return {**{name: indexed[name] for name in shapes if name in indexed}, **others, **results}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {"t": shapes["X"][0], "b": shapes["X"][1]}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"t"})

    def macs(self, shapes: Shapes) -> int:
        steps, batch, width = shapes["X"]
        return steps * batch * width * self.hidden(shapes) if "R" in shapes else 0

    def least_macs(self, shapes: Shapes) -> int:
        """Sequences may be empty; a state of zeros need not be multiplied."""
        steps = shapes["X"][0]
        return 0 if "N" in shapes else self.macs(shapes) // max(steps, 1) * (steps - ("H" not in shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        if len(shape) != 3 or shape[2] % self.gates or min(shape[1:]) < 1:
            raise Refusal(f"X has shape {shape}, but steps, a batch and {self.gates} gates are expected")
        for name, wanted in self.operand_shapes(shape).items():
            if name in types and types[name].shape != wanted:
                raise Refusal(f"{name} has shape {types[name].shape}, but {wanted} is expected")
        for name, kind in types.items():
            wanted_type = "int32" if name == "N" else "float32"
            if kind.dtype != wanted_type:
                raise Refusal(f"{name} is {kind.dtype}, but {wanted_type} is expected", "insert a Cast")
        if ("R" in types) == ("S" in types) or ("S" in types and shape[0] != 1):
            raise Refusal("either R is expected, or for one step S")

    def operand_shapes(self, x: Shape) -> dict[str, Shape]:
        """What operands besides X must look like."""
        _, batch, width = x
        state = (batch, width // self.gates)
        return {"R": (width, width // self.gates), "H": state, "C": state, "N": (batch,), "S": (batch, width)}

    def run(self, step: Step, X: Array, N: Array | None, S: Array | None, *initial: Array | None) -> tuple[Array, ...]:
        """All steps: the outputs and the last state."""
        steps, batch, width = X.shape
        lengths = np.full((batch, 1), steps) if N is None else N.reshape(batch, 1)
        zero = np.zeros((batch, width // self.gates))
        # A sequence of no steps has no state either, whatever was given to begin with: as ONNX Runtime has it.
        state: State = tuple(np.where(lengths > 0, zero if h is None else h, zero) for h in initial)
        y = np.zeros((steps, *zero.shape), np.float32)
        for t in reversed(range(steps)) if self.reverse else range(steps):
            found = step(X[t].astype(np.float64), state, S)
            state = tuple(np.where(t < lengths, new, old) for new, old in zip(found, state, strict=True))
            y[t] = np.where(t < lengths, state[0], 0)
        return y, *(each.astype(np.float32) for each in state)

    def clipped(self, x: Array) -> Array:
        return np.clip(x, -self.clip, self.clip) if self.clip else x
