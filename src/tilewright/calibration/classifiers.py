"""Samples of classifiers."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.calibration.values import Sample, values
from tilewright.ops._trees import Leaf, Split, Table
from tilewright.ops.decisiontrees import DecisionTrees
from tilewright.ops.pairedprobabilities import PairedProbabilities


def forests() -> Iterator[Sample]:
    for samples, features, trees, depth, targets in (
        (1, 8, 4, 4, 1), (4, 16, 10, 6, 3), (16, 8, 10, 3, 2), (2, 32, 40, 5, 4), (8, 12, 20, 7, 1), (1, 20, 60, 4, 3),
    ):  # fmt: skip
        table = Table()
        for tree in range(trees):
            nodes = [
                Split(
                    (node * 7 + tree) % features,
                    "LEQ",
                    ((node * 5 + tree) % 9 / 4 - 1,),
                    False,
                    2 * node + 1,
                    2 * node + 2,
                )
                if node < 2**depth - 1
                else Leaf(tuple((target, node / 16) for target in range(targets)))
                for node in range(2 ** (depth + 1) - 1)
            ]
            table.add((0, nodes.__getitem__), len(nodes), 0.0)
        yield DecisionTrees(targets), [values("float32", samples, features), *table.arrays()]


def paired() -> Iterator[Sample]:
    for samples, classes in ((1, 2), (4, 3), (2, 6), (8, 4), (1, 10)):
        yield PairedProbabilities(classes), [abs(values("float32", samples, classes * (classes - 1) // 2)) / 4]


OTHERS = (forests, paired)
