"""A check of the tiles of a plan: they make every element once, and buffers hold what they touch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilewright.errors import InternalError
from tilewright.ir.types import BYTES
from tilewright.planner.check.buffers import distinct_params, scratch_needed
from tilewright.planner.check.plan_homes import accelerator_reaches
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.cluster.tiling_option import Operand
from tilewright.planner.home import CONSTANT, INPUT
from tilewright.planner.keys import PARAMS
from tilewright.tiling.tiles import TileGrid
from tilewright.tiling.windows import Window, window


def check_tiles(plan: Plan, step: Step) -> None:
    _check_scratch(plan, step)
    _check_params(plan, step)
    windows = list(_windows(step.option.grid))
    _check_cover(step, windows)
    for operand in step.option.operands:
        _check_operand(plan, step, operand, [spans[operand.name] for spans in windows])


def _windows(grid: TileGrid) -> Iterator[dict[str, Window]]:
    """What each tile touches, by the operator's own geometry."""
    for tile in range(grid.tiles):
        if not grid.cuts:
            yield {name: tuple(slice(0, size) for size in kind.shape) for name, kind in grid.types.items()}
            continue
        found = grid.op.footprint(grid.shapes, grid.box(grid.indices(tile)))
        yield {name: window(found[name], kind.shape) for name, kind in grid.types.items()}


def _check_cover(step: Step, windows: list[dict[str, Window]]) -> None:
    """Tiles make every element once: along each axis they are a partition, and each combination occurs once."""
    for name in step.option.grid.results:
        shape = step.option.grid.types[name].shape
        whole = [sorted({(w[name][axis].start, w[name][axis].stop) for w in windows}) for axis in range(len(shape))]
        for spans, size in zip(whole, shape, strict=True):
            ends = [0, *(stop for _, stop in spans)]
            if [start for start, _ in spans] != ends[:-1] or ends[-1] != size:
                raise InternalError(step.option.node.where, f"tiles of {name} leave gaps or overlap: {spans} of {size}")
        distinct = {tuple((span.start, span.stop) for span in spans[name]) for spans in windows}
        if not len(distinct) == len(windows) == math.prod(map(len, whole)):
            raise InternalError(step.option.node.where, f"{len(windows)} tiles make {len(distinct)} parts of {name}")


def _check_scratch(plan: Plan, step: Step) -> None:
    option, where = step.option, step.option.node.where
    workers = min(plan.budget.cores, option.grid.tiles) if option.mode == "per_core" else 1
    # Cores prepare or finish one tile while the accelerator works on the next.
    turns = 2 if option.kernel.offloaded and option.double else 1
    needed = scratch_needed(option.kernel, option.grid) * workers * turns
    if needed > option.scratch:
        raise InternalError(where, f"its tiles need {needed} bytes of working memory, there are {option.scratch}")


def _check_params(plan: Plan, step: Step) -> None:
    option = step.option
    if PARAMS not in step.offsets:
        return
    needed = plan.mapped.params_bytes(option.kernel) * distinct_params(option.kernel, option.grid)
    if needed > option.params:
        raise InternalError(option.node.where, f"its parameters take {needed} bytes, their buffer has {option.params}")


def _check_operand(plan: Plan, step: Step, operand: Operand, windows: list[Window]) -> None:
    option, where = step.option, step.option.node.where
    _check_spilled(plan, step, operand)
    if not operand.streamed:
        home = plan.homes[operand.tensor]
        if option.mode == "dma_copy":
            return
        if option.mode == "offload" and not accelerator_reaches(plan, step, operand):
            raise InternalError(where, f"the accelerator cannot reach {operand.name}, which is in {home}")
        if not all(is_dense(option.grid, operand.name, spans) for spans in windows):
            raise InternalError(where, f"a kernel works on {operand.name} where it lies, but not side by side")
        return
    largest = max(map(_elements, windows)) * BYTES[option.grid.types[operand.name].dtype]
    if largest > operand.bytes:
        raise InternalError(where, f"a tile of {operand.name} has {largest} bytes, its buffer {operand.bytes}")
    workers = min(plan.budget.cores, option.grid.tiles) if option.mode == "per_core" else 1
    moves = len({tuple((span.start, span.stop) for span in spans) for spans in windows}) > 1
    # What no tile changes may be one for all.
    needed = (2 if option.double else 1) * workers if moves else 1 if operand.is_ready else workers
    if operand.name in option.kernel.single_buffered and operand.period > 1 and option.mode == "offload":
        needed = 1
    if operand.buffers < needed:
        raise InternalError(where, f"{operand.buffers} buffers of {operand.name}, {needed} are needed")
    if operand.name not in step.offsets:
        raise InternalError(where, f"{operand.name} has no buffer")
    if operand.is_ready and plan.homes[operand.tensor].kind not in (CONSTANT, INPUT):
        raise InternalError(where, f"fetches {operand.name} before anyone has made it")


def _check_spilled(plan: Plan, step: Step, operand: Operand) -> None:
    """What lives behind the home comes and goes in parts, through buffers there."""
    where, spill = step.option.node.where, plan.memories.spill
    if operand.spilled != (spill is not None and plan.homes[operand.tensor].is_in(spill.name)):
        raise InternalError(where, f"expects {operand.name} elsewhere than {plan.homes[operand.tensor]}")
    if not operand.spilled:
        return
    if not operand.streamed:
        raise InternalError(where, f"works on {operand.name} where it lies, in {plan.homes[operand.tensor].memory}")
    if operand.name not in step.staging_offsets:
        raise InternalError(where, f"{operand.name} has no staging buffer in {plan.memories.home.name}")
    if step.option.mode == "per_core" and step.option.double:
        raise InternalError(where, f"per_core tiles have two buffers of {operand.name}, which is staged")


def is_dense(grid: TileGrid, name: str, spans: Window) -> bool:
    """Whether a window is a run of neighbouring elements: whole axes behind the first with more than one."""
    place = grid.inside.get(name)
    if place is not None and place.order and _elements(spans):
        return False
    shape = grid.types[name].shape if place is None else place.shape
    many = False
    for span, size in zip(spans, shape, strict=True) if _elements(spans) else ():
        if many and span.stop - span.start != size:
            return False
        many = many or span.stop - span.start > 1
    return True


def _elements(spans: Window) -> int:
    return math.prod(span.stop - span.start for span in spans)
