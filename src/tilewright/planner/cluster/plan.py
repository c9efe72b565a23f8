"""A network on a cluster, planned: an option for every layer, a home for every tensor, an offset for every buffer.

Plain data: `planning.py` makes it, `check/plan.py` checks it, `schedule/lower_tiles.py` makes a schedule of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from tilewright.errors import printable
from tilewright.memory.arena import NO_ARENA, Arena
from tilewright.planner.cluster.capacity import TileBudget, rounded
from tilewright.planner.cluster.tiling_option import TilingOption, ends_in_order
from tilewright.planner.home import ARENA, Home
from tilewright.planner.machine_bound import MachineBound
from tilewright.planner.stacks import Stacks
from tilewright.records import dataclass
from tilewright.target.mapping import Estimate, Mapped
from tilewright.target.memory import Memory, Paths
from tilewright.target.settings import Settings


@dataclass(frozen=True)
class Step:
    """One layer as it will run."""

    option: TilingOption
    prefetch_distance: int
    """How many steps before its own its constants and parameters are fetched."""
    offsets: Mapping[str, int]
    """Where its buffers lie in the arena of L1: streamed operands by name, parameters and scratch."""
    staged: Mapping[str, int]
    """Constants of memories behind the home that it reads -> where they are put in the arena of the home."""
    home_scratch: int | None = None
    """Where its working memory is in the arena of L2, if it is there."""
    predicted: int = 0
    """Cycles that it is said to take."""
    staged_ahead: int = 1
    """How many steps before its own its constants are staged; 0 where the home does not hold both."""
    in_flight: int = 0
    """In how many of the steps after it an accelerator may still be at work for it."""
    staging_offsets: Mapping[str, int] = field(default_factory=dict)
    """Operands and results that live behind the home -> where their parts are staged in its arena."""
    passes: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Staged constants -> the memories between theirs and the home, and where they are put in the arenas of these."""


@dataclass(frozen=True)
class Plan:
    mapped: Mapped
    settings: Settings
    budget: TileBudget
    steps: tuple[Step, ...]
    homes: Mapping[str, Home]
    predicted: int
    """Cycles of one run."""
    bound: int
    """No choice among the options that were enumerated is predicted to be faster."""
    arenas: Mapping[str, Arena]
    """By the names of the memories."""
    estimates: Mapping[str, tuple[Estimate, ...]]
    """What each node would take on the engines that could compute it, by its key."""
    least: MachineBound
    """What no run can be below."""

    @property
    def memories(self) -> Paths:
        return self.mapped.target.paths

    def arena(self, memory: Memory | None) -> Arena:
        """Of a memory that the platform has or has not."""
        return self.arenas.get(memory.name, NO_ARENA) if memory else NO_ARENA

    @property
    def tiles_arena(self) -> Arena:
        return self.arena(self.memories.tiles)

    @property
    def home_arena(self) -> Arena:
        return self.arena(self.memories.home)

    @property
    def gap(self) -> float:
        """How far the choice may be from the best among the candidates, as a fraction of its bound."""
        return (self.predicted - self.bound) / self.bound if self.bound else 0.0

    def fetched_during(self, number: int) -> list[int]:
        """The steps whose constants and parameters are fetched while a step is at work."""
        distances = ((step, self.steps[step].prefetch_distance) for step in range(number + 1, len(self.steps)))
        return [step for step, distance in distances if distance and step - distance == number]

    def waited_before(self, number: int) -> list[int]:
        """The steps whose accelerator must have ended before a step begins."""
        before = ((step, self.steps[step].in_flight) for step in range(number))
        due = [step for step, in_flight in before if in_flight and step + in_flight + 1 == number]
        return [step for step in due if not self._is_waited_for_later(step, number)]

    def _is_waited_for_later(self, step: int, number: int) -> bool:
        """Whether someone waits, before a step begins, for a job that the accelerator ends after this one's."""
        return any(
            ends_in_order(self.steps[step].option, self.steps[later].option)
            for later in range(step + 1, number)
            if later + self.steps[later].in_flight + 1 <= number
        )

    @property
    def cores(self) -> int:
        return self.budget.cores

    @property
    def stacks(self) -> Stacks:
        return Stacks(self.budget.stack, self.budget.dma_core_stack, self.budget.stacks_inside)

    @property
    def layer_cycles(self) -> dict[str, int]:
        """By the keys of nodes."""
        return {step.option.node.key: step.predicted for step in self.steps}

    @property
    def pinned(self) -> dict[str, str]:
        return dict(self.settings.placed)

    @property
    def weighs_engines(self) -> bool:
        return True

    @property
    def tile_memory(self) -> str:
        return self.memories.tiles.name

    @property
    def tile_bytes(self) -> int:
        return rounded(self.budget.base, self.memories.tiles.placement) + self.tiles_arena.peak

    @property
    def memory_bytes(self) -> dict[str, int]:
        """With what lies there beside the arenas."""
        beside = Counter[str]()
        for name, home in self.homes.items():
            if home.owner == name and home.kind != ARENA:
                beside[home.memory] += self.mapped.graph.types[name].bytes
        arenas = {memory.name: self.arena(memory).peak for memory in self.memories.memories}
        return {name: size + beside[name] for name, size in (arenas | {self.tile_memory: self.tile_bytes}).items()}

    @property
    def tile_room(self) -> int:
        return self.budget.total - self.tile_bytes

    @property
    def code_in_tile_memory(self) -> bool:
        return self.settings.code_in_l1

    def __str__(self) -> str:
        memories = self.memories
        lines = [
            f"plan for {self.budget.cores} cores: {self.tile_bytes} of {self.budget.total} bytes of "
            f"{memories.tiles.name}, {memories.home.name} arena {self.home_arena.peak} bytes, "
            f"{self.predicted} cycles predicted, {self.bound} at least among candidates, "
            f"{self.least.cycles} on this machine"
        ]
        lines += [f"  state {printable(s.name)} is kept at {self.homes[s.before]}" for s in self.mapped.graph.states]
        return "\n".join([*lines, *(_line(self, number, step) for number, step in enumerate(self.steps))])


def _line(plan: Plan, number: int, step: Step) -> str:
    option = step.option
    cuts = " ".join(f"{cut.loop}={cut.size}/{cut.extent}" for cut in option.grid.cuts) or "whole"
    buffering = "double" if option.double else "single"
    return (
        f"  {number:>4} {option.kernel.stem:<26} {option.mode:<11} {buffering} {option.grid.tiles:>4} tiles {cuts:<16} "
        f"{option.bytes:>7} bytes {option.cycles:>9.0f} cycles -> {plan.homes[option.node.key]!s:<12} "
        f"{printable(option.node.name)}"
    )
