from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, Labels, numbers, refuse_ambiguous, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._forest import Forest, listed_trees, reached, with_base
from tilewright.ops.greater import Greater
from tilewright.ops.neg import Neg
from tilewright.records import dataclass


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
        base = numbers(node, "base_values")
        if count > 2 and not base.size:
            _refuse_unnamed(node, forest, labels)
        scores = with_base(make, reached(make, x, forest, count, "SUM"), base)
        return make.give(labels.of_best(make, scores), transformed(make, scores, transform))


def _refuse_unnamed(node: OnnxNode, forest: Forest, labels: Labels) -> None:
    """Whether a class that no leaf names is one with the score 0, which is more than a negative one, runtimes disagree
    on. They agree where weights are not negative, or where some tree names the class in each of its leaves."""
    places = zip(*(node.attribute(f"nodes_{name}") for name in ("treeids", "nodeids", "modes")), strict=True)
    leaves: dict[int, set[int]] = {}
    for tree, place, mode in places:
        leaves.setdefault(tree, set()).update([place] if str(mode) == "LEAF" else [])
    named: dict[tuple[int, int], set[int]] = {}
    for tree, place, target in zip(
        *(node.attribute(f"class_{name}") for name in ("treeids", "nodeids", "ids")), strict=True
    ):
        named.setdefault((tree, target), set()).add(place)
    always = {target for (tree, target), found in named.items() if found >= leaves.get(tree, set())}
    missing = [label for at, label in enumerate(labels.values) if at not in always]
    if missing and min(weight for _, weight in forest.weights) < 0:
        raise Refusal(
            f"leaves with negative weights leave out class {missing[0]}: runtimes disagree on which class is the best",
            "name every class in the leaves of some tree, or give base_values",
        )


def _of_one_class(make: Compose, x: str, forest: Forest, labels: Labels, transform: str) -> tuple[str, str]:
    """Leaves speak of one of two classes. Where none of them is negative, its score is a probability."""
    refuse_ambiguous(transform)
    ((target, _), *_), base = forest.weights, numbers(make.node, "base_values")
    if base.size > 1 or (target and len(labels.values) > 1):
        what = f"{base.size} base values" if base.size > 1 else "leaves"
        raise Refusal(
            f"{what} of which only one of two classes has a score: runtimes disagree on the other's",
            "let the leaves speak of the first class, as exporters do, with one base value",
        )
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
