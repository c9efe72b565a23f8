"""A check of what a schedule does at each size that its dimensions may have: its parameters, and that nothing is larger
than it was planned to be. Written without the planner's code."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tilewright.errors import InternalError
from tilewright.ir.at_sizes import at_sizes, is_sized, said, symbols_of
from tilewright.ir.graph import Graph
from tilewright.ir.length import Symbol, numbers_of, pinned_length, resolved
from tilewright.ir.op import Op, Params
from tilewright.ir.tried_sizes import all_tried_sizes, tried_sizes
from tilewright.ir.types import TensorType
from tilewright.planner.cluster.tile_params import Variants
from tilewright.planner.schedule.layer_schedule import LayerSchedule, TileParams
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.kernel import Kernel
from tilewright.tiling.dma_shapes import dma_shape
from tilewright.tiling.tiles import TileGrid


def check_sizes(schedule: Schedule) -> None:
    """Raises `InternalError` for the first layer that is called with other parameters than its kernel's at a size, or
    that is larger at a smaller size than at the bound."""
    graph, parts = schedule.graph, schedule.target.agents.threads
    symbols = symbols_of(graph)
    for kind in set(graph.types.values()):
        if any(resolved(kind, sizes).bytes > int(kind.bytes) for sizes in tried_sizes(symbols)):
            raise InternalError(f"tensors {kind}", "are larger at other sizes than at the largest")
    wanted, most = lru_cache(_wanted), lru_cache(_most_scratch)
    for layer in schedule.layers:
        types = tuple(graph.all_types(layer.node).items())
        if any(is_sized(kind) for _, kind in types):
            room = layer.scratch.bytes // (parts if layer.kernel.cooperative else 1) if layer.scratch else 0
            needed, sizes = most(layer.kernel, layer.node.op, types, symbols)
            if needed > room:
                raise InternalError(layer.node.where, f"with {said(sizes)} it needs {needed} bytes of {room}")
            for sizes, params in wanted(layer.kernel, layer.node.op, types, symbols):
                _check_call(layer, sizes, params)


def _most_scratch(
    kernel: Kernel, op: Op, types: tuple[tuple[str, TensorType], ...], symbols: tuple[Symbol, ...]
) -> tuple[int, dict[str, int]]:
    """The most bytes of working memory that a kernel says it needs, and at which size."""
    if kernel.scratch is None:
        return 0, {}
    tried = all_tried_sizes(symbols)
    found = [kernel.scratch_bytes(resolved(op, sizes), resolved(dict(types), sizes)) for sizes in tried]
    return max(found), tried[found.index(max(found))]


def _wanted(
    kernel: Kernel, op: Op, types: tuple[tuple[str, TensorType], ...], symbols: tuple[Symbol, ...]
) -> list[tuple[dict[str, int], Params]]:
    """The parameters that a kernel says its call has at each size."""
    found = []
    for sizes in tried_sizes(symbols):
        pinned = {symbol.name: pinned_length(symbol, sizes[symbol.name]) for symbol in symbols}
        found.append((sizes, numbers_of(kernel.params(resolved(op, pinned), resolved(dict(types), pinned)))))
    return found


def _check_call(layer: LayerSchedule, sizes: dict[str, int], wanted: Params) -> None:
    found = resolved(layer.params_of(0), sizes)
    wrong = [name for name, value in wanted.items() if found.get(name) != value]
    if wrong or found.keys() != wanted.keys():
        raise InternalError(layer.node.where, f"with {said(sizes)} it is called with another '{wrong[0]}'")


def at_bound(schedule: Schedule) -> Schedule:
    """The schedule of a program for the largest sizes alone."""
    graph = at_sizes(schedule.graph, {symbol.name: symbol.high for symbol in symbols_of(schedule.graph)})
    layers = tuple(_layer(graph, layer) for layer in schedule.layers)
    return replace(schedule, graph=graph, layers=layers)


def _layer(graph: Graph, layer: LayerSchedule) -> LayerSchedule:
    node = graph.producers[layer.node.key]
    grid = TileGrid.of(node.op, graph.all_types(node), tuple(node.results()))
    if layer.option.grid.cuts:
        grid = layer.option.grid
    arguments = tuple(
        replace(one, window=dma_shape(grid, one.operand.name)) if one.window is not None else one
        for one in layer.arguments
    )
    params = layer.tile_params
    if not grid.cuts:
        params = TileParams(Variants((), (layer.kernel.params(node.op, graph.all_types(node)),)))
    return replace(layer, option=replace(layer.option, node=node, grid=grid), arguments=arguments, tile_params=params)
