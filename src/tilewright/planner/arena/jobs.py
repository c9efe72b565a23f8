"""What layers take where one core gives jobs to accelerators and computes others meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.ir.graph import Node
from tilewright.passes.aliasing import view_owners
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.kernel import CycleEstimate
from tilewright.target.mapping import Mapped
from tilewright.tiling.tiles import TileGrid


def with_jobs(mapped: Mapped, grids: Mapping[str, TileGrid]) -> dict[str, int]:
    """By the keys of nodes, in their order; of a job what the core does for it, and how long it waits for its end."""
    found = _Timeline(mapped, view_owners(mapped.graph))
    for key, grid in grids.items():
        found.compute(mapped.graph.producers[key], grid)
    found.finish(dict(found.under_way))
    return {key: round(found.cycles[key]) for key in grids}


@dataclass
class _Timeline:
    mapped: Mapped
    owners: Mapping[str, str]
    now: float = 0.0
    under_way: dict[str, float] = field(default_factory=dict)
    """Jobs, and when they end."""
    behind: dict[str, float] = field(default_factory=dict)
    """What the core does when one has ended."""
    cycles: dict[str, float] = field(default_factory=dict)

    def compute(self, node: Node, grid: TileGrid) -> None:
        choice, costs = self.mapped.choice(node), self.mapped.target.costs
        taken = call_cycles(costs, choice.kernel, grid.op, grid.types, work(grid, {}), 1)
        self.finish(dict(self._needed(node)))
        if choice.kernel.offloaded:
            self._begin(node, taken, costs.layer)
        else:
            self._pass(node.key, taken.submitting + taken.cores + taken.engine + costs.layer)

    def finish(self, jobs: Mapping[str, float]) -> None:
        for key, end in jobs.items():
            del self.under_way[key]
            self._pass(key, max(0.0, end - self.now) + self.behind[key])

    def _begin(self, node: Node, taken: CycleEstimate, layer: float) -> None:
        self._pass(node.key, taken.submitting + layer)
        self.under_way[node.key], self.behind[node.key] = self.now + taken.engine, taken.cores

    def _pass(self, key: str, cycles: float) -> None:
        self.now += cycles
        self.cycles[key] = self.cycles.get(key, 0.0) + cycles

    def _needed(self, node: Node) -> Iterator[tuple[str, float]]:
        """Jobs of the same accelerator, which has one at a time, and those whose results a node reads."""
        reads, choice = {self.owners[name] for name in node.inputs if name}, self.mapped.choice(node)
        for key, end in self.under_way.items():
            before = self.mapped.graph.producers[key]
            is_read = any(self.owners[name] in reads for name in before.outputs if name)
            engine = self.mapped.choice(before).engine
            if is_read or (choice.kernel.offloaded and engine is choice.engine and not choice.kernel.has_several):
                yield key, end
