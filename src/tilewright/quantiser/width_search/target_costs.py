"""What a quantised network costs on a target: cycles and bytes of constants, in all and layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright import pipeline, targets
from tilewright.ir.graph import Graph
from tilewright.planner.placed import Placed
from tilewright.records import dataclass
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
    tiled: Placed = pipeline.stage(graph, target, "tiled", settings=settings)
    made = tiled.mapped.graph
    used = {name for node in made.nodes for name in node.inputs if name in made.constants}
    sizes: dict[str, int] = {}
    for node in made.nodes:
        own = sum(made.types[name].bytes for name in set(node.inputs) & set(made.constants))
        sizes[node.name] = sizes.get(node.name, 0) + own
    cycles: dict[str, int] = {}
    names = {node.key: node.name for node in made.nodes}
    for key, predicted in tiled.layer_cycles.items():
        cycles[names[key]] = cycles.get(names[key], 0) + predicted
    return TargetCost(tiled.predicted, sum(made.types[name].bytes for name in used), cycles, sizes)
