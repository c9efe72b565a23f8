"""What layers take on a board, as its measured costs predict it: one call of a kernel each. Those of a computer are in
nanoseconds instead of cycles."""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.planner.machine_bound import MachineBound, Way, Work
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.tile_schedule import LayerSchedule
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid


def predicted_cycles(schedule: Schedule) -> dict[str, int]:
    """By the keys of nodes; nothing where neither cycles nor time are counted of single layers, or where a plan has
    them, and 0 where no costs were measured."""
    if not schedule.target.runner.unit or schedule.plan is not None:
        return {}
    if not schedule.target.costs.kernels:
        return {call.node.key: 0 for call in schedule.layers}
    return {call.node.key: _of_call(schedule, call) for call in schedule.layers}


def machine_bound(schedule: Schedule) -> MachineBound:
    """Without a planner that weighs engines: of those that layers are for."""
    if schedule.plan is not None:
        return schedule.plan.least
    engines = {engine.name: engine for engine in schedule.target.engines}
    ways = {call.node.key: (Way(engines[call.engine], call.node),) for call in schedule.layers}
    return Work(schedule.graph, ways, cores=1).bound()


def _of_call(schedule: Schedule, call: LayerSchedule) -> int:
    """Where several threads compute it, of the one that has most."""
    grid = call.option.grid
    tiles = map(grid.indices, range(grid.tiles))
    parts = [TileGrid.of(grid.local_op(tile), grid.local_types(tile), grid.results) for tile in tiles]
    return max(_of_grid(schedule.target, part, call.kernel) for part in parts)


def mapped_cycles(mapped: Mapped) -> int:
    """The sum, before anything is placed."""
    nodes = [node for node in mapped.graph.nodes if not node.op.view]
    return sum(_of_layer(mapped.target, mapped.graph, node, mapped.choice(node).kernel) for node in nodes)


def _of_layer(target: Target, graph: Graph, node: Node, kernel: Kernel) -> int:
    return _of_grid(target, TileGrid.of(node.op, graph.all_types(node), tuple(node.results())), kernel)


def _of_grid(target: Target, grid: TileGrid, kernel: Kernel) -> int:
    estimate = call_cycles(target.costs, kernel, grid.op, grid.types, work(grid, {}), 1)
    return round(estimate.submitting + estimate.cores + estimate.engine + target.costs.layer)
