"""What the loss of a training graph compares: labels with classes, or numbers with the network's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.records import dataclass

THROUGH = frozenset({"Cast", "Expand", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Where"})
"""Operators behind which a label is still a label, or the target numbers are still these."""


@dataclass(frozen=True)
class Classes:
    label: str
    """The input that holds labels."""
    labels: int
    """How many of them a step has."""
    count: int
    """A label is one of 0 to count - 1."""


def classes_of(train: Graph) -> Classes | None:
    """None where the loss compares numbers."""
    for label in train.inputs[1:]:
        if train.types[label].dtype in ("int64", "int32"):
            counts = [count for node, operand in _readers(train, label) if (count := _classes(train, node, operand))]
            if counts:
                return Classes(label, train.types[label].elements, min(counts))
    return None


def _readers(train: Graph, label: str) -> Iterator[tuple[Node, str]]:
    """What reads a label, and by which tensor."""
    waiting = [label]
    for tensor in waiting:
        for node in train.consumers.get(tensor, ()):
            if node.op.kind in THROUGH and train.types[node.outputs[0]].dtype == train.types[label].dtype:
                waiting.append(node.outputs[0])
            else:
                yield node, tensor


def _classes(train: Graph, node: Node, label: str) -> int:
    """Of how many a node chooses by the label; 0 where it does not."""
    shape = train.types[node.inputs[0]].shape
    if node.op.kind == "GatherElements" and node.inputs[0] != label:
        return shape[node.op.axis]  # type: ignore[attr-defined]
    if node.op.kind == "Equal":
        other = next((name for name in node.inputs if name != label), label)
        values = train.constants.get(other)
        counts = values is not None and np.array_equal(np.sort(values.reshape(-1)), np.arange(values.size))
        return train.types[other].elements if counts else 0
    return shape[1] if "CrossEntropy" in node.op.kind and node.inputs[0] != label else 0


def predicted(train: Graph) -> str | None:
    """The tensor that the loss compares with the label: what the network gives. None where that is not seen."""
    target = train.inputs[-1]
    for node, operand in _readers(train, target):
        others = [name for name in node.inputs if name and name != operand]
        if node.op.kind == "GatherElements" and node.inputs[0] != operand:
            maker = train.producers.get(_unmoved(train, node.inputs[0]))
            is_known = maker is not None and maker.op.kind == "LogSoftmax"
            return _unmoved(train, maker.inputs[0]) if maker is not None and is_known else None
        if node.op.kind in ("Sub", "MSELoss") and others:
            return others[0]
    return None


def _unmoved(train: Graph, tensor: str) -> str:
    """The tensor that another is a view of."""
    maker = train.producers.get(tensor)
    while maker is not None and maker.op.kind in ("Identity", "Reshape"):
        tensor = maker.inputs[0]
        maker = train.producers.get(tensor)
    return tensor


def check_labels(train: Graph, inputs: Mapping[str, Array], which: str) -> None:
    """Refuse what is no class, before anything is computed."""
    classes = classes_of(train)
    if classes is None:
        return
    given = np.asarray(inputs[classes.label])
    wrong = given[(given < 0) | (given >= classes.count)]
    if wrong.size:
        what = f"label {int(wrong.flat[0])} in '{classes.label}' is none of the {classes.count} classes"
        raise CompileError(which, what, f"labels are 0 to {classes.count - 1}")
