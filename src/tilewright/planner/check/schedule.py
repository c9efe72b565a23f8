"""A check of a schedule without the planner's code: its parts, its limits, and the events that follow."""

from __future__ import annotations

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.planner.check.buffers import check_buffers
from tilewright.planner.check.events import check_events
from tilewright.planner.check.layers import check_layers
from tilewright.planner.check.limits import check_kernels, check_slots
from tilewright.planner.check.program import check_program
from tilewright.planner.check.windows import check_windows
from tilewright.planner.program.program import Program, Submit, all_events
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.tile_schedule import ClusterSchedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.target import Target


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or `InternalError` if it could go wrong."""
    _check_settings(schedule, schedule.tiles)
    check_tiles(schedule.tiles, schedule.graph, schedule.target)
    return schedule


def check_tiles(schedule: ClusterSchedule, graph: Graph, target: Target) -> None:
    """Its parts first: what follows from them tile by tile can be looked at only where they belong together."""
    check_program(schedule, target)
    check_layers(schedule, graph, target)
    check_kernels(schedule)
    check_buffers(schedule, graph, target)
    check_slots(schedule, target)
    check_windows(schedule, target)
    check_events(unroll(schedule, graph, target.paths), schedule, graph, target)
    if _is_dynamic(schedule.program):
        check_events(unroll(schedule, graph, target.paths, early=True), schedule, graph, target)


def _is_dynamic(program: Program) -> bool:
    """Whether something may happen sooner or later."""
    bodies = (body for own in program.agents.values() for body in own)
    return any(isinstance(event, Submit) and event.meanwhile for body in bodies for event in all_events(body.events))


def _check_settings(schedule: Schedule, tiles: ClusterSchedule) -> None:
    """It is for the cores and with the stacks that were decided on."""
    placed = schedule.placed
    if (tiles.cores, tiles.stacks) != (placed.cores, placed.stacks):
        raise InternalError("schedule", f"is for {tiles.cores} cores with {tiles.stacks}, planned for {placed.cores}")
