"""The quantised network as C on this machine, on the same samples: what is reported is what will run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from tilewright import pipeline
from tilewright.codegen.network import Writer, symbol_prefix
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.quantiser.cost.measure import Metric, Noise, checked, numbers, scored
from tilewright.quantiser.cost.scores import agreement, class_axis
from tilewright.quantiser.samples.samples import Feeds, Samples
from tilewright.quantiser.samples.stream import Progress, Walk
from tilewright.records import dataclass
from tilewright.run.host import HostProgram

TOGETHER = 32
"""Samples that are given to one run of the program."""


@dataclass(frozen=True)
class InC:
    snr_db: float
    agreement: float
    metric: float | None
    samples: int


def measured_in_c(
    graph: Graph, made: Graph, samples: Samples, metric: Metric | None, progress: Progress, most: int
) -> InC:
    """The float network against the C of the quantised one, on all samples if there is a metric, else on at most so
    many."""
    program, walk = _program(made), Walk(graph)
    noise, agreeing, total, count = Noise(), 0.0, 0.0, 0
    axis = class_axis(graph, graph.outputs[0])
    for number, wanted, got in _both(walk, program, samples, 0 if metric else most, progress):
        count += 1
        for name in scored(wanted):
            noise.add(numbers(wanted[name]), numbers(got[name]) - numbers(wanted[name]))
        first = next(iter(wanted))
        agreeing += agreement(wanted[first], got[first], axis)
        total += checked(metric, got, number) if metric is not None else 0.0
    return InC(round(noise.db, 2), agreeing / count, total / count if metric else None, count)


def _both(
    walk: Walk, program: HostProgram, samples: Samples, most: int, progress: Progress
) -> Iterator[tuple[int, Mapping[str, Array], Mapping[str, Array]]]:
    """The number of a sample, and its outputs in floats and in C, by their names."""
    for part in _runs(walk.graph, samples, most):
        progress("running the C", part[0][0], samples.count)
        ran = program.run_steps([feeds for _, feeds in part])
        for (number, feeds), result in zip(part, ran, strict=True):
            yield number, _named(walk.graph, _floats(walk, feeds)), _named(program.schedule.graph, result.outputs)


def _runs(graph: Graph, samples: Samples, most: int) -> Iterator[list[tuple[int, Feeds]]]:
    """Samples and their numbers, those together that one run of the program is given: what it keeps lasts as long."""
    if samples.steps > 1:
        step = max(1, -(-samples.count // most)) if most else 1
        for number, calls in samples.sequences(0, step):
            yield [(number * samples.steps + at, feeds) for at, feeds in enumerate(calls)]
        return
    given = samples.every(0, max(1, -(-samples.count // most)) if most else 1)
    while part := list(islice(given, 1 if graph.states else TOGETHER)):
        yield part


def _floats(walk: Walk, feeds: Feeds) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return walk.outputs(feeds)


def _program(made: Graph) -> HostProgram:
    compiled = pipeline.compile_graph(made, "generic")
    schedule = compiled.schedule
    return HostProgram(schedule, compiled.files, Writer(schedule, symbol_prefix(schedule.graph.name)), None)


def _named(graph: Graph, outputs: Mapping[str, Array]) -> dict[str, Array]:
    return {name: outputs[tensor] for name, tensor in zip(graph.output_names, graph.outputs, strict=True)}
