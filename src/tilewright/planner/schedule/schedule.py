"""The last IR: what each agent of a machine does, on placed bytes, in order. Generated C is this, written out; numpy
can execute it."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.graph import Graph
from tilewright.planner.arena.board_regions import io_bytes
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.home import ARENA, Home
from tilewright.planner.placed import Placed
from tilewright.planner.program.program import Program
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.stacks import Stacks
from tilewright.records import dataclass
from tilewright.target.target import Target

COPY_UNIT = 16
"""Copies of constants take multiples of this."""


@dataclass(frozen=True)
class Schedule:
    graph: Graph
    target: Target
    placed: Placed
    """What it was made of, for reports: nothing that is generated depends on it."""
    cores: int
    """Cores, or threads, that compute."""
    stacks: Stacks
    layers: tuple[LayerSchedule, ...]
    """In the order of their turns."""
    arenas: Mapping[str, int]
    """Bytes that the network has of each memory."""
    homes: Mapping[str, Home]
    program: Program
    """What each agent does, in order."""
    arena_bytes: int
    """Of the memory, or of a board's memories, that tensors live in."""
    lower_bound: int
    state_bytes: int = 0
    """Of the arena: what is kept between calls."""

    @property
    def copied(self) -> frozenset[str]:
        """Constants that are copied when a program starts."""
        return frozenset(load.constant for load in self.program.start)

    @property
    def inputs(self) -> dict[str, int]:
        """Of a board: offsets in the arena at which inputs may lie."""
        return {name: self.homes[name].offset for name in self.graph.inputs if self.homes[name].kind == ARENA}

    @property
    def constant_bytes(self) -> int:
        """Constants that the layers read, and first values of states that are not all the same."""
        first = sum(state.initial.nbytes for state in self.graph.states if not state.is_uniform)
        used = {self.homes[name].owner for layer in self.layers for name in layer.node.inputs if name}
        return first + sum(
            kind.bytes for name, kind in self.graph.types.items() if name in self.graph.constants and name in used
        )

    @property
    def copied_bytes(self) -> int:
        """Of RAM, with what lies between the copies."""
        return sum(self.copied_to(memory) for memory in {load.target for load in self.program.start})

    def copied_to(self, memory: str) -> int:
        """The same of one memory."""
        names = (load.constant for load in self.program.start if load.target == memory)
        return sum(rounded(self.graph.constants[name].nbytes, COPY_UNIT) for name in names)

    @property
    def io_bytes(self) -> int:
        """Of inputs and outputs that are not inside the arena."""
        return io_bytes(self.graph, self.inputs)
