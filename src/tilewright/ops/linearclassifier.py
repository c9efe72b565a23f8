from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, Labels, refuse_ambiguous, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops.linearregressor import weighted_sums
from tilewright.ops.neg import Neg
from tilewright.records import dataclass


@dataclass(frozen=True)
class LinearClassifier(Op):
    """The label with the largest weighted sum of features, and what is made of the sums. Becomes MatMul and ArgMax."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN
    results: ClassVar[tuple[str, ...]] = ("Y", "Z")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        node.ignore("multi_class")
        labels = Labels.of(make, "classlabels_ints", "classlabels_strings")
        x = rows_of_floats(node, make)
        coefficients = len(node.attribute("coefficients"))
        scores = weighted_sums(make, x, coefficients // max(make.shape(x)[1], 1))
        transform = node.attribute("post_transform", "NONE")
        if make.shape(scores)[1] == 1 and len(labels.values) == 2:
            return make.give(*_of_one_score(make, scores, labels, transform))
        if make.shape(scores)[1] != len(labels.values) or len(labels.values) < 2:
            raise Refusal(f"{make.shape(scores)[1]} sums for {len(labels.values)} labels")
        return make.give(labels.of_best(make, scores), transformed(make, scores, transform))


def _of_one_score(make: Compose, score: str, labels: Labels, transform: str) -> tuple[str, str]:
    """The second label's; without a function, that of the first is what is missing to 1, as in ONNX Runtime."""
    refuse_ambiguous(transform)
    both = make.join(1, make(Neg(), score), score)
    if transform == "NONE":
        return labels.of_best(make, both), make.join(1, make.sub(make.like(1.0, score), score), score)
    return labels.of_best(make, both), transformed(make, both, transform)
