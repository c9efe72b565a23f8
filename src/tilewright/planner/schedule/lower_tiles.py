"""From a plan to the schedule of its tiles. Everything that is decided about the order of transfers, calls and waits is
decided here."""

from __future__ import annotations

from dataclasses import replace

from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.cluster.tile_params import variants
from tilewright.planner.cluster.tiling_option import Operand, TilingOption
from tilewright.planner.home import ARENA, Home
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.planner.schedule.build_program import build_program
from tilewright.planner.schedule.event_pieces import Turn
from tilewright.planner.schedule.layer_schedule import (
    DMA_IN,
    DMA_IN_ROWS,
    DMA_IN_STRIDED,
    DMA_OUT,
    DMA_OUT_ROWS,
    STAGED_LOAD,
    STAGED_STORE,
    Argument,
    LayerSchedule,
    Move,
    Prefetch,
    Slots,
    Staged,
    TileParams,
    When,
)
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.memory import Link
from tilewright.tiling.dma_shapes import DmaShape, dma_shape


def lower_tiles(plan: Plan) -> Schedule:
    layers = tuple(_layer(plan, number, step) for number, step in enumerate(plan.steps))
    turns = [_turn(plan, number, step) for number, step in enumerate(plan.steps)]
    last = Turn(tuple(plan.waited_before(len(plan.steps))))
    arenas = {name: arena.peak for name, arena in plan.arenas.items()}
    graph, target, home = plan.mapped.graph, plan.mapped.target, plan.home_arena
    program = build_program(layers, [*turns, last], target.agents.transfers)
    kept = sum(rounded(graph.types[state.before].bytes, plan.memories.home.alignment) for state in graph.states)
    return Schedule(
        graph, target, plan, plan.cores, plan.stacks, layers, arenas, plan.homes, program, home.peak,
        home.solution.lower_bound, kept,
    )  # fmt: skip


def _layer(plan: Plan, number: int, step: Step) -> LayerSchedule:
    option = step.option
    loads = tuple(_move(plan, step, o) for o in option.operands if _is_loaded(option, o))
    # A group of transfers ends where a result goes on to L3.
    results = sorted((o for o in option.operands if o.streamed and o.is_result), key=lambda operand: operand.spilled)
    stores = tuple(_move(plan, step, operand) for operand in results)
    return LayerSchedule(
        number, option, 2 if option.double else 1,
        tuple(_argument(plan, step, operand) for operand in option.operands),
        _tile_params(plan, option), _params(plan, step), _scratch(plan, step),
        _prefetch(plan, step), loads, stores,
        tuple(
            Staged(name, plan.homes[name].memory, plan.mapped.graph.types[name].bytes, offset, step.passes[name])
            for name, offset in step.staged.items()
        ),
    )  # fmt: skip


def _turn(plan: Plan, number: int, step: Step) -> Turn:
    following = plan.steps[number + 1] if number + 1 < len(plan.steps) else None
    stages_next = following is not None and bool(following.staged) and following.staged_ahead > 0
    return Turn(
        tuple(plan.waited_before(number)), bool(step.staged) and (number == 0 or not step.staged_ahead),
        number + 1 if stages_next else None, step.option.mode != "in_place" and not step.prefetch_distance,
        tuple(plan.fetched_during(number)), step.in_flight > 0, _is_dma_bound(step.option, plan.memories.tile_link),
    )  # fmt: skip


def _is_dma_bound(option: TilingOption, dma: Link) -> bool:
    """Whether an accelerator waits for the transfers of its tiles, which nothing but itself may then put off."""
    kernel = option.kernel
    if option.mode != "offload" or kernel.in_order or not option.double or any(o.spilled for o in option.operands):
        return False
    if kernel.has_prologue or kernel.has_epilogue:
        return False
    tiles = option.grid.tiles
    moved = sum(o.bytes * tiles / o.period for o in option.operands if o.streamed and not o.is_result and o.period)
    return moved * dma.read > option.engine_cycles


# ---- transfers ------------------------------------------------------------------------------------------------------


def _is_per_core(option: TilingOption, operand: Operand) -> bool:
    """Whether each core has buffers of its own for it."""
    return option.mode == "per_core" and (operand.period > 0 or not operand.is_ready)


def _is_prefetched(option: TilingOption, operand: Operand) -> bool:
    return operand.streamed and operand.is_ready and not operand.is_result and not _is_per_core(option, operand)


def _is_loaded(option: TilingOption, operand: Operand) -> bool:
    """Whether tiles load it, beyond what was prefetched."""
    if operand.is_result or not operand.streamed:
        return False
    return operand.period > 0 or not _is_prefetched(option, operand)


def _move(plan: Plan, step: Step, operand: Operand) -> Move:
    home, staging = _source(plan, step, operand), None
    if operand.spilled:
        offset, memory = step.staging_offsets[operand.name], plan.memories.home.name
        staging = replace(_slots(plan, step, operand), memory=memory, offset=offset)
    shape = dma_shape(step.option.grid, operand.name, _is_limited(step.option, operand))
    slots = _slots(plan, step, operand)
    return Move(operand, home, slots, _when(step.option, operand), _command(operand, shape), shape, staging)


def _is_limited(option: TilingOption, operand: Operand) -> bool:
    """Whether no more is moved than the operator looks at: how much that is must be known by then."""
    limit = option.grid.op.limits(option.grid.shapes).get(operand.name)
    if limit is None or operand.spilled:
        return False
    told = next(other for other in option.operands if other.name == limit.operand)
    return told.is_ready or not _is_prefetched(option, operand)


def _command(operand: Operand, shape: DmaShape) -> str:
    if operand.spilled:
        return STAGED_STORE if operand.is_result else STAGED_LOAD
    run, rows = (DMA_OUT, DMA_OUT_ROWS) if operand.is_result else (DMA_IN, DMA_IN_ROWS)
    return rows if shape.strided else run


def _copy_command(plan: Plan, option: TilingOption) -> str:
    """Of a layer that is nothing but a transfer, from or to L1: what is there may have gaps too."""
    inward = plan.homes[option.node.key].is_in(plan.memories.tiles.name)
    if dma_shape(option.grid, "X").strided:
        return DMA_IN_ROWS
    run, rows = (DMA_IN, DMA_IN_STRIDED) if inward else (DMA_OUT, DMA_OUT_ROWS)
    return rows if dma_shape(option.grid, "Y").strided else run


def _when(option: TilingOption, operand: Operand) -> When:
    if operand.is_result:
        return When()
    if _is_per_core(option, operand):
        return When(operand.period, per_core=True)
    return When(operand.period, not_first=_is_prefetched(option, operand))


def _slots(plan: Plan, step: Step, operand: Operand) -> Slots:
    memory, option = plan.memories.tiles, step.option
    size = -(-operand.bytes // memory.alignment) * memory.alignment
    offset = step.offsets[operand.name]
    if _is_per_core(option, operand):
        turns = 2 if option.double and operand.period else 1
        return Slots(memory.name, offset, size, turns, 1, operand.buffers // turns)
    return (
        Slots(memory.name, offset, size, 2, operand.period) if operand.buffers > 1 else Slots(memory.name, offset, size)
    )


def _source(plan: Plan, step: Step, operand: Operand) -> Home:
    """Where a layer finds a tensor: constants of L3 are staged in L2."""
    home = plan.homes[operand.tensor]
    offset = step.staged.get(home.owner)
    return home if offset is None else Home(ARENA, home.owner, plan.memories.home.name, offset)


# ---- calls ----------------------------------------------------------------------------------------------------------


def _argument(plan: Plan, step: Step, operand: Operand) -> Argument:
    buffer = _slots(plan, step, operand) if operand.streamed else None
    window = None if buffer else dma_shape(step.option.grid, operand.name)
    return Argument(operand, _source(plan, step, operand), buffer, window)


def _tile_params(plan: Plan, option: TilingOption) -> TileParams | None:
    if option.mode == "dma_copy":
        return None
    return TileParams(variants(option.kernel, option.grid), plan.mapped.params_bytes(option.kernel))


def _params(plan: Plan, step: Step) -> Slots | None:
    if PARAMS not in step.offsets:
        return None
    return Slots(plan.memories.tiles.name, step.offsets[PARAMS], step.option.params)


def _scratch(plan: Plan, step: Step) -> Slots | None:
    option = step.option
    if step.home_scratch is not None:
        return Slots(plan.memories.home.name, step.home_scratch, option.scratch)
    if SCRATCH not in step.offsets:
        return None
    memory, offset = plan.memories.tiles.name, step.offsets[SCRATCH]
    workers = min(plan.budget.cores, option.grid.tiles) if option.mode == "per_core" else 1
    if workers > 1:
        return Slots(memory, offset, option.scratch // workers, cores=workers)
    if option.kernel.offloaded and option.double:
        return Slots(memory, offset, option.scratch // 2, turns=2)
    return Slots(memory, offset, option.scratch)


def _prefetch(plan: Plan, step: Step) -> Prefetch | None:
    option = step.option
    if option.mode == "in_place":
        return None
    if option.mode == "dma_copy":
        return Prefetch(copies=_copy_command(plan, option))
    fetched = tuple(_move(plan, step, operand) for operand in option.operands if _is_prefetched(option, operand))
    return Prefetch(fetched)
