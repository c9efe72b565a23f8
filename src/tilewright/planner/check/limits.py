"""A check that a schedule keeps within what the runtime and its kernels can do, without the planner's code."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilewright.errors import InternalError
from tilewright.planner.check.order import Done
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule

# ---- limits of the runtime ------------------------------------------------------------------------------------------


def check_slots(schedule: Schedule) -> None:
    """A runtime remembers what is in flight by the numbers of layers; this is how many it can tell apart."""
    done, agents = Done.of(schedule), schedule.target.agents
    for turn, later in done.prefetched:
        if later - turn >= agents.prefetch_slots:
            raise InternalError(schedule.layers[turn].node.where, f"layer {later} is prefetched {later - turn} ahead")
    for turn, layer in done.waited:
        if agents.runtime_waits and turn - layer > agents.offload_slots:
            raise InternalError(schedule.layers[layer].node.where, f"is in flight until layer {turn}")


# ---- limits of kernels ----------------------------------------------------------------------------------------------


def check_kernels(schedule: Schedule) -> None:
    for layer in schedule.layers:
        option = layer.option
        if layer.is_copied:
            continue
        kernel, grid, where = option.kernel, option.grid, option.node.where
        for cut in grid.cuts:
            if cut.loop in kernel.unsplit_loops:
                raise InternalError(
                    option.node.where, f"{kernel.stem} needs all of loop {cut.loop}, tiles have {cut.size}"
                )
            sizes = {cut.size, cut.extent - cut.size * (cut.count - 1)}
            if min(sizes) < kernel.min_tile.get(cut.loop, 1):
                raise InternalError(
                    option.node.where, f"{kernel.stem} needs {kernel.min_tile[cut.loop]} of loop {cut.loop}"
                )
            if cut.size % kernel.multiples.get(cut.loop, 1):
                raise InternalError(where, f"{kernel.stem} needs multiples of {kernel.multiples[cut.loop]}")
        for tile in _kinds_of_tiles(layer):
            op, types = grid.local_op(tile), grid.local_types(tile)
            if not kernel.takes(op, types):
                why = kernel.unsupported_reason(op, types) or "not of these types"
                raise InternalError(where, f"{kernel.stem} does not take tile {tile}: {why}")


def _kinds_of_tiles(layer: LayerSchedule) -> Iterator[dict[str, int]]:
    """Tiles at the edges of the grid and between them: those inside look alike."""
    cuts = layer.option.grid.cuts
    choices = [sorted({0, min(1, cut.count - 1), cut.count - 1}) for cut in cuts]
    for number in range(math.prod(map(len, choices))):
        tile: dict[str, int] = {}
        for cut, own in zip(cuts, choices, strict=True):
            number, at = divmod(number, len(own))
            tile[cut.loop] = own[at]
        yield tile
