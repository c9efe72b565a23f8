"""Decision trees as tables that kernels walk: three numbers for each entry.

A split has in `codes` its feature and its test, in `values` what it compares with, in `jumps` how far away the entry is
that follows where the test does not hold; where it holds, the next entry follows. A leaf is an entry for each of its
weights: `jumps` has the target, `values` the weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.records import dataclass

LEAF, LEAF_AND_MORE = -1, -2
"""Codes of a leaf's last weight, and of those before it."""
UNEQUAL, NAN_OTHERWISE = 1, 2
"""Bits of a split's code: x != value instead of x <= value; NaN goes where a comparison with NaN does not."""
FEATURE_SHIFT = 2


@dataclass(frozen=True)
class Split:
    """What is asked of a feature, and what follows."""

    feature: int
    mode: str
    """LEQ, LT, GTE, GT, EQ, NEQ or MEMBER."""
    values: tuple[float, ...]
    """Of MEMBER any number, otherwise one."""
    nan_holds: bool
    holds: int
    fails: int
    """Nodes."""


@dataclass(frozen=True)
class Leaf:
    weights: tuple[tuple[int, float], ...]
    """(target, weight)."""


Tree = tuple[int, Callable[[int], "Split | Leaf"]]
"""The root, and what a node is."""


@dataclass
class Table:
    codes: list[int] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)

    def add(self, tree: Tree, limit: int, nothing: float) -> None:
        """Depth first, so that the next entry is what follows where a test holds. A tree has at most `limit` nodes."""
        root, node_of = tree
        self.roots.append(len(self.codes))
        waiting: list[tuple[int, tuple[int, ...]]] = [(root, ())]
        seen = set[int]()
        while waiting:
            number, jumping = waiting.pop()
            if number in seen or len(seen) > limit:
                raise Refusal(f"node {number} of a tree is reached twice", "the trees are damaged: export them again")
            seen.add(number)
            for place in jumping:
                self.jumps[place] = len(self.codes) - place
            node = node_of(number)
            if isinstance(node, Leaf):
                self._leaf(node, nothing)
            else:
                waiting.extend(self._split(node))

    def _leaf(self, leaf: Leaf, nothing: float) -> None:
        weights = leaf.weights or ((0, nothing),)
        for position, (target, weight) in enumerate(weights):
            self._entry(LEAF if position == len(weights) - 1 else LEAF_AND_MORE, target, weight)

    def _split(self, split: Split) -> Iterator[tuple[int, tuple[int, ...]]]:
        """What follows by a jump, then what follows at once."""
        tests = list(_tests(split))
        places = tuple(range(len(self.codes), len(self.codes) + len(tests)))
        for bits, value in tests:
            self._entry((split.feature << FEATURE_SHIFT) | bits, 0, value)
        if split.mode in ("LEQ", "LT", "NEQ"):
            yield split.fails, places
            yield split.holds, ()
        else:
            yield split.holds, places
            yield split.fails, ()

    def _entry(self, code: int, jump: int, value: float) -> None:
        self.codes.append(code)
        self.jumps.append(jump)
        self.values.append(value)

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        largest = max(max(self.codes), max(self.jumps))
        small = np.int16 if largest <= np.iinfo(np.int16).max else np.int32
        return (
            np.asarray(self.codes, small), np.asarray(self.jumps, small), np.asarray(self.values, np.float32),
            np.asarray(self.roots, np.int32),
        )  # fmt: skip


def _tests(split: Split) -> Iterator[tuple[int, float]]:
    """(bits of the code, value): what a split asks, one entry after the other.

    Those that are not <= or != are asked the other way round: >= is not <, > is not <=, == is not !=.
    """
    if split.mode in ("EQ", "NEQ", "MEMBER"):
        # A comparison says that NaN is unequal: that holds for NEQ, and fails for the others.
        otherwise = split.nan_holds and split.mode != "NEQ"
        for position, value in enumerate(split.values or (math.nan,)):
            yield UNEQUAL | (NAN_OTHERWISE if otherwise and position == 0 else 0), value
        return
    is_strict = split.mode in ("LT", "GTE")
    # A comparison says that NaN is not below: it goes where LEQ and LT fail, and GTE and GT hold.
    otherwise = split.nan_holds == (split.mode in ("LEQ", "LT"))
    # Doubles are compared as float32, with samples that are rounded likewise: what is equal stays so.
    limit = np.float32(split.values[0])
    yield NAN_OTHERWISE if otherwise else 0, float(np.nextafter(limit, np.float32(-np.inf)) if is_strict else limit)


def tables(trees: Sequence[Tree], limit: int, nothing: float, most: int) -> Iterator[Table]:
    """Tables of about that many entries at most, each with whole trees."""
    table = Table()
    for tree in trees:
        if len(table.codes) >= most:
            yield table
            table = Table()
        table.add(tree, limit, nothing)
    yield table


def grouped(keys: Sequence[tuple[int, int]], weights: Sequence[tuple[int, float]]) -> Mapping[tuple[int, int], Leaf]:
    """The leaf of each (tree, node)."""
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for key, weight in zip(keys, weights, strict=True):
        found.setdefault(key, []).append(weight)
    return {key: Leaf(tuple(given)) for key, given in found.items()}
