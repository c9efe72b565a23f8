"""Tree ensembles of ai.onnx.ml: their attributes as trees, and the operators that stand for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Array
from tilewright.ops._classifier import numbers
from tilewright.ops._compose import Compose
from tilewright.ops._trees import Leaf, Split, Tree, grouped, tables
from tilewright.ops.decisiontrees import DecisionTrees
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.records import dataclass

AGGREGATES = {"SUM": "sum", "AVERAGE": "sum", "MIN": "min", "MAX": "max"}
ENTRIES = 4096
"""Of one table, or one tree more: 32 KiB, which the memories of clusters have room for beside others."""


@dataclass(frozen=True)
class Forest:
    trees: tuple[Tree, ...]
    nodes: int
    """No tree has more."""
    weights: tuple[tuple[int, float], ...]
    """(target, weight) of all leaves."""


def reached(make: Compose, x: str, forest: Forest, targets: int, how: str) -> str:
    """For each sample and target what the leaves say that it reaches."""
    if how not in AGGREGATES:
        raise Refusal(f"aggregate_function is {how}", f"it is one of {', '.join(AGGREGATES)}")
    combining = AGGREGATES[how]
    nothing = 0.0 if combining == "sum" else math.nan
    parts = [
        make(DecisionTrees(targets, combining), x, *(make.constant(array, "trees") for array in table.arrays()))
        for table in tables(forest.trees, forest.nodes, nothing, ENTRIES)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = (
            make.add(total, part) if combining == "sum" else make(Min() if combining == "min" else Max(), total, part)
        )
    return make.scaled(total, 1 / len(forest.trees)) if how == "AVERAGE" else total


def with_base(make: Compose, scores: str, base: Array) -> str:
    if base.size not in (0, 1, make.shape(scores)[1]):
        raise Refusal(f"{base.size} base values for {make.shape(scores)[1]} targets")
    return make.add(scores, make.constant(base.astype(np.float32), "base")) if base.any() else scores


def listed_trees(node: OnnxNode, leaves: str, features: int, targets: int) -> Forest:
    """Of TreeEnsembleClassifier and TreeEnsembleRegressor, whose leaves are called `class` or `target`."""
    node.ignore("nodes_hitrates", "nodes_hitrates_as_tensor")
    names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    columns = [node.attribute(f"nodes_{name}", ()) for name in names]
    values = numbers(node, "nodes_values")
    missing = node.attribute("nodes_missing_value_tracks_true", ()) or (0,) * len(columns[0])
    if len({len(columns[0]), *map(len, columns), len(values), len(missing)}) != 1 or not columns[0]:
        raise Refusal("attributes of nodes have different lengths", "the trees are damaged: export them again")
    weights = _listed_weights(node, leaves, targets)
    keys = list(zip(columns[0], columns[1], strict=True))
    where = {key: position for position, key in enumerate(keys)}

    def node_of(position: int) -> Split | Leaf:
        tree, mode = columns[0][position], str(columns[3][position])
        if mode == "LEAF":
            return weights.get(keys[position], Leaf(()))
        follow = [where.get((tree, columns[column][position]), -1) for column in (4, 5)]
        if min(follow) < 0:
            raise Refusal(f"node {keys[position][1]} of tree {tree} leads to nothing", "export the trees again")
        kind = mode.removeprefix("BRANCH_")
        return _split(columns[2][position], kind, (float(values[position]),), bool(missing[position]), follow, features)

    roots: dict[int, int] = {}
    for position, tree in enumerate(columns[0]):
        roots.setdefault(tree, position)
    return Forest(
        tuple((root, node_of) for _, root in sorted(roots.items())), len(keys),
        tuple(itertools.chain.from_iterable(leaf.weights for leaf in weights.values())),
    )  # fmt: skip


def _listed_weights(node: OnnxNode, leaves: str, targets: int) -> dict[tuple[int, int], Leaf]:
    trees, nodes, ids = (node.attribute(f"{leaves}_{name}", ()) for name in ("treeids", "nodeids", "ids"))
    weights = numbers(node, f"{leaves}_weights")
    if not len(trees) == len(nodes) == len(ids) == len(weights):
        raise Refusal("attributes of leaves have different lengths", "the trees are damaged: export them again")
    if any(not 0 <= target < targets for target in ids):
        raise Refusal(f"a leaf has target {max(ids)}, but there are {targets}")
    return dict(grouped(list(zip(trees, nodes, strict=True)), list(zip(ids, map(float, weights), strict=True))))


MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")


def _split(
    feature: int, mode: str, values: tuple[float, ...], nan_holds: bool, follow: Sequence[int], features: int
) -> Split:
    if mode not in MODES:
        raise Refusal(f"nodes of mode {mode} are not supported")
    if not 0 <= feature < features:
        raise Refusal(f"a node looks at feature {feature}, but there are {features}")
    return Split(feature, mode, values, nan_holds, *follow)


def numbered_trees(node: OnnxNode, features: int, targets: int) -> Forest:
    """Of TreeEnsemble: nodes and leaves are numbered each from 0 on; leaves come behind the nodes here."""
    node.ignore("nodes_hitrates")
    names = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    feature, holds, fails, leaf_holds, leaf_fails = (node.attribute(f"nodes_{name}", ()) for name in names)
    modes, splits = _flat(node, "nodes_modes"), _flat(node, "nodes_splits")
    missing = node.attribute("nodes_missing_value_tracks_true", ()) or (0,) * len(feature)
    ids, weights = node.attribute("leaf_targetids", ()), _flat(node, "leaf_weights")
    lengths = {len(column) for column in (feature, holds, fails, leaf_holds, leaf_fails, modes, splits, missing)}
    if len(lengths) != 1 or len(ids) != len(weights) or any(not 0 <= target < targets for target in ids):
        raise Refusal("attributes of nodes or leaves do not fit each other", "the trees are damaged: export them again")
    count, members = len(feature), _members(node, [int(mode) for mode in modes])

    def node_of(number: int) -> Split | Leaf:
        if number >= count:
            return Leaf(((ids[number - count], float(weights[number - count])),))
        follow = [
            (count if is_leaf[number] else 0) + way[number]
            for way, is_leaf in ((holds, leaf_holds), (fails, leaf_fails))
        ]
        if any(not 0 <= way[number] < (len(ids) if is_leaf[number] else count)
               for way, is_leaf in ((holds, leaf_holds), (fails, leaf_fails))):  # fmt: skip
            raise Refusal(f"node {number} leads to nothing", "the trees are damaged: export them again")
        values = members.get(number, (float(splits[number]),))
        mode = MODES[int(modes[number])] if 0 <= modes[number] < len(MODES) else str(modes[number])
        return _split(feature[number], mode, values, bool(missing[number]), follow, features)

    def root_of(number: int) -> int:
        """A tree that is a leaf alone is written as a node with the same leaf on both sides."""
        if not 0 <= number < count:
            raise Refusal(f"a tree begins with node {number}, but there are {count}")
        alone = leaf_holds[number] and leaf_fails[number] and holds[number] == fails[number]
        return count + holds[number] if alone else number

    roots = node.attribute("tree_roots")
    if not roots:
        raise Refusal("there is no tree", "the trees are damaged: export them again")
    pairs = tuple(zip(ids, map(float, weights), strict=True))
    return Forest(tuple((root_of(root), node_of) for root in roots), count + len(ids), pairs)


def _flat(node: OnnxNode, name: str) -> Array:
    return np.asarray(node.attribute(name, np.zeros(0))).reshape(-1)


def _members(node: OnnxNode, modes: Sequence[int]) -> dict[int, tuple[float, ...]]:
    """The values of each node that asks for membership: they stand one after the other, each list ended by NaN."""
    asking = [number for number, mode in enumerate(modes) if mode == MODES.index("MEMBER")]
    given = _flat(node, "membership_values").astype(np.float64)
    ends = np.flatnonzero(np.isnan(given))
    if len(ends) != len(asking):
        raise Refusal(f"{len(ends)} lists of members for {len(asking)} nodes")
    lists = np.split(given, ends + 1)[: len(ends)]
    return {number: tuple(map(float, values[:-1])) for number, values in zip(asking, lists, strict=True)}
