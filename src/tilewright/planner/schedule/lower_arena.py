"""From places in one arena to the schedule of layers that work there: nothing is moved, and but for those that several
threads compute, layers have one tile."""

from __future__ import annotations

from tilewright.ir.at_sizes import is_sized
from tilewright.ir.graph import Node
from tilewright.planner.arena.allocation import Allocation, part_with, scratch_of_all
from tilewright.planner.cluster.tile_params import Variants, most_scratch, variants
from tilewright.planner.cluster.tiling_option import Operand, Tiling
from tilewright.planner.home import CONSTANT, INPUT
from tilewright.planner.schedule.build_program import build_arena_program
from tilewright.planner.schedule.in_flight import waits
from tilewright.planner.schedule.layer_schedule import Argument, LayerSchedule, Slots, TileParams
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.sizes import sized_params
from tilewright.tiling.dma_shapes import dma_shape


def lower_arena(allocation: Allocation) -> Schedule:
    graph, target = allocation.mapped.graph, allocation.mapped.target
    computed = [graph.producers[key] for key in allocation.layers]
    layers = tuple(_layer(allocation, number, node) for number, node in enumerate(computed))
    arenas = {part.memory: part.bytes for part in allocation.parts}
    program = build_arena_program(layers, waits(layers), allocation.cores)
    return Schedule(
        graph, target, allocation, allocation.cores, allocation.stacks, layers, arenas, allocation.homes, program,
        allocation.arena_bytes, allocation.solution.lower_bound, allocation.state_bytes,
    )  # fmt: skip


def _layer(allocation: Allocation, number: int, node: Node) -> LayerSchedule:
    option = _tiling(allocation, node)
    arguments = tuple(
        Argument(one, allocation.homes[one.tensor], None, dma_shape(option.grid, one.name)) for one in option.operands
    )
    params = TileParams(_params(allocation, option))
    return LayerSchedule(number, option, 1, arguments, params, None, _scratch(allocation, option), None)


def _params(allocation: Allocation, option: Tiling) -> Variants:
    """Of each part; of a layer whose sizes a caller says, with lengths."""
    graph, node = allocation.mapped.graph, option.node
    if not any(map(is_sized, graph.all_types(node).values())):
        return variants(option.kernel, option.grid)
    return Variants((), (sized_params(graph, option.kernel, node),))


def _tiling(allocation: Allocation, node: Node) -> Tiling:
    mapped = allocation.mapped
    choice, results = mapped.choice(node), node.results()
    grid = allocation.layers[node.key]
    mode = "offload" if choice.kernel.offloaded else "per_core" if grid.cuts else "in_place"
    homes = {name: allocation.homes[tensor].kind for name, tensor in (node.operands() | results).items()}
    operands = tuple(
        Operand(
            name, tensor, name in results, homes[name] == CONSTANT, homes[name] in (CONSTANT, INPUT), False, 0, 0, 0
        )
        for name, tensor in (node.operands() | results).items()
    )
    return Tiling(node, choice.kernel, choice.engine.name, grid, mode, False, operands)


def _scratch(allocation: Allocation, option: Tiling) -> Slots | None:
    """Of every thread that computes parts, its own."""
    start = allocation.scratch.get(option.node.key)
    if start is None:
        return None
    part = part_with(allocation.parts, start)
    if option.grid.cuts:
        size = allocation.mapped.target.memories[0].whole(most_scratch(option.kernel, option.grid))
    else:
        size = scratch_of_all(allocation.mapped, option.node)
    return Slots(part.memory, start - part.start, size, cores=min(option.grid.tiles, allocation.cores))
