"""Valid schedules and plans, and faults that are put into them one at a time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from tilewright.planner.cluster.plan import Plan
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.planner.program.program import CORES, DMA
from tilewright.planner.schedule.events import (
    AwaitGroup,
    AwaitJob,
    Begin,
    Epoch,
    Region,
    TileCall,
    TileEvent,
    Transfer,
    core,
)

Epochs = list[list[TileEvent]]
Place = tuple[int, int]
"""An epoch, and a position in it."""


def copied(epochs: tuple[Epoch, ...]) -> Epochs:
    return [list(epoch) for epoch in epochs]


def places(epochs: Epochs, kind: type | tuple[type, ...]) -> list[Place]:
    return [(i, j) for i, epoch in enumerate(epochs) for j, event in enumerate(epoch) if isinstance(event, kind)]


# ---- schedules ------------------------------------------------------------------------------------------------------


def missing_wait(epochs: Epochs, rng: random.Random) -> str | None:
    """A group that nobody waits for."""
    return _dropped(epochs, rng, places(epochs, AwaitGroup))


def missing_transfer(epochs: Epochs, rng: random.Random) -> str | None:
    """One that is made once: what another brings may be there already."""
    made = {place: (event.source, event.target) for place, event in _transfers(epochs)}
    times = Counter(made.values())
    return _dropped(epochs, rng, [place for place, moved in made.items() if times[moved] == 1])


def _transfers(epochs: Epochs) -> Iterator[tuple[Place, Transfer]]:
    for place in places(epochs, Transfer):
        event = epochs[place[0]][place[1]]
        assert isinstance(event, Transfer)
        yield place, event


def missing_call(epochs: Epochs, rng: random.Random) -> str | None:
    return _dropped(epochs, rng, places(epochs, TileCall))


def _dropped(epochs: Epochs, rng: random.Random, found: list[Place]) -> str | None:
    if not found:
        return None
    epoch, position = rng.choice(found)
    return f"without {epochs[epoch].pop(position)}"


def offset(epochs: Epochs, rng: random.Random) -> str | None:
    """A region that lies a little beside where it should."""
    shift = rng.choice((-64, -8, -4, -1, 1, 4, 8, 64))
    return _region_changed(
        epochs, rng, lambda region: replace(region, start=region.start + shift, stop=region.stop + shift)
    )


def size(epochs: Epochs, rng: random.Random) -> str | None:
    """One that is a little larger or smaller."""
    change = rng.choice((-8, -4, -1, 1, 4, 8))
    return _region_changed(epochs, rng, lambda region: replace(region, stop=max(region.start, region.stop + change)))


def _region_changed(epochs: Epochs, rng: random.Random, change: Callable[[Region], Region]) -> str | None:
    epoch, position = rng.choice(places(epochs, (Transfer, TileCall)))
    event = epochs[epoch][position]
    if isinstance(event, Transfer):
        name = rng.choice(("source", "target"))
        region: Region = getattr(event, name)
        if region.memory.startswith("params ") or region.start == region.stop:
            return None
        epochs[epoch][position] = replace(event, **{name: change(region)})
        return f"{name} of {event}"
    assert isinstance(event, TileCall)
    name = rng.choice(("reads", "writes"))
    regions = list(getattr(event, name))
    known = [i for i, one in enumerate(regions) if one.start < one.stop and one.role != SCRATCH]
    if not known:
        return None
    chosen = rng.choice(known)
    regions[chosen] = change(regions[chosen])
    epochs[epoch][position] = replace(event, **{name: tuple(regions)})
    return f"{name} {chosen} of {event}"


def slot(epochs: Epochs, rng: random.Random) -> str | None:
    """A transfer that fills or empties another buffer than its own."""
    found = [(i, j) for i, j in places(epochs, Transfer) if epochs[i][j].target.role != PARAMS]  # type: ignore[union-attr]
    if not found:
        return None
    epoch, position = rng.choice(found)
    event = epochs[epoch][position]
    assert isinstance(event, Transfer)
    name = "source" if event.target.owner else "target"
    region: Region = getattr(event, name)
    taken = {
        one.start for i, j in found for one in _ends(epochs[i][j]) if one.memory == region.memory and not one.owner
    }
    others = sorted(taken - {region.start})
    if region.owner or not others or region.start == region.stop:
        return None
    start = rng.choice(others)
    moved = replace(region, start=start, stop=start + region.stop - region.start)
    epochs[epoch][position] = replace(event, **{name: moved})
    return f"{name} of {event} at {start}"


def _ends(event: TileEvent) -> Iterator[Region]:
    if isinstance(event, Transfer):
        yield from (event.source, event.target)


def order_of_tiles(epochs: Epochs, rng: random.Random) -> str | None:
    """Two tiles of a layer change places."""
    calls = [(i, j) for i, j in places(epochs, TileCall) if not epochs[i][j].agent.startswith("core ")]
    pairs = [
        (one, other)
        for one, other in pairwise(calls)
        if _same_layer(epochs[one[0]][one[1]], epochs[other[0]][other[1]])
    ]
    if not pairs:
        return None
    (i, j), (k, m) = rng.choice(pairs)
    epochs[i][j], epochs[k][m] = epochs[k][m], epochs[i][j]
    return f"{epochs[k][m]} before {epochs[i][j]}"


def _same_layer(one: TileEvent, other: TileEvent) -> bool:
    assert isinstance(one, TileCall)
    assert isinstance(other, TileCall)
    return (one.layer, one.kind, one.agent) == (other.layer, other.kind, other.agent) and one.tile != other.tile


def order_of_waiting(epochs: Epochs, rng: random.Random) -> str | None:
    """A call that comes before the wait for what it reads."""
    found = []
    for i, j in places(epochs, TileCall):
        call = epochs[i][j]
        assert isinstance(call, TileCall)
        read = {(region.memory, region.start, region.tensor) for region in call.reads if not region.owner}
        for k, m in reversed([place for place in places(epochs, AwaitGroup) if place < (i, j)]):
            if _fills(epochs, epochs[k][m], read):
                found.append(((i, j), (k, m)))
                break
    if not found:
        return None
    (i, j), (k, m) = rng.choice(found)
    call = epochs[i].pop(j)
    epochs[k].insert(m, call)
    return f"{call} before {epochs[k][m + 1]}"


def _fills(epochs: Epochs, wait: TileEvent, read: set[tuple[str, int, str]]) -> bool:
    assert isinstance(wait, AwaitGroup)
    moved = (epochs[i][j] for i, j in places(epochs, Transfer))
    targets = [e.target for e in moved if isinstance(e, Transfer) and e.group == wait.group]
    return any((one.memory, one.start, one.tensor) in read for one in targets)


def order_of_group(epochs: Epochs, rng: random.Random) -> str | None:
    """A transfer that is started before its group, or after the wait for it."""
    epoch, position = rng.choice(places(epochs, Begin))
    event = epochs[epoch].pop(position)
    epochs[-1].append(event)
    return f"{event} at the end"


def missing_job_wait(epochs: Epochs, rng: random.Random) -> str | None:
    """The last job of all is not waited for: waiting for a later one is waiting for those before."""
    found = places(epochs, AwaitJob)
    if not found:
        return None
    last = max(epochs[i][j].job for i, j in found)  # type: ignore[union-attr]
    for i, j in reversed(found):
        if epochs[i][j].job == last:  # type: ignore[union-attr]
            epochs[i].pop(j)
    return f"without waiting for job {last}"


def other_caller(epochs: Epochs, rng: random.Random) -> str | None:
    """A call by a core that has other tiles or does not exist, by one core for all, or by all for one."""
    epoch, position = rng.choice(places(epochs, TileCall))
    call = epochs[epoch][position]
    assert isinstance(call, TileCall)
    agent = rng.choice([one for one in (DMA, CORES, core(0), core(1), core(64)) if one != call.agent])
    epochs[epoch][position] = replace(call, agent=agent)
    return f"{call} by {agent}"


def other_waiter(epochs: Epochs, rng: random.Random) -> str | None:
    """A core waits for a job that the DMA core has submitted, which goes on."""
    found = places(epochs, AwaitJob)
    if not found:
        return None
    i, j = rng.choice(found)
    event = epochs[i][j]
    assert isinstance(event, AwaitJob)
    epochs[i][j] = replace(event, agent=core(0))
    return f"{event} by core 0"


def missing_own_buffer(epochs: Epochs, rng: random.Random) -> str | None:
    """A call of which nobody knows that it reads its parameters, or writes its working memory."""
    own = [
        (i, j, side, region)
        for i, j in places(epochs, TileCall)
        for side in ("reads", "writes")
        for region in getattr(epochs[i][j], side)
        if region.role
    ]
    if not own:
        return None
    i, j, side, region = rng.choice(own)
    left = tuple(one for one in getattr(epochs[i][j], side) if one is not region)
    epochs[i][j] = replace(epochs[i][j], **{side: left})
    return f"{side} of {epochs[i][j]} without {region}"


def other_frame(epochs: Epochs, rng: random.Random) -> str | None:
    """A window in a tensor of other axes."""
    found = [(place, event) for place, event in _transfers(epochs) if event.source.owner and event.source.frame]
    if not found:
        return None
    (i, j), event = rng.choice(found)
    epochs[i][j] = replace(event, source=replace(event.source, frame=event.source.frame[1:]))
    return f"{event} in {event.source.frame[1:]}"


SCHEDULE_FAULTS = (
    missing_wait, missing_transfer, missing_call, offset, size, slot, order_of_tiles, order_of_waiting, order_of_group,
    missing_job_wait, other_caller, other_waiter, missing_own_buffer, other_frame,
)  # fmt: skip


# ---- plans ----------------------------------------------------------------------------------------------------------


def changed_step(plan: Plan, number: int, **fields: object) -> Plan:
    steps = list(plan.steps)
    steps[number] = replace(steps[number], **fields)  # type: ignore[arg-type]
    return replace(plan, steps=tuple(steps))


def plan_offset(plan: Plan, rng: random.Random) -> tuple[Plan, str] | None:
    """A buffer that is misaligned, beyond the arena, or where another one of its layer is."""
    number = rng.randrange(len(plan.steps))
    offsets = dict(plan.steps[number].offsets)
    if not offsets:
        return None
    name = rng.choice(sorted(offsets))
    others = sorted(set(offsets.values()) - {offsets[name]})
    offsets[name] = rng.choice([offsets[name] + 1, plan.tiles_arena.peak, *others[:1]])
    return changed_step(plan, number, offsets=offsets), f"step {number}: {name} at {offsets[name]}"


def plan_size(plan: Plan, rng: random.Random) -> tuple[Plan, str] | None:
    """A buffer that is too small, or one too few of them."""
    number = rng.randrange(len(plan.steps))
    step = plan.steps[number]
    known = [i for i, operand in enumerate(step.option.operands) if operand.streamed and operand.bytes > 0]
    if not known:
        return None
    chosen = rng.choice(known)
    operand = step.option.operands[chosen]
    fields = {"bytes": operand.bytes // 2} if operand.buffers == 1 or rng.random() < 0.5 else {"buffers": 1}
    operands = list(step.option.operands)
    operands[chosen] = operand._replace(**fields)  # type: ignore[arg-type]
    option = replace(step.option, operands=tuple(operands))
    return changed_step(plan, number, option=option), f"step {number}: {operand.name} with {fields}"


def plan_home(plan: Plan, rng: random.Random) -> tuple[Plan, str] | None:
    """A tensor that lies beyond its arena, or in another memory than its layers look for it in."""
    used = {o.tensor for step in plan.steps for o in step.option.operands}
    known = sorted(name for name, home in plan.homes.items() if home.kind == "arena" and name in used)
    known = [name for name in known if plan.mapped.graph.types[name].bytes]
    if not known:
        return None
    home = plan.homes[rng.choice(known)]
    memory = plan.memories.home.name if home.memory == plan.memories.tiles.name else plan.memories.tiles.name
    moved = replace(home, memory=memory) if rng.random() < 0.5 else replace(home, offset=plan.arenas[home.memory].peak)
    homes = {name: moved if one.owner == home.owner else one for name, one in plan.homes.items()}
    return replace(plan, homes=homes), f"{home.owner} at {moved}"


def plan_in_flight(plan: Plan, rng: random.Random) -> tuple[Plan, str] | None:
    """An accelerator that is left alone until the end, though others need its results."""
    known = [n for n, step in enumerate(plan.steps) if step.option.mode == "offload" and n + 5 < len(plan.steps)]
    if not known:
        return None
    number = rng.choice(known)
    return changed_step(plan, number, in_flight=len(plan.steps) - number - 1), f"step {number} until the end"


def plan_prefetch(plan: Plan, rng: random.Random) -> tuple[Plan, str] | None:
    """Fetched earlier than the runtime can remember, or than its buffers are free."""
    slots = plan.mapped.target.agents.prefetch_slots
    known = [n for n, step in enumerate(plan.steps) if n >= slots and step.option.mode not in ("in_place", "dma_copy")]
    if not known:
        return None
    number = rng.choice(known)
    return changed_step(plan, number, prefetch_distance=slots), f"step {number} {slots} steps ahead"


PLAN_FAULTS = (plan_offset, plan_size, plan_home, plan_in_flight, plan_prefetch)
