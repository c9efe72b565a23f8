"""The three networks of a training, compiled together: one set of states, one arena, every constant once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright import pipeline, targets
from tilewright.codegen.kernels import Instance
from tilewright.codegen.network import Shared, Writer, symbol_prefix
from tilewright.errors import CompileError, InternalError
from tilewright.ir.digest import Known, digest
from tilewright.ir.graph import Graph, State
from tilewright.ir.types import Array
from tilewright.pipeline import STAGES, Compiled
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.runner import GpuProcess
from tilewright.target.settings import DEFAULT, RAM, Settings
from tilewright.target.target import Target
from tilewright.training.graphs import Training, padded


@dataclass(frozen=True)
class Learner:
    """A training as C: `name` is the prefix of all its symbols."""

    name: str
    training: Training
    networks: Mapping[str, Compiled]
    """`train`, `update` and, if there is one, `infer`."""
    in_little_ram: Collection[str] = ()
    """Those of them that are planned for less RAM with more cycles."""

    @property
    def target(self) -> Target:
        return self.networks["train"].schedule.target

    @property
    def has_runtime(self) -> bool:
        return self.target.agents.has_runtime

    @property
    def states(self) -> Mapping[str, State]:
        """As they lie in the arena, in their order."""
        return {state.name: state for state in self.networks["train"].schedule.graph.states}

    def offset(self, state: str) -> int:
        """Of its first byte in the arena."""
        return self.networks["train"].schedule.homes[self.states[state].before].offset

    @property
    def arena(self) -> str:
        """The array of states and activations."""
        return f"{self.name}_memory"

    @property
    def arena_bytes(self) -> int:
        """For whichever of the networks."""
        return max(max(arena_of(one.schedule), self.alignment) for one in self.networks.values())

    @property
    def alignment(self) -> int:
        return self.target.home_memory.alignment

    @cached_property
    def writers(self) -> Mapping[str, Writer]:
        """A constant that several networks read in the same memory is an array of the first of them."""
        made: dict[str, Writer] = {}
        for which, compiled in self.networks.items():
            shared = Shared(self.name, self._known(compiled.schedule, made), self.arena, resets=which == "train")
            made[which] = Writer(compiled.schedule, f"{self.name}_{which}", shared)
        return made

    def _known(self, schedule: Schedule, made: Mapping[str, Writer]) -> dict[str, str]:
        """Constants -> the arrays of networks before this one that hold the same."""
        found: dict[str, str] = {}
        for name in Writer(schedule, "").used_constants:
            memory, array = schedule.homes[name].memory, schedule.graph.constants[name]
            for writer in made.values():
                same = _held(writer, memory).find(array)
                if same is not None:
                    found[name] = writer.identifiers[same]
                    break
        return found

    @cached_property
    def kernels(self) -> list[Instance]:
        """Of all networks, each once."""
        found: dict[Instance, bool] = {}
        for writer in self.writers.values():
            for one in writer.kernels:
                found[one] = found.get(one, False) or one.has_native
        return [replace(one, has_native=native) for one, native in found.items()]


def compile_training(
    training: Training,
    target: str = "generic",
    name: str = "",
    settings: Settings = DEFAULT,
    in_little_ram: Collection[str] = (),
) -> Learner:
    """All graphs with all states, in one order; what one network has put into a memory, the others find there. Some
    may be planned for less RAM with more cycles."""
    _check_target(target, settings)
    states, networks = list(training.states.values()), dict[str, Compiled]()
    for which, graph in training.graphs.items():
        pinned = tuple(sorted({one for made in networks.values() for one in _memories(made.schedule)}))
        asked = replace(settings, pinned=pinned) if pinned else settings
        networks[which] = _compiled(padded(graph, states), target, _goal(asked, target, which in in_little_ram))
    learner = Learner(symbol_prefix(name or training.name), training, networks, in_little_ram)
    _check_one_arena(learner)
    _check_states(learner)
    return learner


def _check_target(target: str, settings: Settings) -> None:
    if isinstance(targets.find(target).runner, GpuProcess):
        what = "keeps weights in the memory of the GPU, where nothing updates them"
        raise CompileError(f"target {target}", what, "train with --target cpu")
    if settings.threads > 1:
        raise CompileError(f"--threads {settings.threads}", "training runs on one thread", "leave it out")


def _compiled(graph: Graph, target: str, settings: Settings) -> Compiled:
    """Up to the schedule: the C of all is written together."""
    found = dict(zip(STAGES[:-1], pipeline.stages(graph, target, "", settings), strict=False))
    allocation = found.pop("tiled")
    return Compiled(**found, allocation=allocation, files={})


def compile_alone(learner: Learner, settings: Settings = DEFAULT) -> Compiled | None:
    """Inference by itself, up to the schedule: with its own weights alone, to look at what it takes."""
    infer, target = learner.training.infer, learner.target.name
    asked = _goal(settings, target, "infer" in learner.in_little_ram)
    return None if infer is None else _compiled(infer, target, asked)


def _goal(settings: Settings, target: str, is_small: bool) -> Settings:
    """Clusters compute in tiles anyway."""
    return replace(settings, optimise=RAM) if is_small and not targets.find(target).agents.has_runtime else settings


def arena_of(schedule: Schedule) -> int:
    """Bytes of states and activations."""
    memory = schedule.target.home_memory if schedule.target.agents.has_runtime else None
    if memory is not None:
        return schedule.arenas.get(memory.name, 0)
    return schedule.arena_bytes


def _memories(schedule: Schedule) -> Sequence[tuple[str, str]]:
    """Digests of constants, and the memories that a plan has put them into."""
    homes, constants = schedule.homes, schedule.graph.constants
    return [(digest(constants[n]), homes[n].memory) for n in constants if n in homes and homes[n].memory]


def _held(writer: Writer, memory: str) -> Known:
    schedule = writer.schedule
    held: dict[str, Array] = {
        name: schedule.graph.constants[name] for name in writer.constants if schedule.homes[name].memory == memory
    }
    return Known(held)


def _check_one_arena(learner: Learner) -> None:
    for which, compiled in learner.networks.items():
        if len(compiled.schedule.arenas) > 1 and not learner.has_runtime:
            what = f"{which} needs several memories of {learner.target.name}: {', '.join(compiled.schedule.arenas)}"
            raise CompileError(f"training of '{learner.name}'", what, "train fewer layers, or use a larger board")


def _check_states(learner: Learner) -> None:
    """All networks find every state at the same place, in the same form."""
    wanted = _places(learner.networks["train"].schedule)
    for which, compiled in learner.networks.items():
        if _places(compiled.schedule) != wanted:
            raise InternalError(f"training of '{learner.name}'", f"states of {which} do not lie where train has them")


def _places(schedule: Schedule) -> list[tuple[str, str, int, object]]:
    graph, homes = schedule.graph, schedule.homes
    return [(s.name, homes[s.before].memory, homes[s.before].offset, graph.types[s.before]) for s in graph.states]
