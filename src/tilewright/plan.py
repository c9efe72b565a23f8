"""Tiling and memory of a network on a cluster, solved together: a way for every layer, a home for every tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright import choosing, memory
from tilewright.allocation import home_of, in_place_owners, view_owners
from tilewright.c_structs import struct_bytes
from tilewright.errors import CompileError
from tilewright.grid import Inside
from tilewright.ir import Graph, Node
from tilewright.layers import ALIGNMENT, Layer, Limits, Way, best, fits, layer_of, ways
from tilewright.mapping import Mapped
from tilewright.ops.concat import Concat
from tilewright.passes.join_in_place import is_joined
from tilewright.rooms import (
    Room,
    check_far,
    check_spare,
    cluster_of,
    constant_bytes,
    far_room,
    io_bytes,
    near_room,
    rounded,
    stack_of,
)
from tilewright.target import Settings, Target
from tilewright.validate import check_placement

TRIES = 6
"""How often the choice is made again with less room before it is given up."""

ARENAS = ("near", "far", "spare")
"""Levels in which tensors have offsets."""

MOST_BYTES = 2**31
"""More than any memory has."""

PARAMS, SCRATCH = "(params)", "(scratch)"
"""Names of a layer's buffers that are not operands."""


@dataclass(frozen=True)
class Home:
    """Where a tensor lives."""

    level: str
    """near, far, spare, input, output, constant or store."""
    owner: str
    offset: int = 0
    """Bytes from the start of the level's arena."""

    def __str__(self) -> str:
        return f"{self.level}+{self.offset}" if self.level in ARENAS else self.level


@dataclass(frozen=True)
class Step:
    """One layer as it will run."""

    way: Way
    early: int
    """How many steps before its own its constants and parameters are fetched."""
    offsets: Mapping[str, int]
    """Where its buffers lie in the near arena: streamed operands by name, parameters and scratch."""
    staged: Mapping[str, int]
    """Constants of the store that it reads -> where they are put in the far arena."""
    far_scratch: int | None = None
    """Where its working memory is in the far arena, if it is there."""
    predicted: int = 0
    """Cycles that it is said to take."""
    staged_ahead: int = 1
    """How many steps before its own its constants come from the store; 0 where the far memory has no room for both."""


@dataclass(frozen=True)
class Plan:
    mapped: Mapped
    settings: Settings
    room: Room
    steps: tuple[Step, ...]
    homes: Mapping[str, Home]
    predicted: int
    """Cycles of one run."""
    bound: int
    """No choice of ways and homes is predicted to be faster."""
    near_problem: memory.Problem
    near: memory.Solution
    far_problem: memory.Problem
    far: memory.Solution
    spare_problem: memory.Problem
    spare: memory.Solution
    """Activations that the far memory has no room for."""

    @property
    def gap(self) -> float:
        return (self.predicted - self.bound) / self.bound if self.bound else 0.0

    def fetched_during(self, number: int) -> list[int]:
        """The steps whose constants and parameters are fetched while a step is at work."""
        later = range(number + 1, len(self.steps))
        return [step for step in later if self.steps[step].early and step - self.steps[step].early == number]

    @property
    def near_bytes(self) -> int:
        return self.room.base + self.near.peak

    def __str__(self) -> str:
        lines = [
            f"plan for {self.room.cores} cores: {self.near_bytes} of {self.room.total} bytes near, far arena "
            f"{self.far.peak} bytes, {self.predicted} cycles predicted, at least {self.bound}"
        ]
        return "\n".join([*lines, *(_line(self, number, step) for number, step in enumerate(self.steps))])


def plan(mapped: Mapped, settings: Settings) -> Plan:
    """Ways and homes by one model, then offsets, which are checked."""
    graph = mapped.graph
    room = near_room(mapped, settings)
    inside = _insides(graph)
    owners = _owners(graph, inside)
    nodes = [node for node in graph.nodes if not node.op.view and not is_joined(graph, node)]
    tensors = _lifetimes(graph, nodes, owners)
    stored = _stored(mapped, settings, tensors, owners)
    movable = frozenset(tensor.name for tensor in tensors if 0 < tensor.bytes <= room.arena)
    layers = [_alternatives(mapped, room, node, owners, movable, inside) for node in nodes]
    limits = Limits(room.cores, room.arena, settings.buffering, mapped.target.costs)
    found = _all_ways(layers, limits)
    for group, layer in zip(found, layers, strict=True):
        if not group:
            raise _no_way(layer[0], room, limits)
    options = [_options(found, i, _reads(owners, node, stored)) for i, node in enumerate(nodes)]
    return _solve(mapped, settings, room, tensors, [group[0] for group in layers], options, owners, stored)


def tight(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers of which no tile fits the near memory with the kernel that is preferred."""
    graph, room = mapped.graph, near_room(mapped, settings)
    inside = _insides(graph)
    owners = _owners(graph, inside)
    limits = Limits(room.cores, room.arena, settings.buffering, mapped.target.costs)
    nodes = [node for node in graph.nodes if not node.op.view and not is_joined(graph, node)]
    groups = ((node, _alternatives(mapped, room, node, owners, frozenset(), inside)) for node in nodes)
    return [node for node, group in groups if not fits(group[0], limits)]


# ---- what is to be decided ------------------------------------------------------------------------------------------


def _insides(graph: Graph) -> dict[str, Inside]:
    """Operands of Concats are made where the Concat has them: nothing is left for it to do."""
    found = {}
    for node in graph.nodes:
        if is_joined(graph, node):
            assert isinstance(node.op, Concat)
            at = 0
            for name in node.inputs:
                found[name] = Inside(graph.types[node.key].shape, node.op.axis, at)
                at += graph.types[name].shape[node.op.axis]
    return found


def _owners(graph: Graph, inside: Mapping[str, Inside]) -> dict[str, str]:
    """Views, results in the place of operands, and operands of Concats inside their results."""
    owners = in_place_owners(graph, view_owners(graph), inside)
    for node in graph.nodes:
        if is_joined(graph, node):
            owners |= dict.fromkeys(node.inputs, owners[node.key])
    return owners


def _lifetimes(graph: Graph, nodes: Sequence[Node], owners: Mapping[str, str]) -> list[choosing.Tensor]:
    """Activations that own their bytes, with the first and last step that uses them."""
    spans: dict[str, tuple[int, int]] = {}
    for step, node in enumerate(nodes):
        for name in filter(None, (*node.inputs, *node.outputs)):
            first, _ = spans.get(owners[name], (step, step))
            spans[owners[name]] = first, step
    return [
        choosing.Tensor(owner, rounded(graph.types[owner].bytes), first, last)
        for owner, (first, last) in spans.items()
        if home_of(graph, owner) == "arena"
    ]


def _stored(
    mapped: Mapped, settings: Settings, tensors: Sequence[choosing.Tensor], owners: Mapping[str, str]
) -> frozenset[str]:
    """Constants that live in the store: all if asked for, else the largest until the rest fits the far memory."""
    graph, cluster = mapped.graph, cluster_of(mapped)
    used = {owners[name] for node in graph.nodes if not node.op.view for name in node.inputs if name}
    constants = sorted((name for name in used if name in graph.constants), key=lambda n: (-graph.types[n].bytes, n))
    if settings.home and settings.home not in (cluster.far, cluster.store):
        raise CompileError(
            f"--home {settings.home}", "is not a memory for constants", f"use {cluster.far} or {cluster.store}"
        )
    if settings.home == cluster.store:
        return frozenset(name for name in constants if graph.types[name].bytes)
    room = far_room(mapped, settings) - io_bytes(graph)
    peak = memory.solve(_far_problem(tensors, frozenset(), {}), 0).peak if tensors else 0
    excess = sum(rounded(graph.types[name].bytes, 16) for name in constants) + peak - room
    moved: list[str] = []
    while excess > 0 and len(moved) < len(constants) and settings.home != cluster.far:
        # Twice the largest is needed to stage one while another is in use.
        excess += 2 * graph.types[constants[0]].bytes if not moved else 0
        excess -= graph.types[constants[len(moved)]].bytes
        moved.append(constants[len(moved)])
    return frozenset(moved)


def _alternatives(
    mapped: Mapped, room: Room, node: Node, owners: Mapping[str, str], movable: frozenset[str],
    inside: Mapping[str, Inside],
) -> list[Layer]:  # fmt: skip
    """A node with each kernel that could compute it and is content with the stack."""
    target = mapped.target
    found: list[Layer] = []
    for choice in mapped.all_choices(node):
        kernel = choice.kernel
        if not found or stack_of(mapped, kernel) <= room.deepest:
            size = struct_bytes(_reader(target), kernel.params_header, kernel.params_type)
            found.append(layer_of(mapped.graph, node, choice, owners, movable, size, inside))
    return found


def _reader(target: Target) -> Callable[[str], str]:
    return lambda name: target.kernel_file(name).read_text()


def _reads(owners: Mapping[str, str], node: Node, stored: frozenset[str]) -> bool:
    return any(owners[name] in stored for name in node.inputs if name)


def _all_ways(layers: Sequence[Sequence[Layer]], limits: Limits) -> list[list[Way]]:
    """The ways of every layer; layers that differ only in their tensors are worked out once."""
    known: dict[object, list[Way]] = {}
    result = []
    for group in layers:
        key = tuple(map(_signature, group))
        if key not in known:
            known[key] = _ways_of(group, limits)
        result.append([_renamed(way, group[0]) for way in known[key]])
    return result


def _ways_of(group: Sequence[Layer], limits: Limits) -> list[Way]:
    """Those of the preferred kernel; of the others only where it would have to work in the far memory."""
    first, *others = group
    found = ways(first, limits)
    if all(way.mode == "direct" for way in found):
        found = best([*found, *(way for layer in others for way in ways(layer, limits))])
    return found


def _signature(layer: Layer) -> object:
    owners = {name: i for i, name in enumerate(dict.fromkeys(layer.owners.values()))}
    roles = tuple((name, owners[owner], owner in layer.movable) for name, owner in layer.owners.items())
    places = tuple(layer.inside.items())
    return layer.node.op, layer.kernel, tuple(layer.types.items()), roles, layer.constants, places


def _renamed(way: Way, layer: Layer) -> Way:
    """A way of a layer like this one, for this one."""
    old = dict(zip(way.owners.values(), layer.owners.values(), strict=True))
    tensors = {**layer.node.operands(), **layer.node.results()}
    operands = tuple(replace(operand, tensor=tensors[operand.name]) for operand in way.operands)
    near = frozenset(old[name] for name in way.near)
    return replace(way, node=layer.node, operands=operands, near=near, owners=layer.owners)


@dataclass(frozen=True)
class Choice:
    way: Way
    early: int
    option: choosing.Option


def _options(found: Sequence[Sequence[Way]], position: int, from_store: bool) -> list[Choice]:
    """Every way of a layer with its constants fetched at its turn, or some steps before."""
    hidden = [0.0]
    for before in reversed(found[max(position - choosing.FARTHEST, 0) : position]):
        hidden.append(hidden[-1] + min(way.cycles for way in before))
    return [
        _choice(way, ahead, time)
        for way in found[position]
        for ahead, time in enumerate(hidden)
        if ahead == 0 or (way.early and not from_store and (ahead == 1 or hidden[ahead - 1] < _fetching(way)))
    ]


def _choice(way: Way, ahead: int, hidden: float) -> Choice:
    """The layers before hide the fetching of the first tile's constants, or a part of it."""
    cycles = way.cycles + max(_fetching(way) - hidden, 0.0)
    before = way.early if ahead else 0
    return Choice(way, ahead, choosing.Option(round(cycles), way.bytes, before, ahead, way.near))


def _fetching(way: Way) -> float:
    """Cycles until a layer's constants and parameters are there."""
    return way.early / 8 + 20


# ---- deciding -------------------------------------------------------------------------------------------------------


def _solve(
    mapped: Mapped, settings: Settings, room: Room, tensors: Sequence[choosing.Tensor], layers: Sequence[Layer],
    options: Sequence[Sequence[Choice]], owners: Mapping[str, str], stored: frozenset[str],
) -> Plan:  # fmt: skip
    capacity, bound = room.arena, 0
    kept = {name for layer in layers for name in layer.movable}
    for _ in range(TRIES):
        problem = choosing.Problem(
            tuple(tuple(choice.option for choice in group) for group in options),
            tuple(layer.movable for layer in layers),
            tuple(tensor for tensor in tensors if tensor.name in kept),
            capacity,
        )
        solution = choosing.choose(problem, settings.time_limit)
        if solution is None:
            raise _too_small(mapped, room, options)
        bound = bound or solution.bound
        chosen = [group[i] for group, i in zip(options, solution.options, strict=True)]
        near_problem = _near_problem(chosen, tensors, solution.near)
        near = memory.solve(near_problem, 1.0)
        if near.peak <= room.arena:
            return _placed(mapped, settings, room, tensors, chosen, solution, bound, near_problem, near, owners, stored)
        capacity -= near.peak - room.arena
    raise CompileError(
        "near memory", f"no placement of its buffers in {room.arena} bytes was found", "give it more with --l1"
    )


def _near_problem(chosen: Sequence[Choice], tensors: Iterable[choosing.Tensor], near: frozenset[str]) -> memory.Problem:
    buffers = [
        memory.Buffer(f"tensor {tensor.name}", tensor.bytes, tensor.first, tensor.last)
        for tensor in tensors
        if tensor.name in near
    ]
    for step, choice in enumerate(chosen):
        for name, size, is_early in _buffers(choice.way):
            first = max(step - choice.early, 0) if is_early else step
            buffers.append(memory.Buffer(f"{step} {name}", size, first, step))
    return memory.Problem(tuple(buffers), ALIGNMENT)


def _buffers(way: Way) -> list[tuple[str, int, bool]]:
    """Name, bytes and whether it may be filled early, of every buffer of a layer."""
    found = [(o.name, rounded(o.bytes) * o.buffers, o.is_constant) for o in way.operands if o.streamed]
    scratch = 0 if way.mode == "direct" else rounded(way.scratch)
    found += [(PARAMS, rounded(way.params), True), (SCRATCH, scratch, False)]
    return [(name, size, early) for name, size, early in found if size]


def _placed(
    mapped: Mapped, settings: Settings, room: Room, tensors: Sequence[choosing.Tensor], chosen: Sequence[Choice],
    solution: choosing.Solution, bound: int, near_problem: memory.Problem, near: memory.Solution,
    owners: Mapping[str, str], stored: frozenset[str],
) -> Plan:  # fmt: skip
    graph = mapped.graph
    staged = {
        step: [name for name in dict.fromkeys(owners[n] for n in choice.way.node.inputs if n) if name in stored]
        for step, choice in enumerate(chosen)
    }
    constants = constant_bytes(graph, owners, stored)
    free = far_room(mapped, settings) - constants - io_bytes(graph)
    for ahead in (1, 0):
        staging = _staging(graph, chosen, staged, ahead)
        moved = _moved(tensors, solution.near, staging, free)
        far_problem = _far_problem(tensors, solution.near | moved, staging)
        if memory.solve(far_problem, 0).peak <= free:
            break
    spare_problem = _far_problem([tensor for tensor in tensors if tensor.name in moved], frozenset(), {})
    far, spare = memory.solve(far_problem, 1.0), memory.solve(spare_problem, 1.0)
    for problem, solved in ((near_problem, near), (far_problem, far), (spare_problem, spare)):
        check_placement(problem, solved)
    check_far(mapped, settings, far, constants)
    check_spare(mapped, spare, stored)
    steps = tuple(
        Step(
            choice.way, choice.early,
            {name: near.offsets[f"{number} {name}"] for name, _, _ in _buffers(choice.way)},
            {name: far.offsets[f"{number} {name}"] for name in staged[number]},
            far.offsets.get(f"{number} {SCRATCH}"), choice.option.cycles, ahead,
        )
        for number, choice in enumerate(chosen)
    )  # fmt: skip
    arenas = {"near": near, "far": far, "spare": spare}
    homes = {name: _home(graph, owners[name], arenas, stored) for name in graph.types}
    return Plan(
        mapped, settings, room, steps, homes, solution.cycles, min(bound, solution.cycles), near_problem, near,
        far_problem, far, spare_problem, spare,
    )  # fmt: skip


def _staging(
    graph: Graph, chosen: Sequence[Choice], staged: Mapping[int, Sequence[str]], ahead: int
) -> dict[str, tuple[int, int, int]]:
    """Bytes, first and last step of what is put into the far memory for a step: constants and working memory."""
    constants = {
        f"{step} {name}": (graph.types[name].bytes, max(step - ahead, 0), step)
        for step, names in staged.items()
        for name in names
    }
    return constants | {
        f"{step} {SCRATCH}": (choice.way.scratch, step, step)
        for step, choice in enumerate(chosen)
        if choice.way.mode == "direct" and choice.way.scratch
    }


def _far_problem(
    tensors: Iterable[choosing.Tensor], near: frozenset[str], staging: Mapping[str, tuple[int, int, int]]
) -> memory.Problem:
    buffers = [memory.Buffer(f"tensor {t.name}", t.bytes, t.first, t.last) for t in tensors if t.name not in near]
    buffers += [memory.Buffer(name, size, first, last) for name, (size, first, last) in staging.items()]
    return memory.Problem(tuple(buffers), 16)


def _moved(
    tensors: Sequence[choosing.Tensor], near: frozenset[str], staging: Mapping[str, tuple[int, int, int]], room: int
) -> frozenset[str]:
    """Activations that go into the spare memory: the largest, until the rest fits the far one."""
    moved: frozenset[str] = frozenset()
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.bytes, tensor.name)):
        if memory.solve(_far_problem(tensors, near | moved, staging), 0).peak <= room:
            break
        moved |= {tensor.name} - near
    return moved


def _home(graph: Graph, owner: str, arenas: Mapping[str, memory.Solution], stored: frozenset[str]) -> Home:
    role = home_of(graph, owner)
    if role != "arena":
        return Home("store" if owner in stored else role, owner)
    name = f"tensor {owner}"
    return next((Home(level, owner, a.offsets[name]) for level, a in arenas.items() if name in a.offsets), NOWHERE)


NOWHERE = Home("far", "")
"""Of tensors that no layer uses."""


def _too_small(mapped: Mapped, room: Room, options: Sequence[Sequence[Choice]]) -> CompileError:
    """The layer whose smallest way is the largest."""
    group = max(options, key=lambda group: min(choice.option.bytes for choice in group))
    least = min(choice.option.bytes for choice in group)
    return _missing(group[0].way.node, least, room)


def _no_way(layer: Layer, room: Room, limits: Limits) -> CompileError:
    """Its result is part of a Concat's, so that it cannot work in the far memory, and no tile fits the near one."""
    least = min(way.bytes for way in ways(layer, replace(limits, near_bytes=MOST_BYTES)))
    return _missing(layer.node, least, room)


def _missing(node: Node, least: int, room: Room) -> CompileError:
    return CompileError(
        node.where, f"needs {least} bytes of the near memory, {room.arena} are free: {max(least - room.arena, 0)} are "
        "missing", f"give it more, for example --l1 {room.base + least}",
    )  # fmt: skip


def _line(plan: Plan, number: int, step: Step) -> str:
    way = step.way
    cuts = " ".join(f"{cut.loop}={cut.size}/{cut.extent}" for cut in way.grid.cuts) or "whole"
    buffering = "double" if way.double else "single"
    return (
        f"  {number:>4} {way.kernel.stem:<22} {way.mode:<8} {buffering} {way.grid.tiles:>4} tiles {cuts:<26} "
        f"{way.bytes:>7} bytes {way.cycles:>9.0f} cycles -> {plan.homes[way.node.key]}"
    )
