from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._classifier import DOMAIN, numbers, rows_of_floats, transformed
from tilewright.ops._compose import Compose
from tilewright.ops._forest import listed_trees, reached, with_base
from tilewright.records import dataclass


@dataclass(frozen=True)
class TreeEnsembleRegressor(Op):
    """What the leaves of decision trees say, for each target. Becomes DecisionTrees."""

    domains: ClassVar[tuple[str, ...]] = DOMAIN

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make = Compose(node, emit)
        targets, how = node.attribute("n_targets", 1), node.attribute("aggregate_function", "SUM")
        x = rows_of_floats(node, make)
        forest = listed_trees(node, "target", make.shape(x)[1], targets)
        scores = with_base(make, reached(make, x, forest, targets, how), numbers(node, "base_values"))
        return make.give(transformed(make, scores, node.attribute("post_transform", "NONE")))
