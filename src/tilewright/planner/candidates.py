"""The candidates for every layer: its engines and kernels, their tiling options, and when constants are prefetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.graph import Node
from tilewright.planner import select
from tilewright.planner.capacity import L1Budget, rounded, stack_of
from tilewright.planner.enumerate import best, layer_of, options
from tilewright.planner.options import Layer, Limits, RuntimeSlots, TilingOption
from tilewright.target.costs import Costs
from tilewright.target.mapping import Mapped
from tilewright.target.memory import Link
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.tiling.tiles import Inside

FETCHED_AHEAD = 3
"""How many steps before its own a layer's constants and parameters may be fetched."""


@dataclass(frozen=True)
class Estimate:
    """What a layer would take on an engine, its tensors being wherever they suit it."""

    engine: str
    kernel: str
    cycles: int


@dataclass(frozen=True)
class LayerOptions:
    """How a layer could be run."""

    layer: Layer
    """With the kernel that is preferred."""
    options: tuple[TilingOption, ...]
    estimates: tuple[Estimate, ...]
    """The best of every engine that takes it, in the target's order."""


@dataclass(frozen=True)
class Candidate:
    option: TilingOption
    prefetch_distance: int
    alternative: select.Alternative
    alone: float
    """Cycles that it would take if cores had to wait for accelerators."""


def layers_of(
    mapped: Mapped, settings: Settings, budget: L1Budget, node: Node, owners: Mapping[str, str],
    movable: frozenset[str], inside: Mapping[str, Inside], spillable: frozenset[str] = frozenset(),
) -> list[Layer]:  # fmt: skip
    """A node with each engine and kernel that could compute it and is content with the stack; engines in order."""
    found: list[Layer] = []
    for candidate in mapped.all_choices(node):
        kernel = candidate.kernel
        first = all(layer.engine != candidate.engine.name for layer in found)
        if kernel.resident and not settings.weight_memory:
            continue
        if first or stack_of(mapped, kernel) <= budget.deepest:
            size = mapped.params_bytes(kernel)
            found.append(layer_of(mapped.graph, candidate.node, candidate, owners, movable, size, inside, spillable))
    return found


# ---- options --------------------------------------------------------------------------------------------------------


def layer_options(groups: Sequence[Sequence[Layer]], limits: Limits) -> list[LayerOptions]:
    """Of every layer; those that differ only in their tensors are worked out once."""
    known: dict[object, tuple[list[tuple[int, TilingOption]], tuple[Estimate, ...]]] = {}
    result = []
    for group in groups:
        key = tuple(map(_signature, group))
        if key not in known:
            known[key] = _worked_out(group, limits)
        found, estimates = known[key]
        result.append(LayerOptions(group[0], tuple(_renamed(option, group[i]) for i, option in found), estimates))
    return result


def _worked_out(group: Sequence[Layer], limits: Limits) -> tuple[list[tuple[int, TilingOption]], tuple[Estimate, ...]]:
    """The options of all engines, each with the position of its layer."""
    positions = {layer.kernel: i for i, layer in enumerate(group)}
    found: list[TilingOption] = []
    estimates = []
    for engine in dict.fromkeys(layer.engine for layer in group):
        own = _options_of([layer for layer in group if layer.engine == engine], limits)
        if own:
            fastest = min(own, key=lambda option: option.cycles)
            estimates.append(Estimate(engine, fastest.kernel.stem, round(fastest.cycles)))
        found += own
    kept = best(found) if len(estimates) > 1 else found
    return [(positions[option.kernel], option) for option in kept], tuple(estimates)


def _options_of(group: Sequence[Layer], limits: Limits) -> list[TilingOption]:
    """Those of the preferred kernel; of the others only where it would have to work in L2. An accelerator's kernels are
    all considered."""
    first, *others = group
    found = options(first, limits)
    if first.kernel.offloaded or all(option.mode == "in_l2" for option in found):
        found = best([*found, *(option for layer in others for option in options(layer, limits))])
    return found


def _signature(layer: Layer) -> object:
    owners = {name: i for i, name in enumerate(dict.fromkeys(layer.owners.values()))}
    roles = tuple(
        (name, owners[owner], owner in layer.movable, owner in layer.spillable) for name, owner in layer.owners.items()
    )
    places = tuple(layer.inside.items())
    return layer.node.op, layer.kernel, tuple(layer.types.items()), roles, layer.constants, layer.ready, places


def _renamed(option: TilingOption, layer: Layer) -> TilingOption:
    """An option of a layer like this one, for this one."""
    if option.node is layer.node:
        return option
    old = dict(zip(option.owners.values(), layer.owners.values(), strict=True))
    tensors = {**layer.node.operands(), **layer.node.results()}
    operands = tuple(replace(operand, tensor=tensors[operand.name]) for operand in option.operands)
    l1, l3 = (frozenset(old[name] for name in names) for names in (option.l1, option.l3))
    return replace(option, node=layer.node, operands=operands, l1=l1, l3=l3, owners=layer.owners)


# ---- options and prefetch distances ---------------------------------------------------------------------------------


def candidates_of(
    found: Sequence[LayerOptions],
    position: int,
    l3_constants: frozenset[str],
    placed: frozenset[str],
    hideable: Sequence[float],
    slots: RuntimeSlots,
) -> list[Candidate]:
    """Every option of a layer with its constants fetched at its turn, or some steps before. `placed` are the tensors
    that have their place in some arena for as long as they live."""
    hidden = [0.0]
    for before in reversed(found[max(position - slots.prefetch, 0) : position]):
        hidden.append(hidden[-1] + min(option.warm_cycles for option in before.options))
    new = _first_used(found, position)
    return [
        _candidate(
            option, ahead, hidden[ahead], l3_constants, new, slots.dma,
            min(hideable[position], option.engine_cycles) if option.can_stay_in_flight else 0.0,
        )
        for option in found[position].options
        for ahead in _turns(found, position, option, l3_constants, placed, hidden, slots)
    ]  # fmt: skip


def _turns(
    found: Sequence[LayerOptions], position: int, option: TilingOption, l3_constants: frozenset[str],
    placed: frozenset[str], hidden: Sequence[float], slots: RuntimeSlots,
) -> list[int]:  # fmt: skip
    """How many steps before its own a layer's fetching may begin: as late as its time is hidden, or as early as it can.
    During a DMA copy nobody computes, so that nothing else is begun there. Starting a copy takes the DMA core some
    time, which it has while the other cores compute."""
    turns = [0]
    for ahead in range(1, 1 + _most_ahead(found, position, option, l3_constants, placed, slots)):
        modes = {other.mode for other in found[position - ahead].options}
        if "dma_copy" not in modes and not (option.mode == "dma_copy" and "offload" in modes):
            turns.append(ahead)
            if hidden[ahead] >= option.fetching(slots.dma):
                break
    return turns


def _most_ahead(
    found: Sequence[LayerOptions],
    position: int,
    option: TilingOption,
    l3_constants: frozenset[str],
    placed: frozenset[str],
    slots: RuntimeSlots,
) -> int:
    """The same, by what must not happen meanwhile: no step in between makes what is copied, and only the arena of L1
    keeps a place for the result before the layer's own step."""
    most = min(position, slots.prefetch)
    if l3_constants_of(option, l3_constants):
        return 0
    if option.mode != "dma_copy":
        return min(most, FETCHED_AHEAD) if option.prefetch_bytes else 0
    source, result = option.owners["X"], option.owners["Y"]
    if result in placed and result not in option.l1:
        return 0
    makers = (other.layer for other in reversed(found[position - most : position]))
    made = [source in (maker.owners[name] for name in maker.results) for maker in makers]
    return made.index(True) if True in made else most


def l3_constants_of(option: TilingOption, l3_constants: frozenset[str]) -> list[str]:
    """Constants that an option reads from L3."""
    return list(dict.fromkeys(owner for _, owner in _streamed_constants(option) if owner in l3_constants))


def constant_bytes(option: TilingOption, l3_constants: frozenset[str], counted: frozenset[str]) -> tuple[int, int]:
    """Bytes of an option's constants in L2, and in the weight memory, which also holds the image that L3 is filled
    from."""
    l2, kept = 0, rounded(option.weights, 32)
    for name, owner in _streamed_constants(option):
        size = rounded(option.grid.types[name].bytes, 16) if owner in counted else 0
        l2, kept = (l2, kept + size) if owner in l3_constants else (l2 + size, kept)
    return l2, kept


def _streamed_constants(option: TilingOption) -> list[tuple[str, str]]:
    constants = (o.name for o in option.operands if o.is_constant and o.name not in option.kernel.resident)
    return [(name, option.owners[name]) for name in constants]


def _first_used(found: Sequence[LayerOptions], position: int) -> frozenset[str]:
    """Owners that no layer before uses: a constant's bytes count once."""
    own = {owner for option in found[position].options for owner in option.owners.values()}
    return frozenset(
        own.difference(*(option.owners.values() for before in found[:position] for option in before.options[:1]))
    )


def _candidate(
    option: TilingOption,
    ahead: int,
    hidden: float,
    l3_constants: frozenset[str],
    new: frozenset[str],
    dma: Link,
    meanwhile: float,
) -> Candidate:
    """The layers before hide the fetching of the first tile's constants, or a part of it; those after it may hide
    some of an accelerator's time."""
    cycles = option.cycles + max(option.fetching(dma) - hidden, 0.0) - meanwhile
    before = option.before if ahead else 0
    constants, kept = constant_bytes(option, l3_constants, new)
    staging_bytes = sum(rounded(size, 16) for size in option.l2_staging_bytes.values())
    alternative = select.Alternative(
        round(cycles), option.bytes, before, ahead, option.l1, constants, kept, option.l3, staging_bytes
    )
    return Candidate(option, ahead, alternative, cycles + meanwhile)


def limits_of(budget: L1Budget, mapped: Mapped, settings: Settings) -> Limits:
    costs = costs_of(mapped.target, settings)
    own = costs if budget.stacks_in_l1 else costs.with_stacks_outside_l1()
    return Limits(budget.cores, budget.arena, settings.buffering, own, mapped.target.hierarchy)


def costs_of(target: Target, settings: Settings) -> Costs:
    """With the code where the settings have it."""
    return target.costs.with_l1_code() if settings.code_in_l1 else target.costs
