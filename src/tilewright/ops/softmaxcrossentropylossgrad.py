from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.div import Div
from tilewright.ops.equal import Equal
from tilewright.ops.exp import Exp
from tilewright.ops.max import Max
from tilewright.ops.mseloss import reduction_of
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.where import Where
from tilewright.records import dataclass


@dataclass(frozen=True)
class SoftmaxCrossEntropyLossGrad(Op):
    """(exp(log_prob) - one at each label), weighted: the gradient of SoftmaxCrossEntropyLoss by its scores.

    Inputs are log_prob[n, c, ...], labels[n, ...] and perhaps a weight for each class; or that of the loss before them.
    """

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, how = Compose(node, emit), reduction_of(node)
        ignored = node.attribute("ignore_index", None)
        outer, log_prob, labels, weight = _operands(node)
        shape = make.shape(log_prob)
        if make.shape(labels) != (shape[0], *shape[2:]):
            raise Refusal(f"log_prob has shape {shape} and labels {make.shape(labels)}")
        column = make.reshape(labels, (shape[0], 1, *shape[2:]))
        numbers = np.arange(shape[1], dtype=make.kind(labels).element).reshape(1, -1, *(1,) * (len(shape) - 2))
        one, zero = make.like(1.0, log_prob), make.like(0.0, log_prob)
        hit = make(Equal(), column, make.constant(numbers, "classes"))
        slope = make.sub(make(Exp(), log_prob), make(Where(), hit, one, zero))
        factors = _factors(make, column, hit, weight, ignored)
        return make.give(_scaled(make, slope, factors, how, outer, labels))


def _operands(node: OnnxNode) -> tuple[str, str, str, str]:
    """The gradient of the loss (or nothing), log_prob, labels, the classes' weights (or nothing)."""
    bare = node.type(1).dtype in ("int32", "int64") and node.rank(0) == node.rank(1) + 1
    names = ["", *node.inputs] if bare else list(node.inputs)
    return (*(*names, "")[:3], names[3] if len(names) > 3 else "")  # type: ignore[return-value]


def _factors(make: Compose, column: str, hit: str, weight: str, ignored: int | None) -> str:
    """What each label counts; nothing where all count 1."""
    found = ""
    if weight:
        shape = make.shape(hit)
        classes = make.reshape(weight, (1, shape[1], *(1,) * (len(shape) - 2)))
        found = make(ReduceSum((1,), True), make(Where(), hit, classes, make.like(0.0, weight)))
    if ignored is None:
        return found
    is_ignored = make(Equal(), column, make.like(ignored, column))
    zero, one = (make.constant(np.asarray(value, np.float32), f"{value}") for value in (0, 1))
    return make(Where(), is_ignored, zero, found or one)


def _scaled(make: Compose, slope: str, factors: str, how: str, outer: str, labels: str) -> str:
    counted = make.mul(slope, factors) if factors else slope
    if how == "mean" and factors:
        axes = tuple(range(len(make.shape(factors))))
        counted = make(Div(), counted, make(Max(), make(ReduceSum(axes, False), factors), make.like(1e-30, slope)))
    elif how == "mean":
        counted = make.scaled(counted, 1.0 / max(make.kind(labels).elements, 1))
    if not outer:
        return counted
    shape = make.shape(labels)
    return make.mul(counted, make.reshape(outer, (shape[0], 1, *shape[1:]) if how == "none" else ()))
