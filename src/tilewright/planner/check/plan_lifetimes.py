"""A check of who has which bytes when: what a step of a plan still needs, no other writes over."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import TensorType
from tilewright.memory.allocator import Buffer, Problem, Solution
from tilewright.memory.validate import check_placement
from tilewright.ops.concat import Concat
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.tiling.tiles import Inside

Occupancy = tuple[str, int, int, int, int]
"""Name, first byte, bytes, first and last step."""

Lives = dict[str, tuple[int, int]]
"""Tensor that a layer makes -> the step that makes it, and the last that reads its bytes."""


def check_lifetimes(plan: Plan) -> None:
    lives = _lives(plan)
    buffers = {plan.memories.tiles: _tile_buffers(plan), plan.memories.home: _home_buffers(plan)}
    for memory in plan.memories.memories:
        own = buffers.get(memory) or _passing(plan, memory.name)
        _check_memory(_tensors(plan, memory.name, lives), own, memory.placement, plan.arena(memory).peak)
    _check_shared(plan, lives)


def _lives(plan: Plan) -> Lives:
    graph = plan.mapped.graph
    made = {name: number for number, step in enumerate(plan.steps) for name in step.option.node.outputs if name}
    last = {name: number + plan.steps[number].in_flight for name, number in made.items()}
    begun = {name: begins_at(number, plan.steps[number]) for name, number in made.items()}
    for number, step in enumerate(plan.steps):
        for name in filter(None, step.option.node.inputs):
            last |= {
                part: max(last[part], number + step.in_flight) for part in _parts(graph, made, name) if part in made
            }
    for name in graph.outputs:
        last |= {part: len(plan.steps) for part in _parts(graph, made, name) if part in made}
    return {name: (begun[name], last[name]) for name in made}


def begins_at(number: int, step: Step) -> int:
    """The step during which a step begins to write its results: a DMA copy may do so before its own."""
    return number - step.prefetch_distance if step.option.mode == "dma_copy" else number


def _parts(graph: Graph, made: Container[str], name: str) -> Iterator[str]:
    """The tensors whose bytes a tensor has: views, and Concats that no step computes, make none of their own."""
    maker = graph.producers.get(name)
    if maker is None or name in made or not (maker.op.view or isinstance(maker.op, Concat)):
        yield name
        return
    for operand in maker.inputs[:1] if maker.op.view else maker.inputs:
        yield from _parts(graph, made, operand)


def _tensors(plan: Plan, memory: str, lives: Lives) -> list[Occupancy]:
    """The owners that live in a memory, from the first step that writes them to the last that reads them; states all
    the time."""
    spans: dict[str, tuple[int, int]] = {}
    for name, (first, last) in lives.items():
        home = plan.homes[name]
        if home.is_in(memory):
            other = spans.get(home.owner, (first, last))
            spans[home.owner] = min(first, other[0]), max(last, other[1])
    kept = [s.before for s in plan.mapped.graph.states if plan.homes[s.before].is_in(memory)]
    spans |= dict.fromkeys(kept, (0, len(plan.steps)))
    types, homes = plan.mapped.graph.types, plan.homes
    return [(f"'{name}'", homes[name].offset, types[name].bytes, *span) for name, span in spans.items()]


def _tile_buffers(plan: Plan) -> Iterator[Occupancy]:
    unit = plan.memories.tiles.alignment
    for number, step in enumerate(plan.steps):
        before = max(number - step.prefetch_distance, 0)
        for operand in step.option.operands:
            if operand.streamed:
                first = before if operand.is_ready else number
                budget = -(-operand.bytes // unit) * unit * operand.buffers
                yield f"{number} {operand.name}", step.offsets[operand.name], budget, first, number + step.in_flight
        if PARAMS in step.offsets:
            yield f"{number} {PARAMS}", step.offsets[PARAMS], step.option.params, before, number + step.in_flight
        if SCRATCH in step.offsets:
            yield f"{number} {SCRATCH}", step.offsets[SCRATCH], step.option.scratch, number, number + step.in_flight


def _home_buffers(plan: Plan) -> Iterator[Occupancy]:
    unit = plan.memories.tiles.alignment
    for number, step in enumerate(plan.steps):
        before = max(number - step.staged_ahead, 0)
        for name, offset in step.staged.items():
            yield f"{number} '{name}'", offset, plan.mapped.graph.types[name].bytes, before, number
        for operand in step.option.operands:
            if operand.spilled:
                budget = -(-operand.bytes // unit) * unit * operand.buffers
                yield f"{number} {operand.name} (staging)", step.staging_offsets[operand.name], budget, number, number
        if step.home_scratch is not None:
            yield f"{number} {SCRATCH}", step.home_scratch, step.option.scratch, number, number


def _passing(plan: Plan, memory: str) -> Iterator[Occupancy]:
    """Constants on their way to the home."""
    for number, step in enumerate(plan.steps):
        for name, passes in step.passes.items():
            for offset in (offset for passed, offset in passes if passed == memory):
                before = max(number - step.staged_ahead, 0)
                yield f"{number} '{name}'", offset, plan.mapped.graph.types[name].bytes, before, number


def _check_memory(tensors: Iterable[Occupancy], buffers: Iterable[Occupancy], alignment: int, peak: int) -> None:
    regions = [*tensors, *buffers]
    problem = Problem(tuple(Buffer(name, size, first, last) for name, _, size, first, last in regions), alignment)
    check_placement(problem, Solution({name: offset for name, offset, *_ in regions}, peak, 0, "as planned"))


def _check_shared(plan: Plan, lives: Lives) -> None:
    """Tensors of one owner: what a layer writes is nobody's any more, unless it works in place, element by element."""
    groups: dict[str, list[str]] = {}
    for name in lives:
        groups.setdefault(plan.homes[name].owner, []).append(name)
    inside = {o.tensor: step.option.grid.inside.get(o.name) for step in plan.steps for o in step.option.operands}
    makers = {name: step for step in plan.steps for name in step.option.node.outputs if name}
    types = plan.mapped.graph.types
    for names in groups.values():
        for written, other in itertools.permutations(names, 2):
            now, (first, last) = lives[written][0], lives[other]
            apart = _are_apart(inside.get(written), types[written], inside.get(other), types[other])
            if first <= now <= last and not apart:
                _check_in_place(plan, makers[written], written, other, ends=last == now)


def _are_apart(place: Inside | None, kind: TensorType, taken: Inside | None, other: TensorType) -> bool:
    """Whether two tensors of one owner have none of its bytes in common."""
    if not kind.elements or not other.elements:
        return True
    if place is None or taken is None or (place.shape, place.axis) != (taken.shape, taken.axis):
        return False
    ends = place.start + kind.shape[place.axis], taken.start + other.shape[place.axis]
    return ends[0] <= taken.start or ends[1] <= place.start


def _check_in_place(plan: Plan, step: Step, written: str, other: str, ends: bool) -> None:
    node, graph = step.option.node, plan.mapped.graph
    made = {name for one in plan.steps for name in one.option.node.outputs}
    read = {operand: name for operand, name in node.operands().items() if other in _parts(graph, made, name)}
    kinds = {graph.types[name] for name in read.values()}
    replaced = {node.op.overwrites.get(result) for result, name in node.results().items() if name == written}
    in_place = node.op.elementwise or read.keys() == replaced
    if not ends or not in_place or kinds != {graph.types[written]}:
        raise InternalError(node.where, f"writes over '{other}', which is still needed")
