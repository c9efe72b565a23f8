"""A tensor of a graph as a formula of another one, from which it is computed in a few nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.ops._reduction import Reduction
from tilewright.ops.abs import Abs
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.erf import Erf
from tilewright.ops.exp import Exp
from tilewright.ops.expand import Expand
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.identity import Identity
from tilewright.ops.log import Log
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.neg import Neg
from tilewright.ops.pow import Pow
from tilewright.ops.reciprocal import Reciprocal
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softplus import Softplus
from tilewright.ops.sqrt import Sqrt
from tilewright.ops.squeeze import Squeeze
from tilewright.ops.sub import Sub
from tilewright.ops.tanh import Tanh
from tilewright.ops.unsqueeze import Unsqueeze
from tilewright.passes.patterns.algebra import (
    Formula,
    NoForm,
    X,
    at_least,
    at_most,
    between,
    function,
    maximum,
    mean,
    number,
    vector,
)

MOST_NODES = 24
"""Formulas of exporters are shorter."""

NAMED = (Abs, Erf, Exp, Log, Sigmoid, Softplus, Tanh)
REDUCTIONS = (ReduceL2, ReduceMax, ReduceMean, ReduceSum, ReduceSumSquare)
VIEWS = (Expand, Reshape, Squeeze, Unsqueeze)
"""Nodes that only bring the axes of a reduction back."""

BINARY: dict[type[Op], Callable[[Formula, Formula], Formula]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Div: lambda a, b: a / b,
}
UNARY: dict[type[Op], Callable[[Formula], Formula]] = {
    Neg: lambda x: -x,
    Identity: lambda x: x,
    Sqrt: lambda x: x**0.5,
    Reciprocal: lambda x: x**-1.0,
    Relu: lambda x: at_least(x, 0.0),
    **{kind: (lambda name: lambda x: function(name, x))(kind.__name__) for kind in NAMED},
}
ARITHMETIC = frozenset({*BINARY, *VIEWS, Neg, Identity, Pow, Reciprocal})
"""With these alone there is no function and no normalisation."""

READ = frozenset((*BINARY, *UNARY, *REDUCTIONS, *VIEWS, Pow, Max, Min, Clip, HardSigmoid))


@dataclass
class Reading:
    """What tensors are as formulas of the tensor `source`."""

    graph: Graph
    source: str
    nodes: dict[str, Node] = field(default_factory=dict)
    """The nodes that were read, by their keys."""
    _known: dict[str, Formula] = field(default_factory=dict)
    _dropped: dict[str, Shape] = field(default_factory=dict)
    """For tensors that lack axes of the source because a reduction left them out: which."""

    @property
    def shape(self) -> Shape:
        return self.graph.types[self.source].shape

    def formula(self, tensor: str) -> Formula:
        """Raises NoForm where a tensor is computed from something else, or in another way."""
        if tensor not in self._known:
            self._known[tensor] = self._made(tensor)
        return self._known[tensor]

    def _made(self, tensor: str) -> Formula:
        if tensor == self.source:
            return X
        if self.graph.types[tensor].dtype != "float32":
            raise NoForm
        if tensor in self.graph.constants:
            return self._constant(tensor)
        node = self.graph.producers.get(tensor)
        if node is None or type(node.op) not in READ or len(self.nodes) >= MOST_NODES:
            raise NoForm
        self.nodes[node.key] = node
        return self._result(node)

    def _constant(self, tensor: str) -> Formula:
        values = self.graph.constants[tensor]
        if values.size == 1 and values.ndim <= len(self.shape):
            return number(float(values.reshape(())))
        self._check_aligned(values.shape)
        before = len(self.shape) - values.ndim
        return vector(tensor, tuple(before + axis for axis, size in enumerate(values.shape) if size > 1))

    def _check_aligned(self, shape: Shape) -> None:
        """Broadcast with the source, a tensor gives one of the source's shape."""
        theirs = self.shape[len(self.shape) - len(shape) :]
        if len(shape) > len(self.shape) or any(size not in (1, own) for size, own in zip(shape, theirs, strict=True)):
            raise NoForm

    def _without(self, axes: Shape, instead: Shape = ()) -> Shape:
        """The source's shape with something else for some axes."""
        sizes = [instead if axis in axes else (size,) for axis, size in enumerate(self.shape)]
        return tuple(size for part in sizes for size in part)

    def _result(self, node: Node) -> Formula:
        op = node.op
        if isinstance(op, Reduction):
            return self._reduced(node, op)
        if isinstance(op, VIEWS):
            return self._reshaped(node)
        made = self._elementwise(node)
        self._align(node)
        return made

    def _align(self, node: Node) -> None:
        """Operands with fewer axes than the source would meet others than those that were left out."""
        arrays = [name for name in node.inputs if self.graph.types[name].elements != 1]
        missing = {self._dropped.get(name, ()) for name in arrays}
        shape = self.graph.types[node.key].shape
        if missing <= {()}:
            self._check_aligned(shape)
            return
        axes = missing.pop()
        if missing or shape != self._without(axes):
            raise NoForm
        self._dropped[node.key] = axes

    def _elementwise(self, node: Node) -> Formula:
        op, values = node.op, [self.formula(name) for name in node.inputs]
        if type(op) in BINARY:
            return BINARY[type(op)](*values)
        if type(op) in UNARY:
            return UNARY[type(op)](*values)
        if isinstance(op, Clip):
            low, high = op.bounds("float32")
            return at_least(values[0], low) if math.isinf(high) else between(values[0], low, high)
        if isinstance(op, HardSigmoid):
            return between(values[0] * op.alpha + op.beta, 0.0, 1.0)
        return self._with_number(node, values)

    def _with_number(self, node: Node, values: list[Formula]) -> Formula:
        """x^n, max(x, n) and min(x, n)."""
        if len(values) != 2:
            raise NoForm
        x, other = values
        if not isinstance(node.op, Pow) and not x.terms - {(frozenset(), x.constant)}:
            x, other = other, x
        if other.terms - {(frozenset(), other.constant)}:
            raise NoForm
        if isinstance(node.op, Pow):
            return x**other.constant
        return at_least(x, other.constant) if isinstance(node.op, Max) else at_most(x, other.constant)

    def _reduced(self, node: Node, op: Reduction) -> Formula:
        (tensor,) = node.inputs
        value, axes = self.formula(tensor), tuple(sorted(op.axes))
        count = math.prod(self.graph.types[tensor].shape[axis] for axis in axes)
        if self.graph.types[tensor].shape != self.shape or tensor in self._dropped or not axes or not count:
            raise NoForm
        if not op.keepdims:
            self._dropped[node.key] = axes
        if isinstance(op, ReduceMax):
            return maximum(value, axes)
        if isinstance(op, ReduceMean | ReduceSum):
            return mean(value, axes) * (1 if isinstance(op, ReduceMean) else count)
        squares = mean(value * value, axes) * count
        return squares**0.5 if isinstance(op, ReduceL2) else squares

    def _reshaped(self, node: Node) -> Formula:
        """Only what brings back the axes of a reduction; other orders of elements are another matter."""
        tensor, shape = node.inputs[0], self.graph.types[node.key].shape
        value, axes = self.formula(tensor), self._dropped.get(tensor, ())
        if axes and shape == self._without(axes, (1,)):
            return value
        is_same = shape == self.graph.types[tensor].shape or (isinstance(node.op, Expand) and shape == self.shape)
        if axes or not is_same:
            raise NoForm
        self._check_aligned(self.graph.types[tensor].shape)
        return value
