"""From a model to its plan, and from a plan to its outputs by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto

from tests.checks import same
from tilewright import pipeline
from tilewright.evaluate import evaluate
from tilewright.inputs import random_inputs
from tilewright.interpret import interpret_plan
from tilewright.ir import Graph
from tilewright.mapping import Mapped
from tilewright.plan import Plan, plan
from tilewright.target import Settings
from tilewright.types import Array
from tilewright.validate_plan import check_plan

TARGET = "siracusa"
QUICK = 1.0
"""Work that the solver may do: enough for small networks."""


@dataclass(frozen=True)
class Prepared:
    """A model up to where plans begin."""

    meaning: Graph
    mapped: Mapped

    def plan(self, settings: Settings) -> Plan:
        return check_plan(plan(self.mapped, settings))

    def check(self, settings: Settings, feeds: Mapping[str, Array], tolerance: float = 1e-5) -> Plan:
        """The plan, whose interpretation agrees with the meaning."""
        made = self.plan(settings)
        wanted, found = evaluate(self.meaning, feeds), interpret_plan(made, feeds)
        for reference, tensor in zip(self.meaning.outputs, self.mapped.graph.outputs, strict=True):
            same(found[tensor], wanted[reference], tolerance)
        return made

    def inputs(self, seed: int = 0) -> dict[str, Array]:
        return random_inputs({name: self.meaning.types[name] for name in self.meaning.inputs}, seed, {})


def prepared(model: ModelProto) -> Prepared:
    graph = pipeline.import_model(model)
    _, meaning, _, mapped = (pipeline.stage(graph, TARGET, stage) for stage in pipeline.STAGES[:4])
    return Prepared(meaning, mapped)
