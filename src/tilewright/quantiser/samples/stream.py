"""Networks run on samples, node by node: what is no longer needed is let go, and several processes share the work."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from tilewright.ir.evaluate import evaluate_node, initial_states, states_after
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array
from tilewright.quantiser.samples.blas_threads import use_one_thread
from tilewright.quantiser.samples.samples import Feeds, Samples
from tilewright.records import dataclass

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and out of how much."""

AFFORDABLE, FEWEST = 2 * 10**9, 4
"""Multiplications that something may take that is tried on samples, and the samples on which it is tried anyway."""

FEWEST_TO_SHARE = 16
"""Samples for which a second process is worth its start."""


def silent(what: str, done: int, total: int) -> None:
    """No progress shown."""


def affordable(graph: Graph, most: int) -> int:
    """On how many samples something can be tried without taking long."""
    work = sum(graph.macs(node) + 4 * graph.types[node.key].elements for node in graph.nodes)
    return max(FEWEST, min(most, AFFORDABLE // max(work, 1)))


class Gathered(Protocol):
    """What is learned from samples; parts that saw different ones become one."""

    def merge(self, other: Any) -> None: ...


Found = TypeVar("Found", bound=Gathered)
One = TypeVar("One", covariant=True)


class SampleSource(Protocol[One]):
    """What is gone through: samples, or sequences of them."""

    @property
    def count(self) -> int: ...

    def every(self, first: int = 0, step: int = 1) -> Iterator[tuple[int, One]]: ...


@dataclass(frozen=True)
class Sequences:
    """Samples that follow one another, together."""

    samples: Samples

    @property
    def count(self) -> int:
        return self.samples.count // self.samples.steps

    def every(self, first: int = 0, step: int = 1) -> Iterator[tuple[int, list[Feeds]]]:
        return self.samples.sequences(first, step)


@dataclass(frozen=True)
class Walk:
    """Runs a graph; gives each node's results as soon as they are there."""

    graph: Graph

    @cached_property
    def _last_readers(self) -> dict[str, list[str]]:
        """Node -> the tensors that nothing needs after it."""
        last: dict[str, str] = {}
        for node in self.graph.nodes:
            last |= dict.fromkeys(filter(None, (*node.inputs, *node.outputs)), node.key)
        kept = {*self.graph.sinks, *self.graph.constants}
        found: dict[str, list[str]] = {}
        for tensor, key in last.items():
            if tensor not in kept:
                found.setdefault(key, []).append(tensor)
        return found

    def values(self, feeds: Feeds, states: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Everything that is there when a call begins; states are as they are first if neither says otherwise."""
        kept = {**initial_states(self.graph), **(states or {})}
        found = {state.before: kept[state.name] for state in self.graph.states}
        return {**self.graph.constants, **found, **feeds}

    def steps(self, values: dict[str, Array]) -> Iterator[tuple[Node, tuple[Array, ...]]]:
        """Each node and its results; what nothing needs any more leaves `values` after the caller has seen them."""
        for node in self.graph.nodes:
            results = evaluate_node(self.graph, node, values)
            values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)
            yield node, results
            self.release(node, values)

    def release(self, node: Node, values: dict[str, Array]) -> None:
        for tensor in self._last_readers.get(node.key, ()):
            values.pop(tensor, None)

    def outputs(self, feeds: Feeds, states: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """The results of one call by their tensors."""
        values = self.values(feeds, states)
        for _ in self.steps(values):
            pass
        return {name: values[name] for name in self.graph.sinks}

    def after(self, values: Mapping[str, Array]) -> dict[str, Array]:
        return states_after(self.graph, values)


# ---- several processes --------------------------------------------------------------------------------------------

_WORK: list[Any] = []
"""Of a process that was started for it: graphs and samples are shared with it as they are in memory, not copied."""


def over_samples(
    samples: SampleSource[One], begin: Callable[[], Found], see: Callable[[Found, int, One], None], what: str,
    progress: Progress = silent, processes: int = 0, most: int = 0,
) -> Found:  # fmt: skip
    """What `see` gathers from every sample, or from at most `most`, in as many processes as there are cores."""
    step = max(1, -(-samples.count // most)) if most else 1
    total = -(-samples.count // step)
    workers = min(processes or os.cpu_count() or 1, 8, max(1, total // FEWEST_TO_SHARE))
    if workers == 1 or "fork" not in multiprocessing.get_all_start_methods():
        return _alone(samples, begin, see, what, progress, step, total)
    fork = multiprocessing.get_context("fork")
    counter = fork.Value("i", 0)
    with ProcessPoolExecutor(workers, fork, _begun, (samples, begin, see, counter)) as pool:
        parts: list[Future[Found]] = [pool.submit(_part, number * step, workers * step) for number in range(workers)]
        try:
            while _are_working(parts):
                progress(what, counter.value, total)
            found, *others = (part.result() for part in sorted(parts, key=lambda part: not part.done()))
        except BaseException:
            counter.value = STOPPED
            raise
    for other in others:
        found.merge(other)
    progress(what, total, total)
    return found


def _are_working(parts: list[Future[Found]]) -> bool:
    """Waits a moment; whether there is more to wait for."""
    state = wait(parts, timeout=0.1, return_when=FIRST_EXCEPTION)
    return bool(state.not_done) and not any(part.exception() for part in state.done)


STOPPED = -(2**30)
"""Where so few samples are done, nobody waits for the rest."""


def _begun(*work: Any) -> None:
    """An interrupt is for the process that waits for the others; it tells them. Nor do they disturb each other."""
    _WORK[:] = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()


def _part(first: int, step: int) -> Any:
    samples, begin, see, counter = _WORK
    found = begin()
    with np.errstate(all="ignore"):
        for number, feeds in samples.every(first, step):
            see(found, number, feeds)
            with counter.get_lock():
                counter.value += 1
                if counter.value < 0:
                    break
    return found


def _alone(
    samples: SampleSource[One], begin: Callable[[], Found], see: Callable[[Found, int, One], None], what: str,
    progress: Progress, step: int, total: int,
) -> Found:  # fmt: skip
    found = begin()
    with np.errstate(all="ignore"):
        for done, (number, feeds) in enumerate(samples.every(0, step)):
            progress(what, done, total)
            see(found, number, feeds)
    progress(what, total, total)
    return found
