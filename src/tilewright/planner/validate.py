"""A check of plans for a cluster, written from the definitions and without the planner's code. It always runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import BYTES, TensorType
from tilewright.memory.allocator import Buffer, Problem, Solution
from tilewright.memory.validate import check_placement
from tilewright.ops.identity import Identity
from tilewright.passes.aliasing import is_joined
from tilewright.planner.l2_buffers import PARAMS, SCRATCH
from tilewright.planner.options import ALIGNMENT, Operand
from tilewright.planner.plan import Plan, Step
from tilewright.planner.tile_params import kinds, most_scratch
from tilewright.target.struct_size import struct_bytes
from tilewright.tiling.tiles import Grid, Inside
from tilewright.tiling.windows import Window, window

FAR_ALIGNMENT = 16

Region = tuple[str, int, int, int, int]
"""Name, first byte, bytes, first and last step."""


def check_plan(plan: Plan) -> Plan:
    """The plan, or `CompileError` if it could go wrong: tiles, buffers, homes, and who has which bytes when."""
    if plan.near_bytes > plan.room.total:
        raise _broken("plan", f"{plan.near_bytes} bytes of {plan.room.total} in the near memory")
    _check_store(plan)
    _check_homes(plan)
    _check_handed_over(plan)
    _check_moved(plan)
    for step in plan.steps:
        _check_scratch(plan, step)
        _check_params(plan, step)
        windows = list(_windows(step.way.grid))
        _check_cover(step, windows)
        for operand in step.way.operands:
            _check_operand(plan, step, operand, [spans[operand.name] for spans in windows])
    lives = _lives(plan)
    _check_memory(_tensors(plan, "near", lives), _near_buffers(plan), ALIGNMENT, plan.near.peak)
    _check_memory(_tensors(plan, "far", lives), _far_buffers(plan), FAR_ALIGNMENT, plan.far.peak)
    _check_memory(_tensors(plan, "spare", lives), (), FAR_ALIGNMENT, plan.spare.peak)
    _check_memory(_tensors(plan, "deep", lives), (), FAR_ALIGNMENT, plan.deep.peak)
    _check_shared(plan, lives)
    return plan


def _check_store(plan: Plan) -> None:
    """Activations in the store lie behind its constants."""
    graph, target = plan.mapped.graph, plan.mapped.target
    assert target.cluster is not None
    size = next(memory.bytes for memory in target.memories if memory.name == target.cluster.store) or 0
    owners = {home.owner for home in plan.homes.values() if home.level == "store"}
    constants = sum(-(-graph.types[name].bytes // FAR_ALIGNMENT) * FAR_ALIGNMENT for name in owners)
    if plan.deep.peak + constants > size:
        raise _broken("plan", f"{plan.deep.peak + constants} bytes of {size} in the store")


# ---- tiles ---------------------------------------------------------------------------------------------------------


def _windows(grid: Grid) -> Iterator[dict[str, Window]]:
    """What each tile touches, by the operator's own geometry."""
    for tile in range(grid.tiles):
        if not grid.cuts:
            yield {name: tuple(slice(0, size) for size in kind.shape) for name, kind in grid.types.items()}
            continue
        found = grid.op.footprint(grid.shapes, grid.box(grid.indices(tile)))
        yield {name: window(found[name], kind.shape) for name, kind in grid.types.items()}


def _check_cover(step: Step, windows: list[dict[str, Window]]) -> None:
    """Tiles make every element once: along each axis they are a partition, and each combination occurs once."""
    for name in step.way.grid.results:
        shape = step.way.grid.types[name].shape
        whole = [sorted({(w[name][axis].start, w[name][axis].stop) for w in windows}) for axis in range(len(shape))]
        for spans, size in zip(whole, shape, strict=True):
            ends = [0, *(stop for _, stop in spans)]
            if [start for start, _ in spans] != ends[:-1] or ends[-1] != size:
                raise _broken(step.way.node.where, f"tiles of {name} leave gaps or overlap: {spans} of {size}")
        distinct = {tuple((span.start, span.stop) for span in spans[name]) for spans in windows}
        if not len(distinct) == len(windows) == math.prod(map(len, whole)):
            raise _broken(step.way.node.where, f"{len(windows)} tiles make {len(distinct)} parts of {name}")


def _check_scratch(plan: Plan, step: Step) -> None:
    way = step.way
    workers = min(plan.room.cores, way.grid.tiles) if way.mode == "apart" else 1
    # Cores prepare or finish one tile while the accelerator works on the next.
    turns = 2 if way.kernel.offloaded and way.double else 1
    needed = most_scratch(way.kernel, way.grid) * workers * turns
    if needed > way.scratch:
        raise _broken(way.node.where, f"its tiles need {needed} bytes of working memory, there are {way.scratch}")


def _check_params(plan: Plan, step: Step) -> None:
    way, kernel = step.way, step.way.kernel
    if PARAMS not in step.offsets:
        return
    files = plan.mapped.target.kernel_file
    each = struct_bytes(lambda name: files(name).read_text(), kernel.params_header, kernel.params_type)
    needed = each * kinds(kernel, way.grid)
    if needed > way.params:
        raise _broken(way.node.where, f"its parameters take {needed} bytes, their buffer has {way.params}")


def _check_operand(plan: Plan, step: Step, operand: Operand, windows: list[Window]) -> None:
    way = step.way
    _check_deep(plan, step, operand)
    if not operand.streamed:
        level = plan.homes[operand.tensor].level
        if way.mode == "moved" and operand.is_result:
            return
        if way.mode == "offload" and level != ("weights" if operand.name in way.kernel.resident else "near"):
            raise _broken(way.node.where, f"the accelerator cannot reach {operand.name}, which is {level}")
        if not all(_is_dense(way.grid, operand.name, spans) for spans in windows):
            raise _broken(way.node.where, f"a kernel works on {operand.name} where it lies, but not side by side")
        return
    largest = max(map(_elements, windows)) * BYTES[way.grid.types[operand.name].dtype]
    if largest > operand.bytes:
        raise _broken(way.node.where, f"a tile of {operand.name} has {largest} bytes, its buffer {operand.bytes}")
    workers = min(plan.room.cores, way.grid.tiles) if way.mode == "apart" else 1
    moves = len({tuple((span.start, span.stop) for span in spans) for spans in windows}) > 1
    # What no tile changes may be one for all.
    needed = (2 if way.double else 1) * workers if moves else 1 if operand.is_ready else workers
    if operand.buffers < needed:
        raise _broken(way.node.where, f"{operand.buffers} buffers of {operand.name}, {needed} are needed")
    if operand.name not in step.offsets:
        raise _broken(way.node.where, f"{operand.name} has no buffer")
    if operand.is_ready and plan.homes[operand.tensor].level not in ("constant", "store", "input"):
        raise _broken(way.node.where, f"fetches {operand.name} before anyone has made it")


def _check_deep(plan: Plan, step: Step, operand: Operand) -> None:
    """What lives in the store comes and goes in parts, through buffers of the far memory."""
    where, level = step.way.node.where, plan.homes[operand.tensor].level
    if operand.deep != (level == "deep"):
        raise _broken(where, f"expects {operand.name} elsewhere than {plan.homes[operand.tensor]}")
    if not operand.deep:
        return
    if not operand.streamed:
        raise _broken(where, f"works on {operand.name} where it lies, in the store")
    if operand.name not in step.bounced:
        raise _broken(where, f"{operand.name} has no buffer on its way from or to the store")
    if step.way.mode == "apart" and step.way.double:
        raise _broken(where, f"cores apart have two buffers of {operand.name}, which is in the store")


def _is_dense(grid: Grid, name: str, spans: Window) -> bool:
    """Whether a window is a run of neighbouring elements: whole axes behind the first with more than one."""
    place = grid.inside.get(name)
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


def _check_homes(plan: Plan) -> None:
    graph = plan.mapped.graph
    for name in graph.types:
        home = plan.homes.get(name)
        if home is None:
            raise _broken(f"tensor '{name}'", "has no home")
        if home.level in ("constant", "store", "weights") and home.owner not in graph.constants:
            raise _broken(f"tensor '{name}'", f"lives with the constants, but '{home.owner}' is none")
        if home.level in ("input", "output") and home.owner not in (*graph.inputs, *graph.outputs):
            raise _broken(f"tensor '{name}'", f"lives with the caller, who does not know '{home.owner}'")
    for name in {*graph.inputs, *graph.outputs} - set(graph.constants):
        if plan.homes[name].level not in ("input", "output"):
            raise _broken(f"tensor '{name}'", f"is the caller's, but lives {plan.homes[name]}")
    for step in plan.steps:
        for operand in step.way.operands:
            home = plan.homes[operand.tensor]
            if home.level == "weights" and operand.name not in step.way.kernel.resident:
                raise _broken(step.way.node.where, f"reads '{operand.tensor}' from the weight memory")
            if home.level == "store" and home.owner not in step.staged:
                raise _broken(step.way.node.where, f"reads '{operand.tensor}' from the store")
            if (home.level == "near") != (home.owner in step.way.near):
                raise _broken(step.way.node.where, f"expects '{operand.tensor}' elsewhere than {home}")


# ---- lifetimes -----------------------------------------------------------------------------------------------------

Lives = dict[str, tuple[int, int]]
"""Tensor that a layer makes -> the step that makes it, and the last that reads its bytes."""


def _lives(plan: Plan) -> Lives:
    graph = plan.mapped.graph
    made = {name: number for number, step in enumerate(plan.steps) for name in step.way.node.outputs if name}
    last = {name: number + plan.steps[number].lasts for name, number in made.items()}
    begun = {name: _begun(number, plan.steps[number]) for name, number in made.items()}
    for number, step in enumerate(plan.steps):
        for name in filter(None, step.way.node.inputs):
            last |= {part: max(last[part], number + step.lasts) for part in _parts(graph, name) if part in made}
    for name in graph.outputs:
        last |= {part: len(plan.steps) for part in _parts(graph, name) if part in made}
    return {name: (begun[name], last[name]) for name in made}


def _begun(number: int, step: Step) -> int:
    """The step during which a step begins to write its results: what is moved does so before its own."""
    return number - step.early if step.way.mode == "moved" else number


def _parts(graph: Graph, name: str) -> Iterator[str]:
    """The tensors whose bytes a tensor has: views and Concats make none of their own."""
    maker = graph.producers.get(name)
    if maker is None or not _makes_nothing(graph, maker):
        yield name
        return
    for operand in maker.inputs[:1] if maker.op.view else maker.inputs:
        yield from _parts(graph, operand)


def _makes_nothing(graph: Graph, node: Node) -> bool:
    return node.op.view or is_joined(graph, node)


def _tensors(plan: Plan, level: str, lives: Lives) -> list[Region]:
    """The owners that live in a memory, from the first step that writes them to the last that reads them."""
    spans: dict[str, tuple[int, int]] = {}
    for name, (first, last) in lives.items():
        home = plan.homes[name]
        if home.level == level:
            other = spans.get(home.owner, (first, last))
            spans[home.owner] = min(first, other[0]), max(last, other[1])
    types, homes = plan.mapped.graph.types, plan.homes
    return [(f"'{name}'", homes[name].offset, types[name].bytes, *span) for name, span in spans.items()]


def _near_buffers(plan: Plan) -> Iterator[Region]:
    for number, step in enumerate(plan.steps):
        before = max(number - step.early, 0)
        for operand in step.way.operands:
            if operand.streamed:
                first = before if operand.is_ready else number
                room = -(-operand.bytes // ALIGNMENT) * ALIGNMENT * operand.buffers
                yield f"{number} {operand.name}", step.offsets[operand.name], room, first, number + step.lasts
        if PARAMS in step.offsets:
            yield f"{number} {PARAMS}", step.offsets[PARAMS], step.way.params, before, number + step.lasts
        if SCRATCH in step.offsets:
            yield f"{number} {SCRATCH}", step.offsets[SCRATCH], step.way.scratch, number, number + step.lasts


def _far_buffers(plan: Plan) -> Iterator[Region]:
    for number, step in enumerate(plan.steps):
        before = max(number - step.staged_ahead, 0)
        for name, offset in step.staged.items():
            yield f"{number} '{name}'", offset, plan.mapped.graph.types[name].bytes, before, number
        for operand in step.way.operands:
            if operand.deep:
                room = -(-operand.bytes // ALIGNMENT) * ALIGNMENT * operand.buffers
                yield f"{number} {operand.name} on its way", step.bounced[operand.name], room, number, number
        if step.far_scratch is not None:
            yield f"{number} {SCRATCH}", step.far_scratch, step.way.scratch, number, number


def _check_memory(tensors: Iterable[Region], buffers: Iterable[Region], alignment: int, peak: int) -> None:
    regions = [*tensors, *buffers]
    problem = Problem(tuple(Buffer(name, size, first, last) for name, _, size, first, last in regions), alignment)
    check_placement(problem, Solution({name: offset for name, offset, *_ in regions}, peak, 0, "as planned"))


def _check_shared(plan: Plan, lives: Lives) -> None:
    """Tensors of one owner: what a layer writes is nobody's any more, unless it works in place, element by element."""
    groups: dict[str, list[str]] = {}
    for name in lives:
        groups.setdefault(plan.homes[name].owner, []).append(name)
    inside = {o.tensor: step.way.grid.inside.get(o.name) for step in plan.steps for o in step.way.operands}
    makers = {name: step for step in plan.steps for name in step.way.node.outputs if name}
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


def _check_handed_over(plan: Plan) -> None:
    """Nobody reads a result, or writes an operand, while an accelerator may still be at work for it."""
    graph = plan.mapped.graph
    for number, step in enumerate(plan.steps):
        if not step.lasts:
            continue
        moved = any(operand.is_result and operand.streamed for operand in step.way.operands)
        if step.way.mode != "offload" or step.way.grid.tiles > 1 or moved:
            raise _broken(step.way.node.where, "is not one that an accelerator can be left with")
        made = {plan.homes[name].owner for name in step.way.node.outputs if name}
        read = {plan.homes[name].owner for name in step.way.node.inputs if name} - graph.constants.keys()
        for later in _begun_within(plan, number + 1, number + step.lasts):
            reads = {plan.homes[name].owner for name in later.way.node.inputs if name}
            writes = {plan.homes[name].owner for name in later.way.node.outputs if name}
            if reads & made or writes & (read | made):
                raise _broken(later.way.node.where, f"does not wait for {step.way.node.where}")


def _begun_within(plan: Plan, first: int, last: int) -> list[Step]:
    """The steps that begin during some."""
    return [step for number, step in enumerate(plan.steps) if number >= first and _begun(number, step) <= last]


def _check_moved(plan: Plan) -> None:
    """What is moved goes between a near home and another, and is complete when that begins."""
    for number, step in enumerate(plan.steps):
        if step.way.mode != "moved":
            continue
        where = step.way.node.where
        if not isinstance(step.way.node.op, Identity):
            raise _broken(where, "is moved, which only copies are")
        homes = plan.homes[step.way.node.inputs[0]], plan.homes[step.way.node.key]
        levels = [home.level for home in homes]
        if levels.count("near") != 1 or "deep" in levels:
            raise _broken(where, f"is moved from {homes[0]} to {homes[1]}, which is not a transfer")
        if step.early and homes[1].level in ("far", "spare"):
            raise _broken(where, f"is moved to {homes[1]} before its turn")
        for before in plan.steps[_begun(number, step) : number]:
            if homes[0].owner in (plan.homes[name].owner for name in before.way.node.outputs if name):
                raise _broken(where, f"is moved before {before.way.node.where} has made it")


def _check_in_place(plan: Plan, step: Step, other: str, ends: bool) -> None:
    node, graph = step.way.node, plan.mapped.graph
    kinds = {graph.types[name] for name in node.inputs if name and other in _parts(graph, name)}
    if not ends or not node.op.elementwise or kinds != {graph.types[node.key]}:
        raise _broken(node.where, f"writes over '{other}', which is still needed")


def _broken(where: str, what: str) -> CompileError:
    return CompileError(where, what, "this is a fault of the compiler: please report it with the model")
