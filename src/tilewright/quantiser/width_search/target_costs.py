"""What a quantised network costs on a target: cycles and bytes of constants, in all and layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright import pipeline, targets
from tilewright.ir.graph import Graph
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.board.cycles import predicted_cycles
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.schedule.schedule import make_schedule
from tilewright.target.settings import Settings, has_option


@dataclass(frozen=True)
class TargetCost:
    cycles: int
    """Predicted; 0 on a target without a cost model."""
    bytes: int
    layer_cycles: Mapping[str, int]
    """By the names of layers."""
    layer_bytes: Mapping[str, int]

    def of(self, unit: str) -> int:
        return self.cycles if unit == "cycles" else self.bytes

    def of_layer(self, unit: str, name: str) -> int:
        return (self.layer_cycles if unit == "cycles" else self.layer_bytes).get(name, 0)


def cost_on(graph: Graph, target: str, settings: Settings) -> TargetCost:
    """With weights packed, also where a target does that only if it is asked to."""
    if has_option(targets.find(target), "packed_weights"):
        settings = replace(settings, packed_weights=True)
    tiled: Allocation | Plan = pipeline.stage(graph, target, "tiled", settings=settings)
    made = tiled.mapped.graph
    used = {name for node in made.nodes for name in node.inputs if name in made.constants}
    sizes: dict[str, int] = {}
    for node in made.nodes:
        own = sum(made.types[name].bytes for name in set(node.inputs) & set(made.constants))
        sizes[node.name] = sizes.get(node.name, 0) + own
    cycles: dict[str, int] = {}
    for name, predicted in _predicted(tiled):
        cycles[name] = cycles.get(name, 0) + predicted
    total = tiled.predicted if isinstance(tiled, Plan) else sum(cycles.values())
    return TargetCost(total, sum(made.types[name].bytes for name in used), cycles, sizes)


def _predicted(tiled: Allocation | Plan) -> list[tuple[str, int]]:
    """Names of layers with their cycles, where costs are known: on a cluster or a board."""
    if isinstance(tiled, Plan):
        return [(step.option.node.name, step.predicted) for step in tiled.steps]
    found = predicted_cycles(make_schedule(tiled))
    return [(node.name, found[node.key]) for node in tiled.mapped.graph.nodes if node.key in found]
