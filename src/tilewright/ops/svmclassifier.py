from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array
from tilewright.ops._classifier import DOMAIN, Labels, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._support_vectors import compared, vectors
from tilewright.ops.argmax import ArgMax
from tilewright.ops.greater import Greater
from tilewright.ops.greaterorequal import GreaterOrEqual
from tilewright.ops.neg import Neg
from tilewright.ops.or_ import Or
from tilewright.ops.pairedprobabilities import PairedProbabilities
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.sigmoid import Sigmoid
from tilewright.records import dataclass


@dataclass(frozen=True)
class SVMClassifier(Op):
    """The label that wins most of the comparisons between two classes, and their scores or probabilities."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN
    results: ClassVar[tuple[str, ...]] = ("Y", "Z")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        labels = Labels.of(make, "classlabels_ints", "classlabels_strings")
        if len(labels.values) < 2:
            raise Refusal(f"{len(labels.values)} label", "a classifier has two or more")
        x, transform = rows_of_floats(node, make), node.attribute("post_transform", "NONE")
        per_class = node.attribute("vectors_per_class", ())
        if not per_class:
            scores = _linear(make, x, len(labels.values))
            return make.give(_label(make, labels, scores, scores), transformed(make, scores, transform))
        if len(per_class) != len(labels.values):
            raise Refusal(f"{len(labels.values)} labels, but vectors of {len(per_class)} classes")
        pairs, votes = _pairs(make, x, per_class)
        slopes, offsets = node.attribute("prob_a", ()), node.attribute("prob_b", ())
        if slopes:
            label = labels.at(make, make(ArgMax(1, keepdims=False), votes))
            scores = _probabilities(make, pairs, slopes, offsets, len(labels.values))
        else:
            label = _label(make, labels, votes, votes)
            scores = make.join(1, make(Neg(), pairs), pairs) if make.shape(pairs)[1] == 1 else pairs
        return make.give(label, transformed(make, scores, transform))


def _coefficients(make: Compose) -> Array:
    return np.asarray(make.node.attribute("coefficients"), np.float32)


def _label(make: Compose, labels: Labels, scores: str, weights: str) -> str:
    """The best; of two classes the second where nothing speaks against any and something for one."""
    best = make(ArgMax(1, keepdims=False), scores)
    if len(labels.values) != 2 or len(make.node.attribute("rho", (0.0,))) != 1 or _coefficients(make).min() < 0:
        return labels.at(make, best)
    enough = make(GreaterOrEqual(), make(ReduceMax((1,), False), weights), make.like(0.5, weights))
    second = make(Or(), enough, make.cast(best, "bool"))
    return labels.at(make, make.cast(second, "int64"))


def _linear(make: Compose, x: str, classes: int) -> str:
    make.node.ignore("kernel_type", "kernel_params", "support_vectors", "prob_a", "prob_b")
    weights, rho = _coefficients(make), make.node.attribute("rho", (0.0,))[0]
    if weights.size != classes * make.shape(x)[1]:
        raise Refusal(f"{weights.size} coefficients for {classes} classes of {make.shape(x)[1]} features")
    sums = make.matmul(x, make.constant(weights.reshape(classes, -1).T, "coefficients"))
    return make.add(sums, make.like(rho, sums)) if rho else sums


def _pairs(make: Compose, x: str, per_class: Sequence[int]) -> tuple[str, str]:
    """For each pair of classes a score, which is above 0 for the first of them; for each class the pairs it wins."""
    classes, count = len(per_class), sum(per_class)
    weights, rho = _coefficients(make), np.asarray(make.node.attribute("rho"), np.float32)
    both = list(combinations(range(classes), 2))
    if weights.size != (classes - 1) * count or rho.size != len(both) or min(per_class) < 0:
        raise Refusal(f"{weights.size} coefficients for {count} vectors of {classes} classes")
    table, ends = weights.reshape(classes - 1, count), np.cumsum((0, *per_class))
    of_pairs = np.zeros((count, len(both)), np.float32)
    for column, (first, second) in enumerate(both):
        of_first, of_second = (slice(ends[one], ends[one + 1]) for one in (first, second))
        of_pairs[of_first, column] = table[second - 1, of_first]
        of_pairs[of_second, column] = table[first, of_second]
    found = compared(make, x, vectors(make, count, make.shape(x)[1]))
    pairs = make.add(make.matmul(found, make.constant(of_pairs, "coefficients")), make.constant(rho, "rho"))
    return pairs, _votes(make, pairs, both, classes)


def _votes(make: Compose, pairs: str, both: Sequence[tuple[int, int]], classes: int) -> str:
    won = make.cast(make(Greater(), pairs, make.like(0.0, pairs)), "float32")
    # A pair that the first does not win is the second's.
    gains, sure = np.zeros((len(both), classes), np.float32), np.zeros(classes, np.float32)
    for row, (first, second) in enumerate(both):
        gains[row, first], gains[row, second] = 1, -1
        sure[second] += 1
    return make.add(make.matmul(won, make.constant(gains, "gains")), make.constant(sure, "sure"))


def _probabilities(make: Compose, pairs: str, slopes: Sequence[float], offsets: Sequence[float], classes: int) -> str:
    """Of each pair by a logistic function, and of all classes what fits the pairs best."""
    count = make.shape(pairs)[1]
    if not len(slopes) == len(offsets) == count:
        raise Refusal(f"{len(slopes)} and {len(offsets)} parameters of probabilities for {count} pairs")
    scaled = make.mul(pairs, make.constant(-np.asarray(slopes, np.float32), "slopes"))
    of_pairs = make(Sigmoid(), make.sub(scaled, make.constant(np.asarray(offsets, np.float32), "offsets")))
    return make(PairedProbabilities(classes), of_pairs)
