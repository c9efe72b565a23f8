"""What layers take on a board, as its measured costs predict it: one call of a kernel each. Those of a computer are in
nanoseconds instead of cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilewright.ir.graph import Graph, Node
from tilewright.planner.arena.jobs import with_jobs
from tilewright.planner.arena.threads import parts_of_threads
from tilewright.planner.machine_bound import MachineBound, Way, Work
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid


def layer_cycles(mapped: Mapped, grids: Mapping[str, TileGrid]) -> dict[str, int]:
    """Of layers that are computed where their tensors lie, by the keys of their nodes; nothing where neither cycles nor
    time are counted of single layers, and 0 where no costs were measured. Of several threads, of the longest."""
    target = mapped.target
    if not target.runner.unit or not target.costs.kernels:
        return dict.fromkeys(grids, 0) if target.runner.unit else {}
    kernels = {key: mapped.choices[key].kernel for key in grids}
    if any(kernel.offloaded for kernel in kernels.values()):
        return with_jobs(mapped, grids)
    return {key: _of_threads(target, grid, kernels[key]) for key, grid in grids.items()}


def _of_threads(target: Target, grid: TileGrid, kernel: Kernel) -> int:
    parts = [_of_grid(target, part, kernel) for part in _parts(grid)]
    return max(sum(parts[part] for part in own) for own in parts_of_threads(len(parts), target.agents.threads))


def _parts(grid: TileGrid) -> Iterator[TileGrid]:
    for tile in map(grid.indices, range(grid.tiles)):
        yield TileGrid.of(grid.local_op(tile), grid.local_types(tile), grid.results)


def machine_bound(mapped: Mapped, nodes: Iterable[Node]) -> MachineBound:
    """Whatever engine takes a layer of those that could."""
    return Work(mapped.graph, {node.key: _ways(mapped, node) for node in nodes}, cores=1).bound()


def _ways(mapped: Mapped, node: Node) -> tuple[Way, ...]:
    names = {mapped.choice(node).engine.name, *(one.engine for one in mapped.estimates.get(node.key, ()))}
    return tuple(Way(engine, node) for engine in mapped.target.engines if engine.name in names)


def mapped_cycles(mapped: Mapped) -> int:
    """The sum, before anything is placed."""
    nodes = [node for node in mapped.graph.nodes if not node.op.view]
    return sum(_of_layer(mapped.target, mapped.graph, node, mapped.choice(node).kernel) for node in nodes)


def _of_layer(target: Target, graph: Graph, node: Node, kernel: Kernel) -> int:
    return _of_grid(target, TileGrid.of(node.op, graph.all_types(node), tuple(node.results())), kernel)


def _of_grid(target: Target, grid: TileGrid, kernel: Kernel) -> int:
    estimate = call_cycles(target.costs, kernel, grid.op, grid.types, work(grid, {}), 1)
    return round(estimate.submitting + estimate.cores + estimate.engine + target.costs.layer)
