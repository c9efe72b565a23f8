"""One model in two modes, compiled together: many tokens at once (prefill) and one after another (decode).

Decoding is planned first: most of the time goes there. What both have in common exists once: the weights, each where
decoding has it; the caches, which are states of both; and the arena.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tilewright import pipeline
from tilewright.codegen.network import Shared, Writer
from tilewright.errors import InternalError
from tilewright.ir.digest import digest
from tilewright.ir.graph import Graph
from tilewright.language.places import place_of
from tilewright.pipeline import STAGES, Compiled
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings

DECODE, PREFILL = "decode", "prefill"


@dataclass(frozen=True)
class Modes:
    """Both networks, as C: `name` is the prefix of the program's public symbols."""

    name: str
    decode: Compiled
    prefill: Compiled

    @cached_property
    def decoding(self) -> Writer:
        shared = Shared(self.name, {}, self.arena)
        return Writer(self.decode.schedule, f"{self.name}_{DECODE}", shared)

    @cached_property
    def prefilling(self) -> Writer:
        shared = Shared(self.name, self.shared_constants, self.arena)
        return Writer(self.prefill.schedule, f"{self.name}_{PREFILL}", shared)

    @property
    def writers(self) -> Mapping[str, Writer]:
        return {DECODE: self.decoding, PREFILL: self.prefilling}

    @property
    def arena(self) -> str:
        """The array of activations and caches on a cluster."""
        return f"{self.name}_arena"

    @property
    def arena_bytes(self) -> int:
        """For either mode."""
        return max(place_of(writer).arena_bytes(writer) for writer in self.writers.values())

    @cached_property
    def shared_constants(self) -> dict[str, str]:
        """Constants of the prefill network that decoding has in the same memory -> what they are called there."""
        names = self.decoding.identifiers
        known = {_held(self.decode.schedule, name): names[name] for name in self.decoding.constants}
        used = Writer(self.prefill.schedule, PREFILL).used_constants
        found = {name: known.get(_held(self.prefill.schedule, name), "") for name in used}
        return {name: symbol for name, symbol in found.items() if symbol}

    @property
    def block_from(self) -> int:
        """How many tokens, read one by one, take as long as a block."""
        block, one = _work(self.prefill), _work(self.decode)
        return max(1, -(-block // max(one, 1)))

    @property
    def second_packings(self) -> int:
        """Bytes of those that are multiplied: weights, which decoding has in another form."""
        graph = self.prefill.schedule.graph
        multiplied = {name for node in graph.nodes if node.op.multiplies for name in node.inputs}
        return sum(graph.constants[name].nbytes for name in self.prefilling.constants if name in multiplied)


def compile_modes(decode: Graph, prefill: Graph, target: str, name: str, settings: Settings) -> Modes:
    """Both graphs with the same caches."""
    _check_states(decode, prefill)
    first = _compiled(decode, target, settings)
    pinned = tuple(sorted(_memories(first).items()))
    second = _compiled(prefill, target, replace(settings, pinned=pinned) if pinned else settings)
    made = Modes(name, first, second)
    _check_offsets(made)
    return made


def _compiled(graph: Graph, target: str, settings: Settings) -> Compiled:
    """Up to the schedule: the C of both is written together."""
    stages = pipeline.stages(graph, target, "", settings)
    found = dict(zip(STAGES[:-1], stages, strict=False))
    allocation = found.pop("tiled")
    return Compiled(**found, allocation=allocation, files={})


def _memories(compiled: Compiled) -> dict[str, str]:
    """Digests of constants, and the memories that a plan has put them into."""
    homes, constants = compiled.schedule.homes, compiled.schedule.graph.constants
    known = {name: homes[name].memory for name in constants if name in homes and homes[name].memory}
    return {digest(constants[name]): memory for name, memory in known.items()}


def _held(schedule: Schedule, constant: str) -> tuple[str, str]:
    """What is read, and where."""
    home = schedule.homes[constant]
    return digest(schedule.graph.constants[constant]), home.memory


def _work(compiled: Compiled) -> int:
    """Predicted cycles, or multiplications where none are predicted."""
    graph = compiled.schedule.graph
    return compiled.allocation.predicted or sum(graph.macs(node) for node in graph.nodes)


def _check_states(decode: Graph, prefill: Graph) -> None:
    one, other = ([(s.name, graph.types[s.before]) for s in graph.states] for graph in (decode, prefill))
    if one != other:
        raise InternalError("modes", f"decoding keeps {one}, prefill {other}")


def _check_offsets(modes: Modes) -> None:
    """Both find the caches at the same place."""
    one, other = (
        [_offset(made.schedule, state.before) for state in made.schedule.graph.states]
        for made in (modes.decode, modes.prefill)
    )
    if one != other:
        raise InternalError("modes", f"caches lie at {one} and at {other}")


def _offset(schedule: Schedule, tensor: str) -> tuple[str, int]:
    home = schedule.homes[tensor]
    return home.memory, home.offset
