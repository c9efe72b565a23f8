"""Sequences of calls as samples: each call with the states that the float network has come to by then.

What a state becomes after many calls is nothing like what it begins with. The float network runs over every sequence
once; from then on a call is a sample like any other, whose states are given as its inputs are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.evaluate import initial_states
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.quantiser.samples.samples import ArraySource, Samples
from tilewright.quantiser.samples.stream import Progress, Walk

MOST_BYTES = 512 * 2**20
"""Of the states of all calls, which are kept."""


def with_states(graph: Graph, samples: Samples, progress: Progress) -> Samples:
    """The samples with the states of each call, by the tensors that hold them when it begins."""
    if samples.steps == 1:
        return samples
    _check_size(graph, samples)
    walk, states = Walk(graph), dict[str, Array]()
    found: dict[str, list[Array]] = {state.before: [] for state in graph.states}
    for number, feeds in samples.every():
        progress("following states", number, samples.count)
        states = initial_states(graph) if number % samples.steps == 0 else states
        for state in graph.states:
            found[state.before].append(states[state.name])
        with np.errstate(all="ignore"):
            states = walk.after(walk.outputs({name: feeds[name] for name in graph.inputs}, states))
    kept = {before: ArraySource(np.stack(values)) for before, values in found.items()}
    inputs = {name: samples.sources[name] for name in graph.inputs}
    types = {name: graph.types[name] for name in (*inputs, *kept)}
    return replace(samples, sources={**inputs, **kept}, types=types)


def _check_size(graph: Graph, samples: Samples) -> None:
    needed = samples.count * sum(graph.types[state.before].bytes for state in graph.states)
    if needed > MOST_BYTES:
        raise CompileError(
            "samples", f"the states of {samples.count} calls take {needed >> 20} MiB, {MOST_BYTES >> 20} are kept",
            "give fewer or shorter sequences",
        )  # fmt: skip
