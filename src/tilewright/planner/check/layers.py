"""A check of what a cluster's schedule says of its layers, before it is followed tile by tile: that its parts belong
together, so that generated C is what `unroll.py` says it is. Written without the planner's code."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.planner.check.homes import check_homes
from tilewright.planner.check.order import check_order
from tilewright.planner.cluster.tiling_option import Operand
from tilewright.planner.home import ARENA, CONSTANT, Home
from tilewright.planner.schedule.layer_schedule import Argument, LayerSchedule, Move, When
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.target import Target


def check_layers(schedule: Schedule) -> None:
    """Raises `InternalError` for the first layer whose parts do not belong together."""
    check_homes(schedule)
    for layer in schedule.layers:
        _check_engine(layer, schedule.target)
        _check_grid(layer, schedule.graph)
        _check_mode(layer, schedule.target.agents.prefetch_slots > 0)
        _check_arguments(layer)
        _check_homes(schedule, layer)
        _check_moves(layer)
        _check_staged(schedule, layer)
    check_order(schedule)


# ---- modes ----------------------------------------------------------------------------------------------------------


def _check_engine(layer: LayerSchedule, target: Target) -> None:
    """Which accelerator has a job decides what is in order."""
    kernels = [kernel for engine in target.engines if engine.name == layer.option.engine for kernel in engine.kernels]
    if layer.option.kernel.stem not in {kernel.stem for kernel in kernels}:
        raise InternalError(_where(layer), f"{layer.option.engine} has no kernel {layer.option.kernel.stem}")
    if not layer.is_copied and not isinstance(layer.node.op, layer.kernel.op):
        raise InternalError(_where(layer), f"is not what {layer.kernel.stem} computes")


def _check_grid(layer: LayerSchedule, graph: Graph) -> None:
    """Its tiles are those of its node."""
    node, grid = layer.option.node, layer.option.grid
    if graph.producers.get(node.key) != node:
        raise InternalError(_where(layer), "is not a node of the graph")
    if grid.op != node.op or grid.types != graph.all_types(node):
        raise InternalError(_where(layer), f"is cut as {type(grid.op).__name__} of {dict(grid.types)}")


def _check_mode(layer: LayerSchedule, prefetches: bool) -> None:
    option, kernel = layer.option, layer.option.kernel
    allowed = {
        "dma_copy": True,
        "in_place": True,
        "per_core": not kernel.cooperative,
        "cooperative": kernel.cooperative,
    }
    if not (allowed | {"offload": kernel.offloaded}).get(option.mode, False):
        raise InternalError(_where(layer), f"runs as {option.mode}, which {kernel.stem} does not")
    if option.mode == "in_place" and not kernel.cooperative and layer.tiles > 1:
        raise InternalError(_where(layer), f"has {layer.tiles} tiles for one core")
    if layer.buffers != 1 + option.double:
        raise InternalError(
            _where(layer), f"has {layer.buffers} buffers, but is {'' if option.double else 'not '}double buffered"
        )
    if (layer.prefetch is None) != (option.mode == "in_place" or not prefetches):
        raise InternalError(_where(layer), "has something to prefetch where nothing is copied, or nothing where it is")
    if layer.prefetch is not None and bool(layer.prefetch.copies) != layer.is_copied:
        raise InternalError(_where(layer), "is copied by DMA and computed, or neither")
    _check_offload(layer)


def _check_offload(layer: LayerSchedule) -> None:
    """What is left to an accelerator, and what has a single buffer while all else has two."""
    kernel, held = layer.option.kernel, {operand.name for operand in layer.option.single_buffered}
    if held and not (layer.is_queued and len(held) == 1 and held <= kernel.single_buffered):
        raise InternalError(_where(layer), f"has one buffer of {sorted(held)}, and two of all else")
    if layer.option.mode == "offload" and layer.is_queued and (kernel.has_prologue or kernel.has_epilogue):
        raise InternalError(_where(layer), "is queued, and cores take part in it")


# ---- operands and results -------------------------------------------------------------------------------------------


def _check_arguments(layer: LayerSchedule) -> None:
    """They are those of the node, and have buffers where they are copied."""
    node = layer.option.node
    wanted = [(name, tensor, False) for name, tensor in node.operands().items()]
    wanted += [(name, tensor, True) for name, tensor in node.results().items()]
    found = [(a.operand.name, a.operand.tensor, a.operand.is_result) for a in layer.arguments]
    if sorted(found) != sorted(wanted):
        raise InternalError(_where(layer), f"has the arguments {found}, its node {wanted}")
    if tuple(argument.operand for argument in layer.arguments) != layer.option.operands:
        raise InternalError(_where(layer), "has other operands than its option, or in another order")
    for argument in layer.arguments:
        if (argument.buffer is not None) != argument.operand.streamed:
            raise InternalError(
                _where(layer), f"{argument.operand.name} has a buffer and is not copied, or the other way round"
            )


def _check_homes(schedule: Schedule, layer: LayerSchedule) -> None:
    """An argument is looked for where its tensor lives, or where the constant that it is of is staged."""
    staged = {one.constant: one.offset for one in layer.staged}
    for argument in layer.arguments:
        home = schedule.homes[argument.operand.tensor]
        if home.owner in staged and home.kind == CONSTANT:
            home = Home(ARENA, home.owner, schedule.target.paths.home.name, staged[home.owner])
        if argument.home != home:
            raise InternalError(_where(layer), f"looks for {argument.operand.name} in {argument.home}, not in {home}")


def _check_moves(layer: LayerSchedule) -> None:
    """What is copied is an argument, in its buffer; results are stored, operands loaded, prefetched or both."""
    fetched = layer.prefetch.moves if layer.prefetch is not None else ()
    for move in (*layer.loads, *layer.stores, *fetched):
        if Argument(move.operand, move.home, move.buffer, None) not in layer.arguments:
            raise InternalError(_where(layer), f"moves {move.operand.name}, which is no argument or elsewhere")
    streamed = [operand for operand in layer.option.operands if operand.streamed]
    results = sorted((one for one in streamed if one.is_result), key=lambda operand: operand.spilled)
    _check_same(layer, "stores", layer.stores, results)
    once = [move.operand for move in fetched]
    again = [o for o in streamed if not o.is_result and (o not in once or o.period)]
    _check_same(layer, "loads", layer.loads, again)
    _check_same(layer, "prefetches", fetched, [o for o in streamed if o in once and not o.is_result])
    for move in (*layer.loads, *layer.stores):
        if move.when != _due(layer, move.operand, move.operand in once):
            raise InternalError(_where(layer), f"moves {move.operand.name} {move.when}")
        if (move.staging is not None) != move.operand.spilled:
            raise InternalError(_where(layer), f"moves {move.operand.name} through L2 or not, as it should not")
    if any(move.staging is not None for move in fetched):
        raise InternalError(_where(layer), "prefetches by way of L2")


def _check_same(layer: LayerSchedule, what: str, moves: Sequence[Move], wanted: Sequence[Operand]) -> None:
    if [move.operand for move in moves] != list(wanted):
        found, names = [move.operand.name for move in moves], [operand.name for operand in wanted]
        raise InternalError(_where(layer), f"{what} {found}, not {names}")


def _due(layer: LayerSchedule, operand: Operand, prefetched: bool) -> When:
    """Results in every tile, operands whenever another part of them is needed."""
    if operand.is_result:
        return When()
    if layer.is_per_core:
        return When(operand.period, per_core=True)
    return When(operand.period, not_first=prefetched)


def _check_staged(schedule: Schedule, layer: LayerSchedule) -> None:
    """The constants from behind the home that a layer reads, whole, each by the links that lead to the home."""
    homes = [schedule.homes[argument.operand.tensor] for argument in layer.arguments]
    graph, paths = schedule.graph, schedule.target.paths
    behind = [memory.name for memory in paths.behind]
    wanted = dict.fromkeys(home.owner for home in homes if home.kind == CONSTANT and home.memory in behind)
    if sorted(one.constant for one in layer.staged) != sorted(wanted):
        raise InternalError(_where(layer), f"stages {[one.constant for one in layer.staged]}, reads {list(wanted)}")
    for one in layer.staged:
        if one.bytes != graph.types[one.constant].bytes:
            raise InternalError(
                _where(layer), f"stages {one.bytes} of {graph.types[one.constant].bytes} bytes of {one.constant}"
            )
        if one.offset % paths.home.alignment:
            raise InternalError(_where(layer), f"stages {one.constant} at {one.offset}, which is not aligned")
        home = schedule.homes[one.constant].memory
        way = [link.inner for link in paths.staging(home)[:-1]]
        if (one.memory, [memory for memory, _ in one.passes]) != (home, way):
            raise InternalError(
                _where(layer), f"stages {one.constant} from {one.memory} by {one.passes}, not {home} by {way}"
            )


def _where(layer: LayerSchedule) -> str:
    return layer.option.node.where
