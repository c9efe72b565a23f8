"""Kernels of classifiers: decision trees, and probabilities of pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.ir.op import Op
from tilewright.ops.decisiontrees import DecisionTrees
from tilewright.ops.pairedprobabilities import PairedProbabilities
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.sizes import in_c


def walking_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, samples, trees that they walk, and the splits that they meet where trees are balanced."""
    samples, trees = extents["n"], max(types["roots"].elements, 1)
    # Half of a tree's entries, or more where leaves have several weights, are no splits.
    depth = math.log2(max(types["codes"].elements / trees, 1.0) + 1)
    return 1.0, float(samples), float(samples * trees), samples * trees * depth


SMALL = frozenset({"int16", "int32"})

KERNELS = (
    Kernel(
        DecisionTrees,
        "decision_trees.c",
        "X:float32 codes jumps values:float32 roots:int32 -> Y:float32",
        {"codes": SMALL, "jumps": SMALL},
        features=walking_features,
    ),
    Kernel(
        PairedProbabilities,
        "paired_probabilities.c",
        "X:float32 -> Y:float32",
        {},
        scratch=in_c("tw_paired_probabilities_scratch"),
    ),
)
