"""Weights that a board's program copies to RAM when it starts, because flash delivers them slowly.

They are variables with first values to the linker, so nothing is copied between layers: an inference only finds them
elsewhere. What is read most often is copied first, up to the bytes that the user gives and that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.planner.board.accelerator_reads import (
    advice,
    is_read_by_accelerator,
    predicted_sooner,
    reads_of_accelerator,
)
from tilewright.planner.board.memory import board_memory
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.home import COPY
from tilewright.planner.program.program import Load
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import COPY_UNIT, Schedule
from tilewright.sim.platform import Platform
from tilewright.target.memory import CONSTANTS, Memory, holding
from tilewright.target.settings import Settings


def copy_weights(schedule: Schedule, settings: Settings) -> Schedule:
    """The schedule with the constants that lie in RAM too, if copies of them are asked for."""
    if not settings.copied_weights:
        text = advice(schedule)
        return _with_note(schedule, text) if text else schedule
    if not any(map(is_read_by_accelerator, schedule.layers)):
        _check_waits(schedule, settings)
    ram = board_memory(schedule)[0]
    left = min(settings.copied_weights, ram.bytes - ram.needed)
    copied = []
    reads = _reads(schedule)
    for name in sorted(reads, key=lambda name: (-reads[name], name)):
        size = rounded(schedule.graph.constants[name].nbytes, COPY_UNIT)
        if size <= left:
            copied.append(name)
            left -= size
    found = _with_copies(predicted_sooner(schedule, copied), sorted(copied), ram.memory.name)
    return _with_note(found, _note(found, reads))


def _with_note(schedule: Schedule, text: str) -> Schedule:
    return replace(schedule, graph=replace(schedule.graph, notes=(*schedule.graph.notes, text)))


def _with_copies(schedule: Schedule, copied: Sequence[str], ram: str) -> Schedule:
    """Layers find these constants, and views of them, in RAM."""
    flash, graph = holding(schedule.target.memories, CONSTANTS)[0].name, schedule.graph
    homes = {
        name: replace(home, kind=COPY, memory=ram) if home.owner in copied else home
        for name, home in schedule.homes.items()
    }
    layers = tuple(
        replace(layer, arguments=tuple(replace(one, home=homes[one.operand.tensor]) for one in layer.arguments))
        for layer in schedule.layers
    )
    start = tuple(Load(name, flash, ram, graph.constants[name].nbytes) for name in copied)
    return replace(schedule, homes=homes, layers=layers, program=replace(schedule.program, start=start))


def _note(schedule: Schedule, reads: Mapping[str, int]) -> str:
    ram, few = board_memory(schedule)[0], len(schedule.copied)
    rest = "" if few == len(reads) else f"; {ram.bytes - ram.needed} are left there"
    return f"{few} of {len(reads)} constants are copied to {ram.memory.name}: {schedule.copied_bytes} bytes{rest}"


def _check_waits(schedule: Schedule, settings: Settings) -> None:
    target = schedule.target
    flash, ram = holding(target.memories, CONSTANTS)[0], target.memories[0]
    if not _waits(schedule):
        what = f"{ram.name} of {target.name} is no faster than {flash.name}, as far as is known"
        raise CompileError(f"--copy-weights {settings.copied_weights}", what, "leave it out, or name a --board")


def _waits(schedule: Schedule) -> bool:
    """Whether cores read RAM sooner than flash."""
    target = schedule.target
    flash, ram = holding(target.memories, CONSTANTS)[0], target.memories[0]
    return _wait(target.platform, flash) > _wait(target.platform, ram)


def _wait(platform: Platform, memory: Memory) -> int:
    """Cycles of an access beyond the first."""
    names = memory.banks or (memory.symbol,)
    return max(max(place.latency.values(), default=0) for place in platform.memories if place.name in names)


def _reads(schedule: Schedule) -> dict[str, int]:
    """Constants -> about how many times a call of the network reads each of their bytes."""
    found: dict[str, int] = {}
    waits = _waits(schedule)
    for call in schedule.layers:
        if is_read_by_accelerator(call):
            reads = reads_of_accelerator(schedule, call)
        else:
            reads = _reads_of(schedule, call) if waits else iter(())
        for name, times in reads:
            found[name] = found.get(name, 0) + times
    return found


def _reads_of(schedule: Schedule, call: LayerSchedule) -> Iterator[tuple[str, int]]:
    """A result needs what its own place in the loops picks of an operand: loops that pick nothing of it repeat it, but
    not more often than there are products with it. (Of weights in an order of their own nothing is picked.)"""
    node, graph = call.node, schedule.graph
    shapes = graph.operand_shapes(node)
    index, extents, summed = node.op.index(shapes), node.op.extents(shapes), node.op.reductions(shapes)
    macs = node.op.macs(shapes)
    for operand, tensor in node.operands().items():
        owner = schedule.homes[tensor].owner
        if owner in graph.constants:
            picking = {loop for axis in index[operand] for loop in axis.loops}
            repeated = [extents[loop] for loop in extents if loop not in picking and loop not in summed]
            products = [macs // max(graph.types[tensor].elements, 1)] if macs else []
            yield owner, min([math.prod(repeated), *products])
