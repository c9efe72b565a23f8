"""The candidates for every layer: its engines and kernels, their ways, and when constants are fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright import choosing
from tilewright.c_structs import struct_bytes
from tilewright.grid import Inside
from tilewright.ir import Node
from tilewright.layers import Layer, Limits, Way, best, layer_of, ways
from tilewright.mapping import Mapped
from tilewright.rooms import Room, rounded, stack_of
from tilewright.target import Settings, Target

FETCHED_AHEAD = 3
"""How many steps before its own a layer's constants and parameters may be fetched."""


@dataclass(frozen=True)
class Estimate:
    """What a layer would take on an engine, its tensors being wherever they suit it."""

    engine: str
    kernel: str
    cycles: int


@dataclass(frozen=True)
class Candidates:
    """How a layer could be run."""

    layer: Layer
    """With the kernel that is preferred."""
    ways: tuple[Way, ...]
    estimates: tuple[Estimate, ...]
    """The best of every engine that takes it, in the target's order."""


@dataclass(frozen=True)
class Choice:
    way: Way
    early: int
    option: choosing.Option
    alone: float
    """Cycles that it would take if cores had to wait for accelerators."""


def layers_of(
    mapped: Mapped, settings: Settings, room: Room, node: Node, owners: Mapping[str, str], movable: frozenset[str],
    inside: Mapping[str, Inside], storable: frozenset[str] = frozenset(),
) -> list[Layer]:  # fmt: skip
    """A node with each engine and kernel that could compute it and is content with the stack; engines in order."""
    found: list[Layer] = []
    for choice in mapped.all_choices(node):
        kernel = choice.kernel
        first = all(layer.engine != choice.engine.name for layer in found)
        if kernel.resident and not settings.weight_memory:
            continue
        if first or stack_of(mapped, kernel) <= room.deepest:
            size = struct_bytes(_reader(mapped.target), kernel.params_header, kernel.params_type)
            found.append(layer_of(mapped.graph, choice.node, choice, owners, movable, size, inside, storable))
    return found


def _reader(target: Target) -> Callable[[str], str]:
    return lambda name: target.kernel_file(name).read_text()


# ---- ways -----------------------------------------------------------------------------------------------------------


def candidates(groups: Sequence[Sequence[Layer]], limits: Limits) -> list[Candidates]:
    """Of every layer; those that differ only in their tensors are worked out once."""
    known: dict[object, tuple[list[tuple[int, Way]], tuple[Estimate, ...]]] = {}
    result = []
    for group in groups:
        key = tuple(map(_signature, group))
        if key not in known:
            known[key] = _worked_out(group, limits)
        found, estimates = known[key]
        result.append(Candidates(group[0], tuple(_renamed(way, group[i]) for i, way in found), estimates))
    return result


def _worked_out(group: Sequence[Layer], limits: Limits) -> tuple[list[tuple[int, Way]], tuple[Estimate, ...]]:
    """The ways of all engines, each with the position of its layer."""
    positions = {layer.kernel: i for i, layer in enumerate(group)}
    found: list[Way] = []
    estimates = []
    for engine in dict.fromkeys(layer.engine for layer in group):
        own = _ways_of([layer for layer in group if layer.engine == engine], limits)
        if own:
            fastest = min(own, key=lambda way: way.cycles)
            estimates.append(Estimate(engine, fastest.kernel.stem, round(fastest.cycles)))
        found += own
    kept = best(found) if len(estimates) > 1 else found
    return [(positions[way.kernel], way) for way in kept], tuple(estimates)


def _ways_of(group: Sequence[Layer], limits: Limits) -> list[Way]:
    """Those of the preferred kernel; of the others only where it would have to work in the far memory. An
    accelerator's kernels are all considered."""
    first, *others = group
    found = ways(first, limits)
    if first.kernel.offloaded or all(way.mode == "direct" for way in found):
        found = best([*found, *(way for layer in others for way in ways(layer, limits))])
    return found


def _signature(layer: Layer) -> object:
    owners = {name: i for i, name in enumerate(dict.fromkeys(layer.owners.values()))}
    roles = tuple(
        (name, owners[owner], owner in layer.movable, owner in layer.storable) for name, owner in layer.owners.items()
    )
    places = tuple(layer.inside.items())
    return layer.node.op, layer.kernel, tuple(layer.types.items()), roles, layer.constants, layer.ready, places


def _renamed(way: Way, layer: Layer) -> Way:
    """A way of a layer like this one, for this one."""
    old = dict(zip(way.owners.values(), layer.owners.values(), strict=True))
    tensors = {**layer.node.operands(), **layer.node.results()}
    operands = tuple(replace(operand, tensor=tensors[operand.name]) for operand in way.operands)
    near, deep = (frozenset(old[name] for name in names) for names in (way.near, way.deep))
    return replace(way, node=layer.node, operands=operands, near=near, deep=deep, owners=layer.owners)


# ---- options --------------------------------------------------------------------------------------------------------


def options_of(
    found: Sequence[Candidates],
    position: int,
    stored: frozenset[str],
    placed: frozenset[str],
    hideable: Sequence[float],
) -> list[Choice]:
    """Every way of a layer with its constants fetched at its turn, or some steps before. `placed` are the tensors that
    have their place in some arena for as long as they live."""
    hidden = [0.0]
    for before in reversed(found[max(position - choosing.FARTHEST, 0) : position]):
        hidden.append(hidden[-1] + min(way.warm_cycles for way in before.ways))
    new = _first_used(found, position)
    return [
        _choice(
            way, ahead, hidden[ahead], stored, new,
            min(hideable[position], way.engine_cycles) if way.can_last else 0.0,
        )
        for way in found[position].ways
        for ahead in _turns(found, position, way, stored, placed, hidden)
    ]  # fmt: skip


def _turns(
    found: Sequence[Candidates], position: int, way: Way, stored: frozenset[str], placed: frozenset[str],
    hidden: Sequence[float],
) -> list[int]:  # fmt: skip
    """How many steps before its own a layer's fetching may begin: as late as its time is hidden, or as early as it can.
    During a layer that is only moved nobody computes, so that nothing else is begun there. A move takes the mover some
    time, which it has while cores compute."""
    turns = [0]
    for ahead in range(1, 1 + _most_ahead(found, position, way, stored, placed)):
        modes = {other.mode for other in found[position - ahead].ways}
        if "moved" not in modes and not (way.mode == "moved" and "offload" in modes):
            turns.append(ahead)
            if hidden[ahead] >= way.fetching:
                break
    return turns


def _most_ahead(
    found: Sequence[Candidates], position: int, way: Way, stored: frozenset[str], placed: frozenset[str]
) -> int:
    """The same, by what must not happen meanwhile: the steps before must not make what is moved, and arenas but the
    near one have no room for it yet."""
    most = min(position, choosing.FARTHEST)
    if stored_owners(way, stored):
        return 0
    if way.mode != "moved":
        return min(most, FETCHED_AHEAD) if way.early else 0
    source, result = way.owners["X"], way.owners["Y"]
    if result in placed and result not in way.near:
        return 0
    makers = (other.layer for other in reversed(found[position - most : position]))
    made = [source in (maker.owners[name] for name in maker.results) for maker in makers]
    return made.index(True) if True in made else most


def stored_owners(way: Way, stored: frozenset[str]) -> list[str]:
    """Constants that a way reads from the store."""
    return list(dict.fromkeys(owner for _, owner in _streamed_constants(way) if owner in stored))


def constant_bytes(way: Way, stored: frozenset[str], counted: frozenset[str]) -> tuple[int, int]:
    """Bytes of a way's constants in the far memory, and in the weight memory, which also has the store's image."""
    far, kept = 0, rounded(way.weights, 32)
    for name, owner in _streamed_constants(way):
        size = rounded(way.grid.types[name].bytes, 16) if owner in counted else 0
        far, kept = (far, kept + size) if owner in stored else (far + size, kept)
    return far, kept


def _streamed_constants(way: Way) -> list[tuple[str, str]]:
    constants = (o.name for o in way.operands if o.is_constant and o.name not in way.kernel.resident)
    return [(name, way.owners[name]) for name in constants]


def _first_used(found: Sequence[Candidates], position: int) -> frozenset[str]:
    """Owners that no layer before uses: a constant takes room once."""
    own = {owner for way in found[position].ways for owner in way.owners.values()}
    return frozenset(own.difference(*(way.owners.values() for before in found[:position] for way in before.ways[:1])))


def _choice(
    way: Way, ahead: int, hidden: float, stored: frozenset[str], new: frozenset[str], meanwhile: float
) -> Choice:
    """The layers before hide the fetching of the first tile's constants, or a part of it; those after it may hide
    some of an accelerator's time."""
    cycles = way.cycles + max(way.fetching - hidden, 0.0) - meanwhile
    before = way.before if ahead else 0
    constants, kept = constant_bytes(way, stored, new)
    passing = sum(rounded(size, 16) for size in way.bounces.values())
    option = choosing.Option(round(cycles), way.bytes, before, ahead, way.near, constants, kept, way.deep, passing)
    return Choice(way, ahead, option, cycles + meanwhile)
