"""What training makes small: a number from the network's output and what it should have been."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Shape, TensorType
from tilewright.ir.value import Value
from tilewright.ops.identity import Identity
from tilewright.ops.reshape import Reshape
from tilewright.ops.softmax import Softmax
from tilewright.records import dataclass
from tilewright.training.growing import Growing

LABEL = "label"


@dataclass(frozen=True)
class CrossEntropy:
    """The mean of -log(share of the right class). Labels are int32, one for each distribution along `axis`; `weights`
    say how much each class counts."""

    weights: Sequence[float] = ()
    axis: int = 1
    smoothing: float = 0.0
    """The part of a label that is shared by all classes."""

    def label(self, output: TensorType) -> TensorType:
        shape = _without_ones(output.shape)
        self._check(shape)
        axis = self.axis % len(shape)
        return TensorType("int32", (*shape[:axis], *shape[axis + 1 :]))

    def __call__(self, output: Value, label: Value) -> Value:
        scores = output.reshape(_without_ones(output.shape))
        axis = self.axis % scores.rank
        classes = scores.shape[axis]
        logarithms = scores.apply("LogSoftmax", axis=axis)
        numbers = np.arange(classes).reshape([-1 if at == axis else 1 for at in range(scores.rank)])
        wide = label.reshape([*label.shape[:axis], 1, *label.shape[axis:]])
        right = wide.constant(numbers).equals(wide)
        counted = scores.constant(np.broadcast_to(self._weights(classes), classes).reshape(numbers.shape))
        share = right.where(counted, 0.0)
        everywhere = tuple(range(scores.rank))
        total = share.sum(everywhere, keepdims=False)
        apart = -(logarithms * share).sum(everywhere, keepdims=False) / total
        if not self.smoothing:
            return apart
        of_label = share.sum([axis])
        among_all = -(logarithms * counted * (of_label > 0.0).where(of_label.constant(1.0), 0.0))
        spread = among_all.sum(everywhere, keepdims=False) / total
        return (1.0 - self.smoothing) * apart + (self.smoothing / classes) * spread

    def _weights(self, classes: int) -> Sequence[float]:
        return tuple(self.weights) or (1.0,) * classes

    def _check(self, shape: Shape) -> None:
        if len(shape) < 2 or not -len(shape) <= self.axis < len(shape):
            what = f"the output has shape {shape}, but a batch and an axis {self.axis} of classes are expected"
            raise CompileError("loss cross_entropy", what, 'use loss="mse", or tw.CrossEntropy(axis=...)')
        classes = shape[self.axis]
        if self.weights and len(self.weights) != classes:
            what = f"{len(self.weights)} class weights for {classes} classes"
            raise CompileError("loss cross_entropy", what, "give one weight for each class")


@dataclass(frozen=True)
class MeanSquares:
    """The mean of squared differences."""

    def label(self, output: TensorType) -> TensorType:
        return output

    def __call__(self, output: Value, label: Value) -> Value:
        return (output - label).squared().apply("ReduceMean", axes=tuple(range(output.rank)), keepdims=False)


Loss = CrossEntropy | MeanSquares
NAMED: dict[str, Loss] = {"cross_entropy": CrossEntropy(), "mse": MeanSquares()}


def loss_of(asked: str | Loss, class_weights: Sequence[float] = ()) -> Loss:
    if not isinstance(asked, str):
        return asked
    if asked not in NAMED:
        raise CompileError(f"loss '{asked}'", "is unknown", f"use {' or '.join(NAMED)}")
    if class_weights and asked != "cross_entropy":
        raise CompileError(f"loss '{asked}'", "has no class weights", 'they belong to loss="cross_entropy"')
    return CrossEntropy(tuple(class_weights)) if class_weights else NAMED[asked]


def added(builder: Builder, loss: Loss, output: str) -> str:
    """Grows the graph by the input of labels and the loss: its tensor."""
    kind = builder.types[output]
    if kind.dtype != "float32":
        what = f"the output '{output}' is {kind}; a loss is taken of float32"
        raise CompileError("loss", what, "train a network whose last layers compute floats")
    label = builder.input(builder.fresh(LABEL), loss.label(kind))
    grow = Growing(builder, "loss")
    found = loss(grow.value(output), grow.value(label))
    return found.reshape(()).name


def compared(graph: Graph, output: str, loss: Loss) -> str:
    """The tensor that a loss is taken of: cross entropy has its own softmax, and leaves out one at the end."""
    tensor = output
    while isinstance(loss, CrossEntropy) and (node := graph.producers.get(tensor)):
        if isinstance(node.op, Softmax) and _is_of_classes(graph, node.inputs[0], node.op.axis, loss):
            return node.inputs[0]
        if not isinstance(node.op, Identity | Reshape) or graph.types[node.inputs[0]] != graph.types[tensor]:
            return output
        tensor = node.inputs[0]
    return output


def _is_of_classes(graph: Graph, scores: str, axis: int, loss: CrossEntropy) -> bool:
    rank = len(graph.types[scores].shape)
    return rank > 0 and axis % rank == loss.axis % rank


def _without_ones(shape: Shape) -> Shape:
    """[n, classes] of [n, classes, 1, 1]."""
    return shape[:2] if len(shape) > 2 and set(shape[2:]) == {1} else shape
