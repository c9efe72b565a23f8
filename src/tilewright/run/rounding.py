"""The absolute floor of an allowed error: what float32 rounding in the last operators does to a result.

The rule for floats is relative to the largest value of an output. Where that value is far smaller than what it was
computed from (a sigmoid of large negative sums, a difference of large numbers), two correct programs differ by more.
The floor follows the chain of operators backward from a result to the first product or sum over many elements, whose
operands count as exact, and takes the reference's own values: nothing is assumed about networks in general.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array

EPSILON = 2.0**-23
"""Of float32: a result of size 1 is rounded by at most half of it."""

SIGMOID_OF_OTHERS = 2 * EPSILON
"""Others compute the sigmoid as a polynomial around 1/2, so that also small results are wrong by as much (ONNX Runtime
1.31: 1.4 epsilon). Ours is exact relative to the result."""

MOVES = frozenset({
    "AveragePool", "Clip", "Concat", "Expand", "Flatten", "Gather", "GlobalAveragePool", "GlobalMaxPool", "Identity",
    "LeakyRelu", "Max", "MaxPool", "Min", "Neg", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "Relu", "Reshape",
    "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
})  # fmt: skip
"""Operators whose result moves no further than their operands do."""

SUMS = frozenset({"ReduceSum"})
"""Sums besides those that multiply; the walk ends at them."""

NORMALISATIONS = frozenset({"BatchNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization"})
"""Operators that subtract a mean and divide by a spread, which may be far smaller than what it is computed from."""

Slope = Callable[[Array, Array], float]

SLOPES: Mapping[str, Slope] = {
    "Sigmoid": lambda x, y: float(np.max(y * (1 - y))),
    "Tanh": lambda x, y: float(np.max(1 - y * y)),
    "Exp": lambda x, y: float(np.max(y)),
    "Softmax": lambda x, y: 2 * float(np.max(y)),
    "LogSoftmax": lambda x, y: 2.0,
    "ReduceLogSumExp": lambda x, y: 1.0,
    "HardSigmoid": lambda x, y: 1.0,
}
"""How much further a function's result moves than its operand, at the values (x, y) of this run."""


@dataclass
class Floors:
    """The floors of a graph's tensors in one run."""

    graph: Graph
    evaluate: Callable[[], Mapping[str, Array]]
    """All tensors of the reference; asked for only where a floor is."""
    others: bool
    """Whether results are compared with those of another program, which rounds its own way."""
    _found: dict[str, float] = field(default_factory=dict)

    @cached_property
    def values(self) -> Mapping[str, Array]:
        return self.evaluate()

    @cached_property
    def _makers(self) -> dict[str, Node]:
        return {name: node for node in self.graph.nodes for name in node.outputs if name}

    def __call__(self, name: str) -> float:
        """The error that rounding alone may make in a tensor."""
        for needed in self._chain(name):
            if needed not in self._found:
                found = self._floor(needed, self._makers[needed])
                self._found[needed] = found if np.isfinite(found) else 0.0
        return self._found.get(name, 0.0)

    def _chain(self, name: str) -> list[str]:
        """The tensors that a floor depends on, each after those it follows from."""
        reached, waiting = set[str](), [name]
        while waiting:
            tensor = waiting.pop()
            if tensor in reached or tensor not in self._makers or self.graph.types[tensor].dtype != "float32":
                continue
            reached.add(tensor)
            waiting += self._followed(self._makers[tensor])
        return [tensor for tensor in self._makers if tensor in reached]

    def _followed(self, node: Node) -> list[str]:
        kind = node.op.kind
        if kind in NORMALISATIONS:
            return [node.inputs[0]]
        if kind in SLOPES or kind in ("Add", "Sub", "Mul") or self._moves(node):
            return [name for name in node.inputs if name]
        return []

    def _moves(self, node: Node) -> bool:
        return node.op.view or node.op.kind in MOVES

    def _floor(self, name: str, node: Node) -> float:
        kind, inputs = node.op.kind, [operand for operand in node.inputs if operand]
        before = [self._found.get(operand, 0.0) for operand in inputs]
        if self._moves(node):
            return max(before, default=0.0)
        if kind in SLOPES and self.values[name].size:
            slope = SLOPES[kind](self.values[inputs[0]], self.values[name])
            return slope * before[0] + self._own(kind, inputs[0])
        if kind in ("Add", "Sub"):
            return sum(before) + EPSILON * sum(map(self._largest, inputs))
        if kind == "Mul":
            return self._largest(inputs[0]) * before[1] + self._largest(inputs[1]) * before[0]
        if kind in NORMALISATIONS:
            moved = self._normalised(node, before[0] + self._of_operand(inputs[0]))
            return moved + EPSILON / 2 * self._largest(name)
        return EPSILON * self._largest_sum(node) if node.op.multiplies or kind in SUMS else 0.0

    def _of_operand(self, operand: str) -> float:
        """How far a normalisation's own sums move what it reads. Our kernels sum an input of the network, which both
        sides have to the bit, as exactly as the reference; another program may not."""
        return EPSILON / 2 * self._largest(operand) if self.others or operand in self._makers else 0.0

    def _normalised(self, node: Node, reach: float) -> float:
        """How far a first result moves where elements of the first operand move so far up or down, at random; twice
        that, as means move with what moves one way."""
        x, *others = (self.values[name] if name else None for name in node.inputs)
        if x is None or not x.size:
            return 0.0
        signs = np.random.default_rng(0).choice((-1.0, 1.0), x.shape)
        with np.errstate(all="ignore"):
            made = [node.op.numpy(x.astype(np.float64) + move, *others) for move in (0.0, reach * signs)]
        before, behind = (one[0] if isinstance(one, tuple) else one for one in made)
        return 2 * float(np.abs(behind - before).max())

    def _own(self, kind: str, operand: str) -> float:
        """What a function adds: sigmoids of others, and functions that subtract numbers of a size of their own."""
        own = {"Sigmoid": SIGMOID_OF_OTHERS if self.others else 0.0, "HardSigmoid": EPSILON}
        if kind == "ReduceLogSumExp":  # the logarithm of a sum of about one is what the sum is rounded by
            return EPSILON * max(1.0, self._largest(operand))
        return EPSILON * self._largest(operand) if kind == "LogSoftmax" else own.get(kind, 0.0)

    def _largest(self, name: str) -> float:
        values = np.abs(self.values[name])
        return float(values.max()) if values.size else 0.0

    def _largest_sum(self, node: Node) -> float:
        """The largest sum of the sizes of what is added up: how far partial sums go before they cancel."""
        operands = [np.abs(self.values[name]) if name else None for name in node.inputs]
        with np.errstate(all="ignore"):
            found = node.op.numpy(*operands)
        sums = np.abs(found[0] if isinstance(found, tuple) else found)
        return float(sums.max()) if sums.size else 0.0
