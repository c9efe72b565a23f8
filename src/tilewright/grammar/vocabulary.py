"""Tokens of a vocabulary as a tree of their bytes, level by level: an automaton walks over all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.grammar.automaton import DEAD, Automaton
from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class Level:
    """Nodes that are as deep, in order of their parents."""

    parents: Array
    """Places in the level before."""
    bytes_: Array
    starts: Array
    """Of each node of the level before, where its children begin; and the end of the last."""
    ending: Array
    """Nodes at which tokens end, and these tokens."""
    tokens: Array


class Vocabulary:
    """`pieces` are the bytes of each token; those without any never fit."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.size = len(pieces)
        self.levels = list(_levels(pieces))

    def allowed(self, automaton: Automaton, state: int) -> Array:
        """Tokens that lead from a state to another one that is alive."""
        found = np.zeros(self.size, bool)
        before = np.array([state], np.int64)
        for level in self.levels:
            states = _walked(automaton, level, before)
            if states is None:
                break
            found[level.tokens[states[level.ending] != DEAD]] = True
            before = states
        return found


def _levels(pieces: Sequence[bytes]) -> list[Level]:
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    data = np.frombuffer(b"".join(pieces), np.uint8)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if pieces else np.zeros(0, np.int64)
    active = np.flatnonzero(lengths)
    nodes, count, found = np.zeros(active.size, np.int64), 1, []
    depth = 0
    while active.size:
        keys, places = np.unique(nodes * 256 + data[starts[active] + depth], return_inverse=True)
        parents = keys // 256
        ends = lengths[active] == depth + 1
        edges = np.searchsorted(parents, np.arange(count + 1))
        found.append(Level(parents, keys % 256, edges, places[ends], active[ends]))
        active, nodes, count, depth = active[~ends], places[~ends], keys.size, depth + 1
    return found


def _walked(automaton: Automaton, level: Level, before: Array) -> Array | None:
    """States of a level's nodes; None where all are dead."""
    alive = np.flatnonzero(before)
    if not alive.size:
        return None
    is_there = np.zeros(int(before.max()) + 1, bool)
    is_there[before] = True
    rows = automaton.rows(np.flatnonzero(is_there))
    if alive.size == before.size:
        return _next(rows, before[level.parents], level.bytes_)
    children = _ranges(level.starts[alive], level.starts[alive + 1])
    states = np.zeros(level.parents.size, np.int64)
    states[children] = _next(rows, before[level.parents[children]], level.bytes_[children])
    return states


def _next(rows: Array, states: Array, bytes_: Array) -> Array:
    """Of a table that is one row after another, which is faster than one of two axes."""
    return np.take(rows.reshape(-1), states * 256 + bytes_)


def _ranges(starts: Array, ends: Array) -> Array:
    """All numbers of ranges, one after another."""
    sizes = ends - starts
    total = np.cumsum(sizes)
    return np.arange(total[-1]) + np.repeat(starts - (total - sizes), sizes)
