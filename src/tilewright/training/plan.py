"""What a training takes of RAM, before anything is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.pipeline import Compiled
from tilewright.records import dataclass
from tilewright.training.compiling import Learner, arena_of
from tilewright.training.recompute import Activation


@dataclass(frozen=True)
class NetworkMemory:
    """Bytes of one of the networks."""

    arena: int
    weights: int
    """What was learned, in the arena."""
    buffers: int
    """Gradients of an accumulation."""
    others: int
    """What the optimizer keeps, and flags."""
    io: int
    """Inputs and outputs, outside of the arena."""
    flash: int
    """Constants."""

    @property
    def activations(self) -> int:
        return self.arena - self.weights - self.buffers - self.others


@dataclass(frozen=True)
class MemoryPlan:
    name: str
    target: str
    networks: Mapping[str, NetworkMemory]
    alone: NetworkMemory | None
    """Of inference by itself, without what training keeps; None where there is none."""
    saved: int
    """Bytes that outlive the power: two copies of what was learned."""
    recomputed: str = ""
    """What a budget has changed."""
    kept: tuple[Activation, ...] = ()
    """What the way back reads of the way forward, with what of it is computed again."""

    @property
    def ram(self) -> int:
        """For all networks: they share one arena."""
        return max(one.arena + one.io for one in self.networks.values())

    def lines(self) -> Iterator[str]:
        text = f"training takes {self.ram:,} bytes of RAM, inputs and outputs included"
        if self.alone is not None:
            own = self.alone.arena + self.alone.io
            text += f"; inference alone {own:,}, so that learning costs {self.ram - own:,} more"
        yield text
        if self.recomputed:
            yield self.recomputed
        elif self.kept:
            total = sum(one.bytes for one in self.kept)
            yield f"the way back reads {len(self.kept)} activations of {total:,} bytes, which are all kept"
        yield f"what is kept when the power is off takes {self.saved:,} bytes in two copies"

    def as_dict(self) -> dict[str, Any]:
        rows = {which: _as_dict(one) for which, one in self.networks.items()}
        alone = None if self.alone is None else _as_dict(self.alone)
        found = {"name": self.name, "target": self.target, "ram": self.ram, "saved": self.saved}
        kept = [{"name": one.name, "bytes": one.bytes, "is_recomputed": one.is_recomputed} for one in self.kept]
        return found | {"networks": rows, "inference_alone": alone, "recomputed": self.recomputed, "kept": kept}


def _as_dict(one: NetworkMemory) -> dict[str, int]:
    return {**vars(one), "activations": one.activations}


def plan_of(
    learner: Learner, saved: int, alone: Compiled | None = None, recomputed: str = "", kept: tuple[Activation, ...] = ()
) -> MemoryPlan:
    networks = {which: _memory(learner, compiled) for which, compiled in learner.networks.items()}
    own = None if alone is None else _memory(learner, alone)
    return MemoryPlan(learner.name, learner.target.name, networks, own, saved, recomputed, kept)


def ram_of(learner: Learner) -> int:
    """Bytes for all networks, which share one arena, with inputs and outputs."""
    return max(one.arena + one.io for one in plan_of(learner, 0).networks.values())


def largest_layer(learner: Learner) -> tuple[str, int]:
    """The layer of a step whose operands, or results, are most; their bytes with states, inputs and outputs."""
    schedule = learner.networks["train"].schedule
    graph, io = schedule.graph, plan_of(learner, 0).networks["train"].io
    elsewhere = {*graph.sources, *graph.constants, *(state.after for state in graph.states)}

    def bytes_of(names: Sequence[str]) -> int:
        return sum(graph.types[name].bytes for name in {*names} - elsewhere if name)

    sizes = {node.name: max(bytes_of(node.inputs), bytes_of(node.outputs)) for node in graph.nodes}
    layer = max(sizes, key=lambda name: sizes[name])
    return layer, schedule.state_bytes + io + sizes[layer]


def _memory(learner: Learner, compiled: Compiled) -> NetworkMemory:
    schedule, training = compiled.schedule, learner.training
    graph = schedule.graph
    sizes = {state.name: graph.types[state.before].bytes for state in graph.states}
    weights, buffers = _sum(sizes, training.learned), _sum(sizes, training.buffers)
    rest = schedule.state_bytes - weights - buffers
    io = sum(graph.types[name].bytes for name in dict.fromkeys((*graph.inputs, *graph.outputs)))
    return NetworkMemory(arena_of(schedule), weights, buffers, rest, io, schedule.constant_bytes)


def _sum(sizes: Mapping[str, int], names: Sequence[str]) -> int:
    return sum(sizes.get(name, 0) for name in names)
