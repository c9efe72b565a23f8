"""A check of plans for a cluster, written from the definitions and without the planner's code. It always runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Set

from tilewright.errors import InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import BYTES, TensorType
from tilewright.memory.allocator import Buffer, Problem, Solution
from tilewright.memory.validate import check_placement
from tilewright.ops.concat import Concat
from tilewright.ops.identity import Identity
from tilewright.planner.check.buffers import distinct_params, scratch_needed
from tilewright.planner.check.states import check_state
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.planner.cluster.tiling_option import Operand
from tilewright.planner.home import ARENA, CONSTANT, INPUT, OUTPUT, Home
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.target.memory import CORES, Hierarchy, Memory
from tilewright.tiling.tiles import Inside, TileGrid
from tilewright.tiling.windows import Window, window

Region = tuple[str, int, int, int, int]
"""Name, first byte, bytes, first and last step."""


def check_plan(plan: Plan) -> Plan:
    """The plan, or `InternalError` if it could go wrong: tiles, buffers, homes, and who has which bytes when."""
    if plan.l1_bytes > plan.budget.total:
        raise _broken("plan", f"{plan.l1_bytes} bytes of {plan.budget.total} in {plan.memories.l1.name}")
    _check_l3_capacity(plan)
    _check_homes(plan)
    _check_states(plan)
    _check_in_flight(plan)
    _check_dma_copies(plan)
    for step in plan.steps:
        _check_scratch(plan, step)
        _check_params(plan, step)
        windows = list(_windows(step.option.grid))
        _check_cover(step, windows)
        for operand in step.option.operands:
            _check_operand(plan, step, operand, [spans[operand.name] for spans in windows])
    lives = _lives(plan)
    buffers = {plan.memories.l1: _l1_buffers(plan), plan.memories.l2: _l2_buffers(plan)}
    for memory in plan.memories.memories:
        own = buffers.get(memory, iter(()))
        _check_memory(_tensors(plan, memory.name, lives), own, memory.placement, plan.arena(memory).peak)
    _check_shared(plan, lives)
    return plan


def _check_l3_capacity(plan: Plan) -> None:
    """Activations in L3 lie behind its constants."""
    graph, l3 = plan.mapped.graph, plan.memories.l3
    if l3 is None:
        return
    owners = {home.owner for home in plan.homes.values() if (home.kind, home.memory) == (CONSTANT, l3.name)}
    unit = l3.constants_alignment
    constants = sum(-(-graph.types[name].bytes // unit) * unit for name in owners)
    if plan.l3.peak + constants > (l3.bytes or 0):
        raise _broken("plan", f"{plan.l3.peak + constants} bytes of {l3.bytes} in {l3.name}")


# ---- tiles ---------------------------------------------------------------------------------------------------------


def _windows(grid: TileGrid) -> Iterator[dict[str, Window]]:
    """What each tile touches, by the operator's own geometry."""
    for tile in range(grid.tiles):
        if not grid.cuts:
            yield {name: tuple(slice(0, size) for size in kind.shape) for name, kind in grid.types.items()}
            continue
        found = grid.op.footprint(grid.shapes, grid.box(grid.indices(tile)))
        yield {name: window(found[name], kind.shape) for name, kind in grid.types.items()}


def _check_cover(step: Step, windows: list[dict[str, Window]]) -> None:
    """Tiles make every element once: along each axis they are a partition, and each combination occurs once."""
    for name in step.option.grid.results:
        shape = step.option.grid.types[name].shape
        whole = [sorted({(w[name][axis].start, w[name][axis].stop) for w in windows}) for axis in range(len(shape))]
        for spans, size in zip(whole, shape, strict=True):
            ends = [0, *(stop for _, stop in spans)]
            if [start for start, _ in spans] != ends[:-1] or ends[-1] != size:
                raise _broken(step.option.node.where, f"tiles of {name} leave gaps or overlap: {spans} of {size}")
        distinct = {tuple((span.start, span.stop) for span in spans[name]) for spans in windows}
        if not len(distinct) == len(windows) == math.prod(map(len, whole)):
            raise _broken(step.option.node.where, f"{len(windows)} tiles make {len(distinct)} parts of {name}")


def _check_scratch(plan: Plan, step: Step) -> None:
    option = step.option
    workers = min(plan.budget.cores, option.grid.tiles) if option.mode == "per_core" else 1
    # Cores prepare or finish one tile while the accelerator works on the next.
    turns = 2 if option.kernel.offloaded and option.double else 1
    needed = scratch_needed(option.kernel, option.grid) * workers * turns
    if needed > option.scratch:
        raise _broken(option.node.where, f"its tiles need {needed} bytes of working memory, there are {option.scratch}")


def _check_params(plan: Plan, step: Step) -> None:
    option = step.option
    if PARAMS not in step.offsets:
        return
    needed = plan.mapped.params_bytes(option.kernel) * distinct_params(option.kernel, option.grid)
    if needed > option.params:
        raise _broken(option.node.where, f"its parameters take {needed} bytes, their buffer has {option.params}")


def _check_operand(plan: Plan, step: Step, operand: Operand, windows: list[Window]) -> None:
    option = step.option
    _check_l3(plan, step, operand)
    if not operand.streamed:
        home = plan.homes[operand.tensor]
        if option.mode == "dma_copy":
            return
        if option.mode == "offload" and not _accelerator_reaches(plan, step, operand):
            raise _broken(option.node.where, f"the accelerator cannot reach {operand.name}, which is in {home}")
        if not all(_is_dense(option.grid, operand.name, spans) for spans in windows):
            raise _broken(option.node.where, f"a kernel works on {operand.name} where it lies, but not side by side")
        return
    largest = max(map(_elements, windows)) * BYTES[option.grid.types[operand.name].dtype]
    if largest > operand.bytes:
        raise _broken(option.node.where, f"a tile of {operand.name} has {largest} bytes, its buffer {operand.bytes}")
    workers = min(plan.budget.cores, option.grid.tiles) if option.mode == "per_core" else 1
    moves = len({tuple((span.start, span.stop) for span in spans) for spans in windows}) > 1
    # What no tile changes may be one for all.
    needed = (2 if option.double else 1) * workers if moves else 1 if operand.is_ready else workers
    if operand.name in option.kernel.held and operand.period > 1 and option.mode == "offload":
        needed = 1
    if operand.buffers < needed:
        raise _broken(option.node.where, f"{operand.buffers} buffers of {operand.name}, {needed} are needed")
    if operand.name not in step.offsets:
        raise _broken(option.node.where, f"{operand.name} has no buffer")
    if operand.is_ready and plan.homes[operand.tensor].kind not in (CONSTANT, INPUT):
        raise _broken(option.node.where, f"fetches {operand.name} before anyone has made it")


def _check_l3(plan: Plan, step: Step, operand: Operand) -> None:
    """What lives in L3 comes and goes in parts, through buffers of L2."""
    where, l3 = step.option.node.where, plan.memories.l3
    if operand.l3 != (l3 is not None and plan.homes[operand.tensor].is_in(l3.name)):
        raise _broken(where, f"expects {operand.name} elsewhere than {plan.homes[operand.tensor]}")
    if not operand.l3:
        return
    if not operand.streamed:
        raise _broken(where, f"works on {operand.name} where it lies, in L3")
    if operand.name not in step.l2_staging:
        raise _broken(where, f"{operand.name} has no staging buffer between L3 and L1")
    if step.option.mode == "per_core" and step.option.double:
        raise _broken(where, f"per_core tiles have two buffers of {operand.name}, which is in L3")


def _is_dense(grid: TileGrid, name: str, spans: Window) -> bool:
    """Whether a window is a run of neighbouring elements: whole axes behind the first with more than one."""
    place = grid.inside.get(name)
    if place is not None and place.order and _elements(spans):
        return False
    shape = grid.types[name].shape if place is None else place.shape
    many = False
    for span, size in zip(spans, shape, strict=True) if _elements(spans) else ():
        if many and span.stop - span.start != size:
            return False
        many = many or span.stop - span.start > 1
    return True


def _elements(spans: Window) -> int:
    return math.prod(span.stop - span.start for span in spans)


# ---- homes ---------------------------------------------------------------------------------------------------------


def _is_constant_in(home: Home, memory: Memory | None) -> bool:
    return memory is not None and (home.kind, home.memory) == (CONSTANT, memory.name)


def _accelerator_reaches(plan: Plan, step: Step, operand: Operand) -> bool:
    home = plan.homes[operand.tensor]
    resident = operand.name in step.option.kernel.resident
    return _is_constant_in(home, plan.memories.wmem) if resident else home.is_in(plan.memories.l1.name)


def _check_homes(plan: Plan) -> None:
    graph, memories = plan.mapped.graph, plan.memories
    for name in graph.types:
        home = plan.homes.get(name)
        if home is None:
            raise _broken(f"tensor '{name}'", "has no home")
        if home.kind == CONSTANT and home.owner not in graph.constants:
            raise _broken(f"tensor '{name}'", f"lives with the constants, but '{home.owner}' is none")
        if home.kind in (INPUT, OUTPUT) and home.owner not in (*graph.inputs, *graph.outputs):
            raise _broken(f"tensor '{name}'", f"lives with the caller, who does not know '{home.owner}'")
    for name in {*graph.inputs, *graph.outputs} - set(graph.constants):
        if plan.homes[name].kind not in (INPUT, OUTPUT):
            raise _broken(f"tensor '{name}'", f"is the caller's, but lives {plan.homes[name]}")
    for step in plan.steps:
        for operand in step.option.operands:
            home = plan.homes[operand.tensor]
            if _is_constant_in(home, memories.wmem) and not _reads_wmem(memories, step, operand):
                raise _broken(step.option.node.where, f"reads '{operand.tensor}' from the weight memory")
            if _is_constant_in(home, memories.l3) and home.owner not in step.staged:
                raise _broken(step.option.node.where, f"reads '{operand.tensor}' from L3")
            if home.is_in(memories.l1.name) != (home.owner in step.option.l1):
                raise _broken(step.option.node.where, f"expects '{operand.tensor}' elsewhere than {home}")


def _reads_wmem(memories: Hierarchy, step: Step, operand: Operand) -> bool:
    """An accelerator its weights; cores and the DMA what they reach there."""
    if operand.name in step.option.kernel.resident:
        return True
    by = memories.dma.name if operand.streamed else CORES
    return memories.wmem is not None and by in memories.wmem.reachable_by


def _check_states(plan: Plan) -> None:
    """What is kept between calls is in L2: L1 is every network's. Nothing else writes there."""
    owners = {name: home.owner for name, home in plan.homes.items()}
    for state in plan.mapped.graph.states:
        home = plan.homes[state.before]
        if not home.is_in(plan.memories.l2.name):
            raise _broken(f"state '{state.name}'", f"is kept in {home}, not in {plan.memories.l2.name}")
        check_state(plan.mapped.graph, owners, state)


# ---- lifetimes -----------------------------------------------------------------------------------------------------

Lives = dict[str, tuple[int, int]]
"""Tensor that a layer makes -> the step that makes it, and the last that reads its bytes."""


def _lives(plan: Plan) -> Lives:
    graph = plan.mapped.graph
    made = {name: number for number, step in enumerate(plan.steps) for name in step.option.node.outputs if name}
    last = {name: number + plan.steps[number].in_flight for name, number in made.items()}
    begun = {name: _begun(number, plan.steps[number]) for name, number in made.items()}
    for number, step in enumerate(plan.steps):
        for name in filter(None, step.option.node.inputs):
            last |= {
                part: max(last[part], number + step.in_flight) for part in _parts(graph, made, name) if part in made
            }
    for name in graph.outputs:
        last |= {part: len(plan.steps) for part in _parts(graph, made, name) if part in made}
    return {name: (begun[name], last[name]) for name in made}


def _begun(number: int, step: Step) -> int:
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


def _tensors(plan: Plan, memory: str, lives: Lives) -> list[Region]:
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


def _l1_buffers(plan: Plan) -> Iterator[Region]:
    unit = plan.memories.l1.alignment
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


def _l2_buffers(plan: Plan) -> Iterator[Region]:
    unit = plan.memories.l1.alignment
    for number, step in enumerate(plan.steps):
        before = max(number - step.staged_ahead, 0)
        for name, offset in step.staged.items():
            yield f"{number} '{name}'", offset, plan.mapped.graph.types[name].bytes, before, number
        for operand in step.option.operands:
            if operand.l3:
                budget = -(-operand.bytes // unit) * unit * operand.buffers
                yield f"{number} {operand.name} (staging)", step.l2_staging[operand.name], budget, number, number
        if step.l2_scratch is not None:
            yield f"{number} {SCRATCH}", step.l2_scratch, step.option.scratch, number, number


def _check_memory(tensors: Iterable[Region], buffers: Iterable[Region], alignment: int, peak: int) -> None:
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
                _check_in_place(plan, makers[written], other, ends=last == now)


def _are_apart(place: Inside | None, kind: TensorType, taken: Inside | None, other: TensorType) -> bool:
    """Whether two tensors of one owner have none of its bytes in common."""
    if not kind.elements or not other.elements:
        return True
    if place is None or taken is None or (place.shape, place.axis) != (taken.shape, taken.axis):
        return False
    ends = place.start + kind.shape[place.axis], taken.start + other.shape[place.axis]
    return ends[0] <= taken.start or ends[1] <= place.start


def _check_in_flight(plan: Plan) -> None:
    """Nobody reads a result, or writes an operand, while an accelerator may still be at work for it."""
    graph = plan.mapped.graph
    for number, step in enumerate(plan.steps):
        if not step.in_flight:
            continue
        copied = any(operand.is_result and operand.streamed for operand in step.option.operands)
        if step.option.mode != "offload" or step.option.grid.tiles > 1 or copied:
            raise _broken(step.option.node.where, "cannot stay in flight while later layers run")
        made = {plan.homes[name].owner for name in step.option.node.outputs if name}
        read = {plan.homes[name].owner for name in step.option.node.inputs if name} - graph.constants.keys()
        for later in _begun_within(plan, number + 1, number + step.in_flight):
            reads = {plan.homes[name].owner for name in later.option.node.inputs if name}
            writes = {plan.homes[name].owner for name in later.option.node.outputs if name}
            shared = (reads & made) | (writes & (read | made))
            if shared and not _comes_behind(step, later, shared):
                raise _broken(later.option.node.where, f"does not wait for {step.option.node.where}")


def _comes_behind(step: Step, later: Step, shared: Set[str]) -> bool:
    """Whether an accelerator that does one thing after the other has both, and works where the tensors lie."""
    options = step.option, later.option
    if options[0].engine != options[1].engine or not all(one.kernel.in_order for one in options):
        return False
    moved = {later.option.owners[operand.name] for operand in later.option.operands if operand.streamed}
    return all(one.mode == "offload" for one in options) and not shared & moved


def _begun_within(plan: Plan, first: int, last: int) -> list[Step]:
    """The steps that begin during some."""
    return [step for number, step in enumerate(plan.steps) if number >= first and _begun(number, step) <= last]


def _check_dma_copies(plan: Plan) -> None:
    """A DMA copy goes between L1 and another memory, and what it copies is complete when it begins."""
    for number, step in enumerate(plan.steps):
        if step.option.mode != "dma_copy":
            continue
        where = step.option.node.where
        if not isinstance(step.option.node.op, Identity):
            raise _broken(where, "is a dma_copy, but its operator does not just copy")
        homes = plan.homes[step.option.node.inputs[0]], plan.homes[step.option.node.key]
        in_l1 = [home.is_in(plan.memories.l1.name) for home in homes]
        in_l3 = [plan.memories.l3 is not None and home.is_in(plan.memories.l3.name) for home in homes]
        grid = step.option.grid
        dense = [_is_dense(grid, name, tuple(slice(0, size) for size in grid.types[name].shape)) for name in ("X", "Y")]
        if not dense[0] and not (dense[1] and in_l1[1]):
            raise _broken(where, f"is copied from {homes[0]}, where it does not lie side by side")
        if sum(in_l1) != 1 or any(in_l3):
            raise _broken(where, f"is copied from {homes[0]} to {homes[1]}, which no transfer of the DMA does")
        if step.prefetch_distance and homes[1].kind == ARENA and not in_l1[1]:
            raise _broken(where, f"is copied to {homes[1]} before its turn")
        for before in plan.steps[_begun(number, step) : number]:
            if homes[0].owner in (plan.homes[name].owner for name in before.option.node.outputs if name):
                raise _broken(where, f"is copied before {before.option.node.where} has made it")


def _check_in_place(plan: Plan, step: Step, other: str, ends: bool) -> None:
    node, graph = step.option.node, plan.mapped.graph
    made = {name for one in plan.steps for name in one.option.node.outputs}
    read = {operand: name for operand, name in node.operands().items() if other in _parts(graph, made, name)}
    kinds = {graph.types[name] for name in read.values()}
    in_place = node.op.elementwise or read.keys() == {node.op.overwrites}
    if not ends or not in_place or kinds != {graph.types[node.key]}:
        raise _broken(node.where, f"writes over '{other}', which is still needed")


def _broken(where: str, what: str) -> InternalError:
    return InternalError(where, what)
