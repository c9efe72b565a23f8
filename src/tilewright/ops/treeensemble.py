from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._forest import numbered_trees, reached
from tilewright.records import dataclass

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True)
class TreeEnsemble(Op):
    """What the leaves of decision trees say, for each target. Becomes DecisionTrees."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        targets, how = node.attribute("n_targets", 1), node.attribute("aggregate_function", 1)
        transform = node.attribute("post_transform", 0)
        if not 0 <= how < len(AGGREGATES) or not 0 <= transform < len(TRANSFORMS):
            raise Refusal(f"aggregate_function {how} with post_transform {transform} is unknown")
        x = rows_of_floats(node, make)
        scores = reached(make, x, numbered_trees(node, make.shape(x)[1], targets), targets, AGGREGATES[how])
        return make.give(transformed(make, scores, TRANSFORMS[transform]))
