"""The last IR: kernel calls on placed buffers, in order. What it prints is what the C does; numpy can execute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tilewright.errors import printable
from tilewright.ir.evaluate import States, evaluate_node, initial_states
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.types import Array
from tilewright.planner.arena.allocation import Allocation, ArenaPart
from tilewright.planner.arena.board_regions import io_bytes
from tilewright.planner.arena.threads import Share, scratch_of
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.cluster.plan import Plan
from tilewright.planner.home import ARENA, Home
from tilewright.planner.schedule.events import Call as TileCall
from tilewright.planner.schedule.events import Event, text
from tilewright.planner.schedule.in_flight import waits
from tilewright.planner.schedule.interpret import interpret_cluster
from tilewright.planner.schedule.lower import lower
from tilewright.planner.schedule.tile_schedule import ClusterSchedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.target.kernel import Kernel
from tilewright.target.target import Target

COPY_UNIT = 16
"""Copies of constants take multiples of this."""


@dataclass(frozen=True)
class Call:
    """One kernel call: which node it computes and where its working memory is."""

    node: Node
    engine: str
    kernel: Kernel
    params: Params
    scratch: int | None
    """Offset in the arena, or None."""
    parts: tuple[Part, ...] = ()
    """Where several threads compute it: what each calls the kernel with."""


@dataclass(frozen=True)
class Part:
    """One thread's part of a layer."""

    share: Share
    params: Params
    scratch: int | None
    """Offset in the arena, or None."""


@dataclass(frozen=True)
class Schedule:
    graph: Graph
    target: Target
    calls: tuple[Call, ...]
    places: Mapping[str, Home]
    arena_bytes: int
    lower_bound: int
    state_bytes: int = 0
    """Of the arena: what is kept between calls."""
    plan: Plan | None = None
    """How the layers are cut and fed, on a target with a cluster."""
    tiles: ClusterSchedule | None = None
    """What its cores, DMA and accelerators do, tile by tile."""
    waits: tuple[tuple[int, ...], ...] = ()
    """Without a cluster: before every call, and at the end, the submitted calls that are waited for."""
    parts: tuple[ArenaPart, ...] = ()
    """Without a cluster: what of the arena lies in which memory."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Of a board: offsets in the arena at which inputs may lie."""
    copied: frozenset[str] = frozenset()
    """Of a board: constants that its program copies to the memory with the stack when it starts."""

    @property
    def flash_bytes(self) -> int:
        """Constants that the calls read, and first values of states that are not all the same."""
        first = sum(state.initial.nbytes for state in self.graph.states if not state.is_uniform)
        used = {self.places[name].owner for call in self.calls for name in call.node.inputs if name}
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
        title = f"schedule {printable(self.graph.name)} on {self.target.name}"
        if self.tiles is not None:
            arenas = ", ".join(f"{name} {size} bytes" for name, size in self.tiles.arenas.items())
            return "\n".join([f"{title}, {self.tiles.cores} cores: arenas {arenas}", *_cluster_lines(self, self.tiles)])
        lines = [f"{title}: arena {self.arena_bytes} bytes"]
        lines += [f"       copied at the start: constant {printable(name)}" for name in sorted(self.copied)]
        for number, call in enumerate(self.calls):
            operands = ", ".join(_operand(self, name) for name in call.node.inputs)
            results = ", ".join(_operand(self, name) for name in call.node.outputs)
            scratch = "" if call.scratch is None else f", scratch arena+{call.scratch}"
            lines += [f"       wait for {waited}" for waited in self.waits[number]]
            parts = f" in {len(call.parts)} parts" if call.parts else ""
            lines.append(f"  {number:>4} {call.engine}.{call.kernel.stem}({operands} -> {results}{scratch}){parts}")
        lines += [f"       wait for {waited}" for waited in self.waits[-1]]
        return "\n".join(lines)


def make_schedule(allocation: Allocation) -> Schedule:
    mapped, graph = allocation.mapped, allocation.mapped.graph
    calls = []
    for node in graph.nodes:
        if node.op.view or node.key in allocation.idle:
            continue
        choice = mapped.choice(node)
        params = choice.kernel.params(node.op, graph.all_types(node))
        scratch, parts = allocation.scratch.get(node.key), _parts(allocation, node)
        calls.append(Call(node, choice.engine.name, choice.kernel, params, scratch, parts))
    return Schedule(
        graph, mapped.target, tuple(calls), allocation.places, allocation.arena_bytes, allocation.solution.lower_bound,
        allocation.state_bytes, waits=waits(graph, calls, allocation.places), parts=allocation.parts,
        inputs=allocation.inputs,
    )  # fmt: skip


def _parts(allocation: Allocation, node: Node) -> tuple[Part, ...]:
    """Of a layer that several threads compute."""
    kernel, shares = allocation.mapped.choice(node).kernel, allocation.shares.get(node.key, ())
    scratch = allocation.scratch.get(node.key)
    starts = scratch_of(kernel, shares, allocation.mapped.target.memories[0].alignment)
    return tuple(
        Part(share, kernel.params(share.op, share.types), None if scratch is None else scratch + start)
        for share, start in zip(shares, starts, strict=False)
    )


def make_cluster_schedule(plan: Plan) -> Schedule:
    """The same for a network that is cut into tiles."""
    mapped, graph = plan.mapped, plan.mapped.graph
    calls = [Call(step.option.node, step.option.engine, step.option.kernel, {}, None) for step in plan.steps]
    bound = plan.l2.solution.lower_bound
    kept = sum(rounded(graph.types[state.before].bytes, plan.memories.home.alignment) for state in graph.states)
    return Schedule(graph, mapped.target, tuple(calls), plan.homes, plan.l2.peak, bound, kept, plan, lower(plan))


def interpret(schedule: Schedule, inputs: Mapping[str, Array], states: States | None = None) -> dict[str, Array]:
    """Execute the schedule with numpy on a real arena, so that a wrong lifetime or offset shows. Gives the outputs,
    and what states have become; without `states` in the first call."""
    if schedule.tiles is not None:
        return interpret_cluster(schedule.tiles, schedule.graph, schedule.target.paths, inputs, states=states)
    memory = _Memory(schedule, inputs)
    kept = initial_states(schedule.graph) if states is None else states
    for state in schedule.graph.states:
        memory.write(state.before, kept[state.name])
    for call in schedule.calls:
        if call.parts:
            _interpret_parts(memory, call)
            continue
        operands = {name: memory.read(name) for name in call.node.inputs if name}
        memory.poison(call)
        results = evaluate_node(schedule.graph, call.node, operands)
        for name, value in zip(call.node.outputs, results, strict=False):
            if name:
                memory.write(name, value)
    return {name: memory.read(name) for name in schedule.graph.sinks}


def _interpret_parts(memory: _Memory, call: Call) -> None:
    """Parts of a layer, the last one first: they may be computed in any order."""
    operands, results = call.node.operands(), call.node.results()
    for part in reversed(call.parts):
        read = {name: memory.read_part(tensor, part.share, name) for name, tensor in operands.items()}
        if part.scratch is not None:
            memory.poison_bytes(part.scratch, call.kernel.scratch_bytes(part.share.op, part.share.types))
        names = part.share.op.operand_names(len(call.node.inputs))
        with np.errstate(all="ignore"):
            made = part.share.op.numpy(*(read.get(name) for name in names))
        values = made if isinstance(made, tuple) else (made,)
        for name, value in zip(part.share.op.result_names(len(call.node.outputs)), values, strict=False):
            if name in results:
                memory.write_part(results[name], part.share, name, value)


class _Memory:
    """The arena and the caller's buffers as bytes."""

    def __init__(self, schedule: Schedule, inputs: Mapping[str, Array]) -> None:
        graph = schedule.graph
        self.schedule = schedule
        # A pattern that is neither zero nor a small number, so that a read before a write does not look right.
        self.arena = np.full(schedule.arena_bytes, 0xA5, np.uint8)
        self.own: dict[str, Array] = {name: np.full(graph.types[name].bytes, 0xA5, np.uint8) for name in graph.outputs}
        self.own |= {name: _bytes(array) for name, array in graph.constants.items()}
        self.own |= {name: _bytes(inputs[name]) for name in graph.inputs}
        for name, start in schedule.inputs.items():
            place = self.arena[start : start + graph.types[name].bytes]
            place[:], self.own[name] = self.own[name], place

    def read(self, name: str) -> Array:
        kind = self.schedule.graph.types[name]
        return self._view(name).view(kind.element).reshape(kind.shape).copy()

    def write(self, name: str, value: Array) -> None:
        self._view(name)[:] = _bytes(value)

    def poison(self, call: Call) -> None:
        """Working memory holds nothing that anyone may rely on."""
        if call.scratch is not None:
            self.poison_bytes(
                call.scratch, call.kernel.scratch_bytes(call.node.op, self.schedule.graph.all_types(call.node))
            )

    def poison_bytes(self, start: int, size: int) -> None:
        self.arena[start : start + size] = 0x5A

    def read_part(self, tensor: str, share: Share, name: str) -> Array:
        kind, span = share.types[name], share.bytes(name)
        return self._view(tensor)[span.start : span.stop].view(kind.element).reshape(kind.shape).copy()

    def write_part(self, tensor: str, share: Share, name: str, value: Array) -> None:
        span = share.bytes(name)
        self._view(tensor)[span.start : span.stop] = _bytes(value)

    def _view(self, name: str) -> Array:
        place, size = self.schedule.places[name], self.schedule.graph.types[name].bytes
        if place.kind == ARENA:
            return self.arena[place.offset : place.offset + size]
        return self.own[place.owner][:size]


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _cluster_lines(schedule: Schedule, tiles: ClusterSchedule) -> Iterator[str]:
    """Every event, between the barriers at which all cores meet."""
    for number, epoch in enumerate(unroll(tiles, schedule.graph, schedule.target.paths)):
        if number:
            yield "  barrier"
        yield from (f"  {printable(text(event, _kernel(tiles, event)))}" for event in epoch)


def _kernel(tiles: ClusterSchedule, event: Event) -> str:
    """What an event calls, as for one core; nothing where it is no call."""
    if not isinstance(event, TileCall):
        return ""
    option = tiles.layers[event.layer].option
    return f"{option.engine}.{option.kernel.stem}"


def _operand(schedule: Schedule, name: str) -> str:
    if not name:
        return "-"
    place = schedule.places[name]
    return str(place) if place.kind == ARENA else f"{place.kind} {printable(place.owner)}"
