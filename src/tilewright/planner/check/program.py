"""A check of what a program's trees say, before they are walked: who may do what on the machine, and what the runtime
has a function for. Written without the planner's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.errors import InternalError
from tilewright.planner.program.program import (
    COPY,
    CORES,
    DMA,
    LOAD,
    OWN,
    RENEW,
    REQUEST,
    STORE,
    Each,
    Event,
    Events,
    FinishLayer,
    For,
    Group,
    Prefetch,
    Serve,
    Stage,
    Submit,
    Wait,
    WaitJob,
    WaitLayer,
    WaitStaged,
    all_events,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.agents import BY_ALL_CORES, BY_NOBODY, BY_PORTS, BY_REQUESTS
from tilewright.target.memory import CONSTANTS, holding

DRIVERS: Mapping[str, Mapping[str | type, str]] = {
    BY_NOBODY: {},
    BY_PORTS: {DMA: OWN, Each: OWN},
    BY_REQUESTS: {DMA: OWN, Each: REQUEST},
    BY_ALL_CORES: {CORES: OWN, Each: COPY},
}
"""Who starts transfers, and how: an agent, or each core by itself."""


def check_program(schedule: Schedule) -> None:
    drivers = DRIVERS[schedule.target.agents.transfers]
    agents = {DMA, CORES} if drivers.get(DMA) else {CORES}
    driver = DMA if DMA in agents else CORES if schedule.cores == 1 and not drivers else ""
    if schedule.program.agents.keys() != agents:
        raise InternalError("program", f"is for {sorted(schedule.program.agents)}, the machine has {sorted(agents)}")
    _check_start(schedule)
    for agent, bodies in schedule.program.agents.items():
        if [body.layer for body in bodies] != list(range(len(schedule.layers) + 1)):
            raise InternalError("program", f"{agent} has bodies for {[body.layer for body in bodies]}")
        for body in bodies:
            layer = schedule.layers[body.layer] if body.layer < len(schedule.layers) else None
            for event, each in _inside((*body.before, *body.events), False):
                where = f"{agent}, layer {body.layer}"
                _check_layers(event, len(schedule.layers), where)
                _check_place(event, agent, driver, each, where)
                _check_driver(event, drivers.get(Each if each else agent), where)
                if isinstance(event, Submit):
                    _check_submit(event, layer, where)
    if drivers.get(Each) == REQUEST:
        _check_served(schedule)


def _check_served(schedule: Schedule) -> None:
    """Where cores ask for transfers, someone sees them leave: in the next layer they would have left already."""
    for cores, dma in zip(schedule.program.agents[CORES], schedule.program.agents[DMA], strict=True):
        alone = sum(isinstance(event, Each) for event in cores.events)
        served = sum(isinstance(event, Serve) for event in dma.events)
        if alone != served:
            raise InternalError(
                f"layer {cores.layer}", f"cores leave {alone} times, the DMA core serves {served} times"
            )


def _check_start(schedule: Schedule) -> None:
    """Constants are copied once and whole, from where they lie to the memory with the stack, or to one with a section
    for copies."""
    start, memories = schedule.program.start, schedule.target.memories
    if len(schedule.copied) < len(start):
        raise InternalError("start", "copies a constant twice")
    sources = [memory.name for memory in holding(memories, CONSTANTS)[:1]]
    targets = [memories[0].name, *(memory.name for memory in memories if memory.copies)]
    for load in start:
        if load.constant not in schedule.graph.constants:
            raise InternalError("start", f"copies {load.constant}, which is no constant")
        is_known = load.source in sources and load.target in targets
        if not is_known or schedule.homes[load.constant].memory != load.target:
            said = f"copies {load.constant} from {load.source} to {load.target}, not from {sources} to {targets}"
            raise InternalError("start", said)


def _inside(events: Events, each: bool) -> Iterator[tuple[Event, bool]]:
    """All of them, and whether each core does them by itself."""
    for event in events:
        yield event, each
        if isinstance(event, For | Each):
            yield from _inside(event.events, each or isinstance(event, Each))
        elif isinstance(event, Submit):
            yield from ((one, each) for one in all_events(event.meanwhile))


def _check_layers(event: Event, layers: int, where: str) -> None:
    """Those that it names are there."""
    named = event.layers if isinstance(event, Prefetch) else ()
    named += (event.layer,) if isinstance(event, Stage | WaitLayer | FinishLayer) else ()
    if any(not 0 <= number < layers for number in named):
        raise InternalError(where, f"is about layers {named} of {layers}")


def _check_place(event: Event, agent: str, driver: str, each: bool, where: str) -> None:
    """Cores compute; who moves data drives accelerators and other links too, or the only core that there is."""
    drives = isinstance(event, Submit | WaitJob | WaitLayer | Stage | WaitStaged | Serve)
    if drives and agent != driver:
        raise InternalError(where, f"{type(event).__name__} is done by {agent}, not by {driver or 'nobody'}")
    if each and (drives or isinstance(event, Prefetch | Each)):
        raise InternalError(where, f"each core by itself does {type(event).__name__}")


def _check_driver(event: Event, by: str | None, where: str) -> None:
    if not isinstance(event, Group | Wait):
        return
    if event.by != by:
        raise InternalError(where, f"starts or awaits transfers ({event.by}), which are its own as {by}")
    if bool(event.tag) == (by == COPY) or (by == COPY and isinstance(event, Wait)):
        raise InternalError(where, f"has {event.tag!r} to wait for, by {by}: copies have nothing, all others a name")
    if isinstance(event, Group) and (not event.moves or {m.what for m in event.moves} - {LOAD, RENEW, STORE}):
        raise InternalError(where, f"starts {event.moves}")
    if isinstance(event, Group) and (event.by == COPY) != (event.tag == ""):
        raise InternalError(where, f"starts transfers ({event.by}) that are waited for as '{event.tag}'")
    if isinstance(event, Group) and event.by != OWN and len(event.moves) > 1:
        raise InternalError(where, "asks for several transfers at once")


def _check_submit(event: Submit, layer: LayerSchedule | None, where: str) -> None:
    """A job may be described before the barrier only if nothing but parameters is needed for that."""
    kernel = layer.option.kernel if layer is not None else None
    if kernel is None or (event.meets and not (kernel.can_preprogram or kernel.has_prologue)):
        raise InternalError(where, "submits what was described before it could be")
    if event.meanwhile and not (kernel.in_order and isinstance(event.meanwhile[0], WaitJob)):
        raise InternalError(where, "does something else meanwhile than what the end of a job allows")
