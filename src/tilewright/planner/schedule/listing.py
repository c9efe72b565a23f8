"""A schedule as text: every event, in order."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import printable
from tilewright.planner.schedule.events import TileCall, TileEvent, text
from tilewright.planner.schedule.planned_flow import Planned
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll


def listing(schedule: Schedule) -> str:
    cores = f", {schedule.cores} cores" if schedule.cores > 1 else ""
    sizes = schedule.arenas.items()
    arenas = f"s {', '.join(f'{name} {size} bytes' for name, size in sizes)}"
    arenas = arenas if len(sizes) > 1 else f" {schedule.arena_bytes} bytes"
    title = f"schedule {printable(schedule.graph.name)} on {schedule.target.name}{cores}: arena{arenas}"
    return "\n".join([title, *_event_lines(schedule)])


def _event_lines(schedule: Schedule) -> Iterator[str]:
    """Every event, between the barriers at which all agents meet."""
    epochs = unroll(schedule)
    for number, epoch in enumerate(epochs if epochs[-1] else epochs[:-1]):
        if number:
            yield "  barrier"
        for event in epoch:
            yield f"  {printable(text(event, _kernel(schedule, event)))}"
            yield from _body_lines(schedule, event)


def _body_lines(schedule: Schedule, event: TileEvent) -> Iterator[str]:
    """What control flow runs, inside of its call."""
    op = schedule.layers[event.layer].node.op if isinstance(event, TileCall) else None
    for body in op.schedules if isinstance(op, Planned) else ():
        yield from (f"    {line}" for line in listing(body).splitlines())


def _kernel(schedule: Schedule, event: TileEvent) -> str:
    """What an event calls; nothing where it is no call."""
    if not isinstance(event, TileCall):
        return ""
    layer = schedule.layers[event.layer]
    return f"{layer.engine}.{layer.kernel.stem}"
