"""Random cases of operators of classifiers, and random trees as ai.onnx.ml writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tilewright.ops._trees import Leaf, Split, Table
from tilewright.ops.decisiontrees import COMBINING, DecisionTrees
from tilewright.ops.pairedprobabilities import PairedProbabilities

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""What trees compare with and samples have, so that equal ones meet often."""


def samples(random: Generator, count: int, features: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    x = random.choice(STEPS, (count, features)).astype(np.float32)
    x[random.random(x.shape) < 0.1] = np.nan
    return x


def decision_trees(random: Generator) -> Case:
    features, targets = int(random.integers(1, 6)), int(random.integers(1, 5))
    combining, table = str(random.choice(COMBINING)), Table()
    for _ in range(int(random.integers(1, 6))):
        nodes: list[Split | Leaf] = []
        _grow(random, nodes, features, targets, int(random.integers(0, 5)))
        table.add((0, nodes.__getitem__), len(nodes), 0.0 if combining == "sum" else np.nan)
    return DecisionTrees(targets, combining), [samples(random, int(random.integers(1, 9)), features), *table.arrays()]


def _grow(random: Generator, nodes: list[Split | Leaf], features: int, targets: int, depth: int) -> int:
    """Adds a tree to the nodes; gives its root."""
    place = len(nodes)
    if depth == 0 or random.random() < 0.2:
        named = random.permutation(targets)[: int(random.integers(0, targets + 1))]
        nodes.append(Leaf(tuple((int(target), float(random.normal())) for target in named)))
        return place
    nodes.append(Leaf(()))
    mode = str(random.choice((*MODES, "MEMBER")))
    values = tuple(random.choice(STEPS, int(random.integers(1, 4)) if mode == "MEMBER" else 1).tolist())
    holds, fails = (_grow(random, nodes, features, targets, depth - 1) for _ in range(2))
    nodes[place] = Split(int(random.integers(features)), mode, values, bool(random.integers(2)), holds, fails)
    return place


def listed(
    random: Generator, features: int, targets: int, trees: int, leaves: str, modes: tuple[str, ...]
) -> dict[str, Any]:
    """Attributes of TreeEnsembleClassifier or -Regressor."""
    found: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    }
    found |= {"nodes_missing_value_tracks_true": []}
    found |= {f"{leaves}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        _list(random, found, tree, [0], features, targets, leaves, modes, 4)
    return found


def _list(
    random: Generator, found: dict[str, list[Any]], tree: int, free: list[int], features: int, targets: int,
    leaves: str, modes: tuple[str, ...], depth: int,
) -> int:  # fmt: skip
    number, is_leaf = free[0], depth == 0 or random.random() < 0.2
    free[0] += 1
    place = len(found["nodes_treeids"])
    mode = "LEAF" if is_leaf else f"BRANCH_{random.choice(modes)}"
    row = (tree, number, int(random.integers(features)), mode, float(random.choice(STEPS)), 0, 0)
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    for name, value in zip(names, row, strict=True):
        found[f"nodes_{name}"].append(value)
    found["nodes_missing_value_tracks_true"].append(int(random.integers(2)))
    if is_leaf:
        for target in range(targets):
            for name, value in zip(("treeids", "nodeids", "ids"), (tree, number, target), strict=True):
                found[f"{leaves}_{name}"].append(value)
            found[f"{leaves}_weights"].append(float(random.normal()))
        return number
    for way in ("truenodeids", "falsenodeids"):
        follows = _list(random, found, tree, free, features, targets, leaves, modes, depth - 1)
        found[f"nodes_{way}"][place] = follows
    return number


def paired_probabilities(random: Generator) -> Case:
    classes = int(random.integers(2, 6))
    x = random.random((int(random.integers(1, 6)), classes * (classes - 1) // 2)).astype(np.float32)
    x[random.random(x.shape) < 0.1] = 1.0
    return PairedProbabilities(classes), [x]


MAKERS: dict[str, Callable[[Generator], Case]] = {
    "DecisionTrees": decision_trees,
    "PairedProbabilities": paired_probabilities,
}
