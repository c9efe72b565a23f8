"""A check of the bytes that one call touches: results and working memory lie apart from each other and from what is
read, but for results in the place of operands. Written without the planner's code."""

from __future__ import annotations

from tilewright.errors import InternalError
from tilewright.planner.check.event_regions import overlap, place
from tilewright.planner.schedule.events import Region, TileCall
from tilewright.planner.schedule.layer_schedule import LayerSchedule


def check_apart(call: TileCall, layer: LayerSchedule, where: str) -> None:
    for number, one in enumerate(call.writes):
        if any(_meet(one, other) for other in call.writes[:number]):
            raise InternalError(where, f"writes {place(one)} twice")
        for read in call.reads:
            if _meet(one, read) and not _may_meet(one, read, layer):
                raise InternalError(where, f"writes {place(one)} where it reads {read.tensor}")


def _meet(one: Region, other: Region) -> bool:
    return one.memory == other.memory and overlap(one, other)


def _may_meet(written: Region, read: Region, layer: LayerSchedule) -> bool:
    """A result is in the place of an operand where operator or kernel allow it, and then of all of it; an accelerator
    may leave its working memory where it began with it."""
    if (written.start, written.stop, written.role) != (read.start, read.stop, read.role):
        return False
    return bool(written.role) or _is_in_place(layer, written, read)


def _is_in_place(layer: LayerSchedule, written: Region, read: Region) -> bool:
    operands, results = layer.node.operands().items(), layer.node.results().items()
    return any(
        _may_replace(layer, result, operand)
        for result, made in results
        for operand, tensor in operands
        if (made, tensor) == (written.tensor, read.tensor)
    )


def _may_replace(layer: LayerSchedule, result: str, operand: str) -> bool:
    grid, op = layer.option.grid, layer.option.grid.op
    read, made = grid.types[operand], grid.types[result]
    if op.elementwise:  # as many elements are in the same order, whatever axes of one element there are
        return (read.dtype, read.elements) == (made.dtype, made.elements)
    allowed = operand == op.overwrites.get(result) or operand in layer.kernel.in_place(op, grid.types)
    return read == made and allowed
