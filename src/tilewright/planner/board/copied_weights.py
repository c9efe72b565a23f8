"""Weights that a board's program copies to RAM when it starts, because flash delivers them slowly.

They are variables with first values to the linker, so nothing is copied between layers: an inference only finds them
elsewhere. What is read most often is copied first, up to the bytes that the user gives and that are left. Of what an
accelerator reads itself, parts are copied that its jobs read together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.planner.board.accelerator_reads import advice, is_read_by_accelerator
from tilewright.planner.board.copy_choice import Candidate, Chosen, choose
from tilewright.planner.board.copy_memories import rooms, wait, with_copies
from tilewright.planner.board.divided_constants import accelerator_candidates, gathered, with_banks
from tilewright.planner.board.memory import board_memory
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.home import COPY
from tilewright.planner.program.program import Load
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.schedule import COPY_UNIT, Schedule
from tilewright.target.memory import CONSTANTS, holding
from tilewright.target.settings import Settings


def copy_weights(schedule: Schedule, settings: Settings) -> Schedule:
    """The schedule with the constants that lie in RAM too, if copies of them are asked for."""
    if not settings.copied_weights:
        text = advice(schedule)
        return _with_note(schedule, text) if text else schedule
    if not any(map(is_read_by_accelerator, schedule.layers)):
        _check_waits(schedule, settings)
    candidates = [*_core_candidates(schedule), *accelerator_candidates(schedule)]
    found = gathered(schedule, choose(candidates, rooms(schedule), settings.copied_weights))
    placed, copied = with_banks(schedule, found)
    made = _with_copies(lower_arena(with_copies(placed, set(copied.values()))), copied)
    return _with_note(made, _note(made, found, len({one.constant for one in candidates})))


def _with_note(schedule: Schedule, text: str) -> Schedule:
    return replace(schedule, graph=replace(schedule.graph, notes=(*schedule.graph.notes, text)))


def _with_copies(schedule: Schedule, copied: Mapping[str, str]) -> Schedule:
    """Layers find these constants, and views of them, in their memories."""
    flash, graph = holding(schedule.target.memories, CONSTANTS)[0].name, schedule.graph
    homes = {
        name: replace(home, kind=COPY, memory=copied[home.owner]) if home.owner in copied else home
        for name, home in schedule.homes.items()
    }
    layers = tuple(
        replace(layer, arguments=tuple(replace(one, home=homes[one.operand.tensor]) for one in layer.arguments))
        for layer in schedule.layers
    )
    start = tuple(Load(name, flash, copied[name], graph.constants[name].nbytes) for name in sorted(copied))
    return replace(schedule, homes=homes, layers=layers, program=replace(schedule.program, start=start))


def _note(schedule: Schedule, found: Chosen, candidates: int) -> str:
    ram, few = board_memory(schedule)[0], len(found.whole) + len(found.parts)
    divided = f", {len(found.parts)} of them in part," if found.parts else ""
    memories = sorted({home.memory for home in schedule.homes.values() if home.kind == COPY}) or [ram.memory.name]
    sizes = " and ".join(f"{name}: {schedule.copied_to(name)} bytes" for name in memories)
    rest = "" if few == candidates and not divided else f"; {ram.bytes - ram.needed} are left in {ram.memory.name}"
    return f"{few} of {candidates} constants{divided} are copied to {sizes}{rest}"


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
    return wait(target.platform, flash) > wait(target.platform, ram)


def _core_candidates(schedule: Schedule) -> Iterator[Candidate]:
    """Constants with about how many times a call of the network reads each of their bytes."""
    found: dict[str, int] = {}
    for call in schedule.layers if _waits(schedule) else ():
        if not is_read_by_accelerator(call):
            for name, times in _reads_of(schedule, call):
                found[name] = found.get(name, 0) + times
    for name, times in found.items():
        yield Candidate(name, rounded(schedule.graph.constants[name].nbytes, COPY_UNIT), times)


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
