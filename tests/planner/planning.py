"""From a model to its plan, and from a plan to its outputs by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from onnx import ModelProto

from tests.planner.networks import NETWORKS
from tests.support.checks import same
from tilewright import pipeline
from tilewright.ir.arrays import random_inputs
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule.interpret import interpret, interpret_epochs
from tilewright.planner.schedule.lower_tiles import lower_tiles
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.settings import Settings

TARGET = "siracusa"
QUICK = 1.0
"""Work that the solver may do: enough for small networks."""


@dataclass(frozen=True)
class Prepared:
    """An imported model, and what it means."""

    graph: Graph
    meaning: Graph

    def plan(self, settings: Settings) -> Plan:
        """As the pipeline makes it, and checks it."""
        made: Plan = pipeline.stage(self.graph, TARGET, "tiled", settings=settings)
        return made

    def check(self, settings: Settings, feeds: Mapping[str, Array], tolerance: float = 1e-5) -> Plan:
        """The plan, whose interpretation agrees with the meaning."""
        made = self.plan(settings)
        self.check_plan(made, feeds, tolerance)
        return made

    def check_plan(self, made: Plan, feeds: Mapping[str, Array], tolerance: float = 1e-5) -> None:
        wanted = evaluate(self.meaning, feeds)
        schedule = lower_tiles(made)
        epochs = unroll(schedule)
        for cores_first in (False, True):
            found = interpret_epochs(epochs, schedule, feeds, cores_first=cores_first)
            for reference, tensor in zip(self.meaning.outputs, made.mapped.graph.outputs, strict=True):
                same(found[tensor], wanted[reference], tolerance)

    def inputs(self, seed: int = 0) -> dict[str, Array]:
        return random_inputs({name: self.meaning.types[name] for name in self.meaning.inputs}, seed, {})


def interpreted(plan: Plan, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What the schedule of a plan computes."""
    return interpret(lower_tiles(plan), feeds)


def prepared(model: ModelProto) -> Prepared:
    graph = pipeline.import_model(model)
    return Prepared(graph, pipeline.stage(graph, TARGET, "quantised"))


@cache
def known(name: str) -> Prepared:
    """A network that several files plan."""
    return prepared(NETWORKS[name]())


@cache
def planned(name: str, settings: Settings) -> Plan:
    return known(name).plan(settings)
