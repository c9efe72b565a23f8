"""A check of a schedule without the planner's code: its parts, its limits, and the events that follow."""

from __future__ import annotations

from tilewright.errors import InternalError
from tilewright.planner.check.buffers import check_buffers
from tilewright.planner.check.control_flow import check_control_flow
from tilewright.planner.check.events import check_events
from tilewright.planner.check.layers import check_layers
from tilewright.planner.check.limits import check_kernels, check_slots
from tilewright.planner.check.program import check_program
from tilewright.planner.check.windows import check_windows
from tilewright.planner.program.program import Program, Submit, all_events
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or `InternalError` if it could go wrong."""
    _check_settings(schedule)
    # What follows from its parts tile by tile can be looked at only where they belong together.
    for check in (check_program, check_layers, check_kernels, check_buffers, check_slots, check_windows):
        check(schedule)
    check_events(unroll(schedule), schedule)
    check_control_flow(schedule)
    if _is_dynamic(schedule.program):
        check_events(unroll(schedule, early=True), schedule)
    return schedule


def _is_dynamic(program: Program) -> bool:
    """Whether something may happen sooner or later."""
    bodies = (body for own in program.agents.values() for body in own)
    return any(isinstance(event, Submit) and event.meanwhile for body in bodies for event in all_events(body.events))


def _check_settings(schedule: Schedule) -> None:
    """It is for the cores and with the stacks that were decided on."""
    placed, found = schedule.placed, (schedule.cores, schedule.stacks)
    if found != (placed.cores, placed.stacks):
        raise InternalError("schedule", f"is for {found[0]} cores with {found[1]}, planned for {placed.cores}")
