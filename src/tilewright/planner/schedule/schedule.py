"""The last IR: what each agent of a machine does, on placed bytes, in order. What it prints is what the C does; numpy
can execute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.errors import printable
from tilewright.ir.evaluate import States
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.arena.allocation import Allocation
from tilewright.planner.arena.board_regions import io_bytes
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.home import ARENA, Home
from tilewright.planner.placed import Placed
from tilewright.planner.schedule.events import Call, Event, text
from tilewright.planner.schedule.interpret import interpret_tiles
from tilewright.planner.schedule.lower import lower
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.tile_schedule import ClusterSchedule, LayerSchedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.target import Target

COPY_UNIT = 16
"""Copies of constants take multiples of this."""


@dataclass(frozen=True)
class Schedule:
    graph: Graph
    target: Target
    tiles: ClusterSchedule
    """What its cores, DMA and accelerators do, tile by tile."""
    placed: Placed
    """What it was made of, for reports: nothing that is generated depends on it."""
    arena_bytes: int
    """Of the memory, or of a board's memories, that tensors live in."""
    lower_bound: int
    state_bytes: int = 0
    """Of the arena: what is kept between calls."""
    copied: frozenset[str] = frozenset()
    """Of a board: constants that its program copies to the memory with the stack when it starts."""

    @property
    def layers(self) -> tuple[LayerSchedule, ...]:
        return self.tiles.layers

    @property
    def homes(self) -> Mapping[str, Home]:
        return self.tiles.homes

    @property
    def inputs(self) -> dict[str, int]:
        """Of a board: offsets in the arena at which inputs may lie."""
        return {name: self.homes[name].offset for name in self.graph.inputs if self.homes[name].kind == ARENA}

    @property
    def flash_bytes(self) -> int:
        """Constants that the layers read, and first values of states that are not all the same."""
        first = sum(state.initial.nbytes for state in self.graph.states if not state.is_uniform)
        used = {self.homes[name].owner for layer in self.layers for name in layer.node.inputs if name}
        return first + sum(
            kind.bytes for name, kind in self.graph.types.items() if name in self.graph.constants and name in used
        )

    @property
    def copied_bytes(self) -> int:
        """Of RAM, with what lies between the copies."""
        return sum(rounded(self.graph.constants[name].nbytes, COPY_UNIT) for name in self.copied)

    @property
    def io_bytes(self) -> int:
        """Of inputs and outputs that are not inside the arena."""
        return io_bytes(self.graph, self.inputs)

    def __str__(self) -> str:
        cores = f", {self.tiles.cores} cores" if self.tiles.cores > 1 else ""
        sizes = self.tiles.arenas.items()
        arenas = f"s {', '.join(f'{name} {size} bytes' for name, size in sizes)}"
        arenas = arenas if len(sizes) > 1 else f" {self.arena_bytes} bytes"
        title = f"schedule {printable(self.graph.name)} on {self.target.name}{cores}: arena{arenas}"
        copied = [f"  start    copy    constant {printable(name)}" for name in sorted(self.copied)]
        return "\n".join([title, *copied, *_event_lines(self)])


def make_schedule(allocation: Allocation) -> Schedule:
    mapped = allocation.mapped
    return Schedule(
        mapped.graph, mapped.target, lower_arena(allocation), allocation, allocation.arena_bytes,
        allocation.solution.lower_bound, allocation.state_bytes,
    )  # fmt: skip


def make_cluster_schedule(plan: Plan) -> Schedule:
    """The same for a network that is cut into tiles."""
    mapped, graph = plan.mapped, plan.mapped.graph
    kept = sum(rounded(graph.types[state.before].bytes, plan.memories.home.alignment) for state in graph.states)
    return Schedule(
        graph, mapped.target, lower(plan), plan, plan.home_arena.peak, plan.home_arena.solution.lower_bound, kept
    )


def interpret(schedule: Schedule, inputs: Mapping[str, Array], states: States | None = None) -> dict[str, Array]:
    """Execute the schedule with numpy on real bytes, so that a wrong lifetime or offset shows. Gives the outputs, and
    what states have become; without `states` in the first call."""
    return interpret_tiles(schedule.tiles, schedule.graph, schedule.target.paths, inputs, states=states)


def _event_lines(schedule: Schedule) -> Iterator[str]:
    """Every event, between the barriers at which all agents meet."""
    epochs = unroll(schedule.tiles, schedule.graph, schedule.target.paths)
    for number, epoch in enumerate(epochs if epochs[-1] else epochs[:-1]):
        if number:
            yield "  barrier"
        yield from (f"  {printable(text(event, _kernel(schedule, event)))}" for event in epoch)


def _kernel(schedule: Schedule, event: Event) -> str:
    """What an event calls; nothing where it is no call."""
    if not isinstance(event, Call):
        return ""
    layer = schedule.layers[event.layer]
    return f"{layer.engine}.{layer.kernel.stem}"
