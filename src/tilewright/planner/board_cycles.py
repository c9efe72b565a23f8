"""What layers take on a board, as its measured costs predict it: one call of a kernel each."""

from __future__ import annotations

from tilewright.ir.graph import Graph, Node
from tilewright.planner.schedule import Schedule
from tilewright.target.cost_model import call_cycles, work
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.target.target import Target
from tilewright.tiling.tiles import TileGrid


def predicted_cycles(schedule: Schedule) -> dict[str, int]:
    """By the keys of nodes; nothing where no board counts cycles, and 0 where no costs were measured."""
    if schedule.target.board is None:
        return {}
    if not schedule.target.costs.kernels:
        return {call.node.key: 0 for call in schedule.calls}
    return {
        call.node.key: _of_layer(schedule.target, schedule.graph, call.node, call.kernel) for call in schedule.calls
    }


def mapped_cycles(mapped: Mapped) -> int:
    """The sum, before anything is placed."""
    nodes = [node for node in mapped.graph.nodes if not node.op.view]
    return sum(_of_layer(mapped.target, mapped.graph, node, mapped.choice(node).kernel) for node in nodes)


def _of_layer(target: Target, graph: Graph, node: Node, kernel: Kernel) -> int:
    types = graph.all_types(node)
    grid = TileGrid(node.op, types, tuple(node.results()))
    estimate = call_cycles(target.costs, kernel, node.op, types, work(grid, {}), 1)
    return round(estimate.submitting + estimate.cores + estimate.engine + target.costs.layer)
