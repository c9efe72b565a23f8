"""A grammar as an automaton over bytes, made as far as it is walked.

A place in a grammar is a stack of terms that are still to come, which is a number too; a state is all places that the
same bytes lead to. Recursion makes stacks deeper, so that there are as many states as texts need.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.errors import CompileError
from tilewright.grammar.terms import Bytes, Either, Named, Repeat, Sequence, Terms
from tilewright.ir.types import Array

DEAD, START = 0, 1
"""States: from the first no text is right any more."""
MOST_PLACES, MOST_STATES = 20_000, 100_000
EMPTY = 0
"""The stack of nothing to come."""


class Automaton:
    def __init__(self, terms: Terms, first: int) -> None:
        self.terms, self._endless = terms, terms.endless()
        if first in self._endless:
            raise CompileError(
                "grammar", "allows no finite text", "make one of the values that contain themselves optional"
            )
        self._stacks: list[tuple[int, int]] = [(-1, -1)]
        self._stack_numbers: dict[tuple[int, int], int] = {}
        self._steps: dict[int, tuple[tuple[tuple[int, int], ...], bool]] = {}
        self._states: list[frozenset[int]] = []
        self._state_numbers: dict[frozenset[int], int] = {}
        self._rows = np.zeros((64, 256), np.int64)
        self._has_row = np.zeros(64, bool)
        self._state(frozenset())
        self._state(frozenset({self._push(first, EMPTY)}))

    def may_end(self, state: int) -> bool:
        """Whether the bytes so far are a whole text."""
        return any(self._closed(stack)[1] for stack in self._states[state])

    def must_end(self, state: int) -> bool:
        """Whether no byte may follow."""
        return not self.rows([state])[state].any()

    def after(self, state: int, data: bytes) -> int:
        for byte in data:
            state = int(self.rows([state])[state, byte])
        return state

    def rows(self, states: Iterator[int] | list[int] | Array) -> Array:
        """A table of next states by state and byte, in which rows of these states are filled in."""
        for state in states:
            if not self._has_row[state]:
                self._fill(int(state))
        return self._rows

    def _fill(self, state: int) -> None:
        found: dict[int, set[int]] = {}
        """Disjoint sets of bytes, and the stacks that they lead to."""
        for stack in self._states[state]:
            for mask, rest in self._closed(stack)[0]:
                _split(found, mask, rest)
        numbers = {mask: self._state(frozenset(rests)) for mask, rests in found.items()}
        for mask, number in numbers.items():
            self._rows[state, _bytes_of(mask)] = number
        self._has_row[state] = True

    def _state(self, stacks: frozenset[int]) -> int:
        number = self._state_numbers.setdefault(stacks, len(self._states))
        if number == len(self._states):
            if number >= MOST_STATES:
                raise CompileError("grammar", f"has more than {MOST_STATES} states", "make it simpler")
            self._states.append(stacks)
            if number >= len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
                self._has_row = np.concatenate([self._has_row, np.zeros_like(self._has_row)])
        return number

    def _push(self, term: int, rest: int) -> int:
        number = self._stack_numbers.setdefault((term, rest), len(self._stacks))
        if number == len(self._stacks):
            self._stacks.append((term, rest))
        return number

    def _closed(self, stack: int) -> tuple[tuple[tuple[int, int], ...], bool]:
        """Sets of bytes that may come next, each with the stack after it; and whether the text may end here."""
        known = self._steps.get(stack)
        if known is None:
            known = self._steps[stack] = self._walked(stack)
        return known

    def _walked(self, stack: int) -> tuple[tuple[tuple[int, int], ...], bool]:
        waiting, seen, steps, may_end = [stack], {stack}, list[tuple[int, int]](), False
        while waiting:
            place = waiting.pop()
            if place == EMPTY:
                may_end = True
                continue
            term, rest = self._stacks[place]
            found = self.terms.all[term]
            if isinstance(found, Bytes):
                steps.append((found.mask, rest))
                continue
            for other in self._opened(term, rest):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
            if len(seen) > MOST_PLACES:
                what = f"has more than {MOST_PLACES} ways to go on at one place"
                raise CompileError("grammar", what, "make its repetitions simpler")
        return tuple(dict.fromkeys(steps)), may_end

    def _opened(self, term: int, rest: int) -> Iterator[int]:
        """Stacks that a stack stands for; those that never end are none."""
        if term in self._endless:
            return
        found = self.terms.all[term]
        if isinstance(found, Sequence):
            for part in reversed(found.parts):
                rest = self._push(part, rest)
            yield rest
        elif isinstance(found, Either):
            yield from (self._push(part, rest) for part in found.parts if part not in self._endless)
        elif isinstance(found, Named):
            yield self._push(self.terms.names[found.name], rest)
        elif isinstance(found, Repeat):
            yield from self._turns(found, rest)

    def _turns(self, term: Repeat, rest: int) -> Iterator[int]:
        if term.least == 0:
            yield rest
        if term.part not in self._endless:
            fewer = None if term.most is None else term.most - 1
            more = self.terms.repeat(term.part, max(term.least - 1, 0), fewer)
            yield self._push(term.part, rest if fewer == 0 else self._push(more, rest))


def _split(found: dict[int, set[int]], mask: int, rest: int) -> None:
    """Adds a stack to all bytes of a set."""
    left = mask
    for known in list(found):
        shared = known & mask
        if not shared:
            continue
        left &= ~shared
        if known == shared:
            found[known].add(rest)
            continue
        rests = found.pop(known)
        found[known & ~mask] = rests
        found[shared] = {*rests, rest}
    if left:
        found[left] = {rest}


def _bytes_of(mask: int) -> Array:
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask.to_bytes(32, "little"), np.uint8), bitorder="little"))
