"""Whether a network fits the memories of a board: RAM for what changes, flash for what does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.errors import CompileError, present
from tilewright.ir.short_names import short_names
from tilewright.memory.allocator import fullest_step, largest_alive, shown
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.arena.board_regions import beside_arena
from tilewright.planner.board.advice import Needs, advice, streams_may_shrink
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.memory import ARENA, CODE, CONSTANTS, STACK, Memory, holding
from tilewright.target.settings import Settings

THE_ARENA = "the arena"
NAMED = 3
"""How many tensors of the peak an error names."""


class RamTooSmall(CompileError):
    """A network does not fit a memory for what changes."""


@dataclass(frozen=True)
class Use:
    """The bytes of a memory by what they are for."""

    memory: Memory
    parts: Mapping[str, int]

    @property
    def needed(self) -> int:
        return sum(self.parts.values())

    @property
    def bytes(self) -> int:
        return present(self.memory.bytes, f"memory {self.memory.name}", "has no size")

    @property
    def missing(self) -> int:
        return max(self.needed - self.bytes, 0)


def board_memory(schedule: Schedule) -> tuple[Use, ...]:
    """What each memory is used for, where they say what they hold: the one with the stack first, then that of the
    constants; those with other parts of the arena are the last."""
    target = schedule.target
    if not holding(target.memories, STACK):
        return ()
    constants, code = (holding(target.memories, use)[0] for use in (CONSTANTS, CODE))
    lasting, program = {"constants": schedule.constant_bytes}, {"code": code.reserved}
    copies = _copies(schedule.copied_bytes)
    if code is not constants:
        # The linker keeps what is copied beside the code.
        lasting, program = {"constants": schedule.constant_bytes - schedule.copied_bytes}, {**program, **copies}
    apart = [Use(constants, lasting), Use(code, program)]
    first, *others = holding(target.memories, ARENA)
    arenas, beside = schedule.arenas, beside_arena(target, schedule.graph, schedule.inputs)
    in_first = beside | _copies(schedule.copied_to(first.name))
    return (
        Use(first, {THE_ARENA: next(iter(arenas.values())), **in_first}),
        *([Use(code, lasting | program)] if code is constants else apart),
        *(Use(one, {THE_ARENA: arenas.get(one.name, 0), **_copies(schedule.copied_to(one.name))}) for one in others
          if one.name in arenas or schedule.copied_to(one.name)),
    )  # fmt: skip


def _copies(size: int) -> dict[str, int]:
    return {"copies of weights": size} if size else {}


def check_board_memory(schedule: Schedule, allocation: Allocation, settings: Settings) -> Schedule:
    """The schedule, if the memories hold it; what does not fit is refused with all numbers."""
    uses = board_memory(schedule)
    for use in uses:
        if use.missing:
            parts = ", ".join(f"{size} for {what}" for what, size in use.parts.items() if size)
            what = f"{use.needed} bytes are needed ({parts}): {use.missing} are missing"
            peak = _elsewhere(schedule, settings) + _peak(allocation) if use.parts.get(THE_ARENA) else ""
            hint = advice(schedule.target, schedule.graph, use.memory, _needs(uses), settings)
            kind = RamTooSmall if use.parts.get(THE_ARENA) else CompileError
            raise kind(f"{use.memory.name} of {use.bytes} bytes", f"{what}{peak}", hint)
    return schedule


def _needs(uses: Sequence[Use]) -> Needs:
    """Of the memory with the stack, which is the first, and of the one with the constants, which is the next."""
    return Needs(uses[0].needed, uses[1].needed)


def _elsewhere(schedule: Schedule, settings: Settings) -> str:
    """What else has been tried: other memories, and layers in strips of rows (`--optimise ram`)."""
    others = [memory.name for memory in holding(schedule.target.memories, ARENA)[1:]]
    more = f", and they do not fit with {', '.join(others)} either" if others else ""
    return more if streams_may_shrink(schedule.target, settings) else f"{more}; --optimise ram needs as much"


def _peak(allocation: Allocation) -> str:
    """The node at which most bytes are alive."""
    problem, graph = allocation.problem, allocation.mapped.graph
    step = fullest_step(problem)
    number, found = min(step, len(graph.nodes) - 1), largest_alive(problem, step)
    node = graph.nodes[number]
    names = short_names([*map(str, graph.types), *(shown(buffer.name) for buffer in found)])
    named = ", ".join(f"{buffer.bytes} of {names[shown(buffer.name)]}" for buffer in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    layer = f"node {number} of {len(graph.nodes)}, {node.op.kind} {graph.short_name(node)}"
    return f"\n  the arena's peak is at {layer}: {sum(one.bytes for one in found)} bytes, {named}{more}"
