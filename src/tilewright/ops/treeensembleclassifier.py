from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, Labels, numbers, refuse_ambiguous, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._forest import Forest, listed_trees, reached, with_base
from tilewright.ops.greater import Greater
from tilewright.ops.neg import Neg


@dataclass(frozen=True)
class TreeEnsembleClassifier(Op):
    """The label that the leaves of decision trees give most, and what is made of the scores. Becomes DecisionTrees."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN
    results: ClassVar[tuple[str, ...]] = ("Y", "Z")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        labels = Labels.of(make, "classlabels_int64s", "classlabels_strings")
        count, transform = len(labels.values), node.attribute("post_transform", "NONE")
        x = rows_of_floats(node, make)
        forest = listed_trees(node, "class", make.shape(x)[1], max(count, 2))
        if len({target for target, _ in forest.weights}) == 1 and count <= 2:
            return make.give(*_of_one_class(make, x, forest, labels, transform))
        if count < 2:
            raise Refusal(f"{count} label for leaves of several classes")
        scores = with_base(make, reached(make, x, forest, count, "SUM"), numbers(node, "base_values"))
        return make.give(labels.of_best(make, scores), transformed(make, scores, transform))


def _of_one_class(make: Compose, x: str, forest: Forest, labels: Labels, transform: str) -> tuple[str, str]:
    """Leaves speak of one of two classes. Where none of them is negative, its score is a probability."""
    refuse_ambiguous(transform)
    ((target, _), *_), base = forest.weights, numbers(make.node, "base_values")
    score = make.part(reached(make, x, forest, 2, "SUM"), 1, target, target + 1)
    score = with_base(make, score, base[-1:])
    is_probability = min(weight for _, weight in forest.weights) >= 0
    above = make(Greater(), score, make.like(0.5 if is_probability else 0.0, score))
    positions = make.cast(make.reshape(above, (make.shape(x)[0],)), "int64")
    two = labels if len(labels.values) == 2 else Labels((0, *labels.values))
    if is_probability and transform == "NONE":
        other = make.sub(make.like(1.0, score), score)
        return two.at(make, positions), make.join(1, other, score)
    both = make.join(1, make(Neg(), score), score)
    return two.at(make, positions), transformed(make, both, transform)
