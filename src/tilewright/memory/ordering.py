"""The order of execution: of the orders that respect the dependencies, one with a low peak of live bytes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilewright.records import dataclass

WIDTH = 64
"""The most states that the beam search keeps after each number of tasks."""

BUDGET = 40_000
"""About how many moves it looks at: the width shrinks for long graphs. One takes one to three microseconds."""

MOVES = 16
"""The most ready tasks that it looks at in one state."""


@dataclass(frozen=True)
class Task:
    """One step of the program, by the names of the tensors it touches."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def touches(self) -> dict[str, None]:
        return dict.fromkeys((*self.reads, *self.writes))


def order(tasks: Sequence[Task], sizes: Mapping[str, int], keep: frozenset[str] = frozenset()) -> tuple[int, ...]:
    """The indices of the tasks in the best order found: the given one, unless another has a lower peak.

    Only tensors in `sizes` count. Those in `keep` live to the end, and those read before any task writes them live
    from the start. Tasks that write the same tensor, or read it before it is written again, keep their order.
    """
    best = tuple(range(len(tasks)))
    peak = peak_live(best, tasks, sizes, keep)
    net = _net(tasks, sizes, keep)
    for width in (1, WIDTH):  # greedy first: what it reaches, the beam need not look beyond
        found = _Beam(net, width, peak).run() if peak > net.floor else None
        if found is not None:
            best, peak = found, peak_live(found, tasks, sizes, keep)
    return best


def peak_live(
    order: Sequence[int], tasks: Sequence[Task], sizes: Mapping[str, int], keep: frozenset[str] = frozenset()
) -> int:
    """The most bytes that are alive during one of the tasks, executed in this order."""
    births: dict[str, int] = {}
    deaths: dict[str, int] = {}
    for step, index in enumerate(order):
        for name in tasks[index].touches():
            births.setdefault(name, 0 if name in tasks[index].reads else step)
            deaths[name] = len(order) - 1 if name in keep else step
    change = [0] * (len(order) + 1)
    for name in births.keys() & sizes.keys():
        change[births[name]] += sizes[name]
        change[deaths[name] + 1] -= sizes[name]
    return max(itertools.accumulate(change))


# ---- the tasks as sets of bits --------------------------------------------------------------------------------------

_START = -1
"""The birth of a tensor that is there before the first task."""


@dataclass(frozen=True)
class _Net:
    """For each task, with sets of tasks as bits: what comes before and after it, and what it does to memory."""

    before: tuple[int, ...]
    after: tuple[tuple[int, ...], ...]
    born: tuple[int, ...]
    """Bytes of the tensors that live from this task on."""
    frees: tuple[tuple[tuple[int, int], ...], ...]
    """(all tasks that touch it, bytes) of each tensor that may die after this task."""
    start: int
    """Bytes that are alive before the first task."""
    floor: int
    """No order has a lower peak."""


def _net(tasks: Sequence[Task], sizes: Mapping[str, int], keep: frozenset[str]) -> _Net:
    users: dict[str, int] = {}
    born: dict[str, int] = {}
    for index, task in enumerate(tasks):
        for name in task.touches():
            users[name] = users.get(name, 0) | 1 << index
            born.setdefault(name, _START if name in task.reads else index)
    counted = [[name for name in task.touches() if name in sizes] for task in tasks]
    before = _dependencies(tasks)
    return _Net(
        before=tuple(sum(1 << earlier for earlier in earliers) for earliers in before),
        after=_reversed(before),
        born=tuple(sum(sizes[name] for name in names if born[name] == index) for index, names in enumerate(counted)),
        frees=tuple(tuple((users[name], sizes[name]) for name in names if name not in keep) for names in counted),
        start=sum(sizes[name] for name, index in born.items() if index == _START and name in sizes),
        floor=max((sum(sizes[name] for name in names) for names in counted), default=0),
    )


def _dependencies(tasks: Sequence[Task]) -> list[set[int]]:
    """For each task the earlier ones that must stay earlier: writer and reader, reader and next writer, two writers."""
    writer: dict[str, int] = {}
    readers: dict[str, set[int]] = {}
    before: list[set[int]] = []
    for index, task in enumerate(tasks):
        found = {writer[name] for name in task.touches() if name in writer}
        for name in task.reads:
            readers.setdefault(name, set()).add(index)
        for name in task.writes:
            found |= readers.pop(name, set())
            writer[name] = index
        before.append(found - {index})
    return before


def _reversed(before: Sequence[set[int]]) -> tuple[tuple[int, ...], ...]:
    after: list[list[int]] = [[] for _ in before]
    for index, earliers in enumerate(before):
        for earlier in earliers:
            after[earlier].append(index)
    return tuple(map(tuple, after))


# ---- beam search ----------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """What is left to do, what may be done next, and the memory in use."""

    left: int
    done: int
    ready: tuple[int, ...]
    live: int
    peak: int
    path: _Path | None


class _Path(NamedTuple):
    """The tasks done, last first."""

    task: int
    earlier: _Path | None


class _Beam:
    """Keeps the best states after each number of tasks, and drops those that reach the limit."""

    def __init__(self, net: _Net, width: int, limit: int) -> None:
        self.net, self.width, self.limit = net, width, limit
        self.tasks = len(net.before)
        self.moves = self.expanded = 0
        self.levels: list[dict[int, _State]] = [{} for _ in range(self.tasks + 1)]

    def run(self) -> tuple[int, ...] | None:
        """An order with a peak below the limit, if one is found."""
        ready = tuple(index for index, before in enumerate(self.net.before) if not before)
        self.keep(_State((1 << self.tasks) - 1, 0, ready, self.net.start, self.net.start, None))
        for level in self.levels[:-1]:
            for state in sorted(level.values(), key=lambda state: (state.peak, state.live))[: self.affordable(level)]:
                self.expanded += 1
                for index in self.choices(state):
                    self.keep(self.advance(state, index))
            level.clear()
        return next((_unwind(state) for state in self.levels[-1].values()), None)

    def affordable(self, level: dict[int, _State]) -> int:
        """The width that this level and those after it can have within the budget."""
        if self.width == 1 or not level:
            return 1
        count = next(iter(level.values())).done
        cost = max(1, self.moves // max(1, self.expanded)) * (self.tasks - count)
        return max(1, min(self.width, (BUDGET - self.moves) // cost))

    def keep(self, state: _State) -> None:
        state = self.settle(state)
        if state.peak >= self.limit:
            return
        level = self.levels[state.done]
        if state.left not in level or state.peak < level[state.left].peak:
            level[state.left] = state

    def settle(self, state: _State) -> _State:
        """Make the moves that need no choice."""
        while state.peak < self.limit and (index := self.forced(state)) is not None:
            state = self.advance(state, index)
        return state

    def forced(self, state: _State) -> int | None:
        """The only ready task, or one that takes no more than it gives back, under a peak that is reached anyway.

        Such a task can come first in the best order too: all that follows finds as much or more memory free.
        """
        if len(state.ready) == 1:
            return state.ready[0]
        room = max(state.peak, self.net.floor) - state.live
        for index in self.choices(state):
            self.moves += 1
            born = self.net.born[index]
            if born <= room and self.freed(state, index) >= born:
                return index
        return None

    def choices(self, state: _State) -> tuple[int, ...]:
        """Some of the newest and some of the oldest ready tasks."""
        ready = state.ready
        return ready if len(ready) <= MOVES else ready[: MOVES // 2] + ready[-MOVES // 2 :]

    def freed(self, state: _State, index: int) -> int:
        left = state.left ^ 1 << index
        total = 0
        for users, size in self.net.frees[index]:
            if not users & left:
                total += size
        return total

    def advance(self, state: _State, index: int) -> _State:
        self.moves += 1
        left = state.left ^ 1 << index
        before = self.net.before
        enabled = [later for later in self.net.after[index] if not before[later] & left]
        ready = (*enabled, *[other for other in state.ready if other != index])
        during = state.live + self.net.born[index]
        live, path = during - self.freed(state, index), _Path(index, state.path)
        return _State(left, state.done + 1, ready, live, max(state.peak, during), path)


def _unwind(state: _State) -> tuple[int, ...]:
    done, path = [], state.path
    while path is not None:
        done.append(path.task)
        path = path.earlier
    return tuple(reversed(done))
