"""The candidates for every layer: its engines and kernels, their tiling options, and when constants are prefetched."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from tilewright.ir.graph import Node
from tilewright.ir.op import Op
from tilewright.planner.cluster import select
from tilewright.planner.cluster.capacity import TileBudget, stack_of
from tilewright.planner.cluster.elsewhere import Elsewhere
from tilewright.planner.cluster.enumerate import best, layer_of, options
from tilewright.planner.cluster.tiling_option import Layer, Limits, Operand, RuntimeSlots, TilingOption
from tilewright.planner.cluster.weight_memory import may_be_resident
from tilewright.records import dataclass
from tilewright.target.costs import Costs
from tilewright.target.mapping import Estimate, Mapped
from tilewright.target.memory import Link
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.tiling.tiles import Inside

FETCHED_AHEAD = 3
"""How many steps before its own a layer's constants and parameters may be fetched."""


@dataclass(frozen=True)
class LayerOptions:
    """How a layer could be run."""

    layer: Layer
    """With the kernel that is preferred."""
    options: tuple[TilingOption, ...]
    estimates: tuple[Estimate, ...]
    """The best of every engine that takes it, in the target's order."""

    @cached_property
    def modes(self) -> frozenset[str]:
        return frozenset(option.mode for option in self.options)

    @cached_property
    def has_forms(self) -> bool:
        """Whether an engine takes it in several forms, whose constants differ in size."""
        forms = {(option.engine, type(option.node.op)) for option in self.options}
        return len(forms) > len({engine for engine, _ in forms})

    def idle(self, dma: Link) -> float:
        """Cycles of the quickest option in which the DMA has time for what later layers need."""
        quickest = min(self.options, key=lambda option: option.warm_cycles)
        return max(quickest.warm_cycles - quickest.loading(dma), 0.0)


class Candidate(NamedTuple):
    option: TilingOption
    prefetch_distance: int
    alternative: select.Alternative
    alone: float
    """Cycles that it would take if cores had to wait for accelerators."""


NOTHING: Mapping[str, str] = MappingProxyType({})


def layers_of(
    mapped: Mapped, settings: Settings, budget: TileBudget, node: Node, owners: Mapping[str, str],
    movable: frozenset[str], inside: Mapping[str, Inside], spillable: frozenset[str] = frozenset(),
    pinned: Mapping[str, str] = NOTHING,
) -> list[Layer]:  # fmt: skip
    """A node with each engine and kernel that could compute it and is content with the stack; engines in order.
    `pinned` are constants whose memory is no longer a choice."""
    found: list[Layer] = []
    for candidate in mapped.all_choices(node):
        kernel = candidate.kernel
        first = all(layer.engine != candidate.engine.name for layer in found)
        if kernel.resident and not (settings.weight_memory and may_be_resident(mapped, candidate, pinned)):
            continue
        if first or stack_of(mapped, kernel) <= budget.deepest:
            size = mapped.params_bytes(kernel)
            found.append(layer_of(mapped.graph, candidate.node, candidate, owners, movable, size, inside, spillable))
    return found


# ---- options --------------------------------------------------------------------------------------------------------


def layer_options(groups: Sequence[Sequence[Layer]], limits: Limits) -> list[LayerOptions]:
    """Of every layer. Those that differ only in their tensors, and in numbers that decide nothing, are worked out
    once, whichever network they are of."""
    known, result = _known(limits), []
    for group in groups:
        key = tuple(map(signature, group))
        if key not in known:
            known[key] = (group, *_worked_out(group, limits))
        first, found, estimates = known[key]
        if first is not group:
            renamings = [_Renaming(old, new) for old, new in zip(first, group, strict=True)]
            found = [(i, renamings[i](option)) for i, option in found]
        result.append(LayerOptions(group[0], tuple(option for _, option in found), estimates))
    return result


_Known = dict[object, tuple[Sequence[Layer], list[tuple[int, TilingOption]], tuple[Estimate, ...]]]
"""By the signatures of a layer: a layer that has them, its options, and what each engine would take."""

_RECENT: deque[tuple[Limits, _Known]] = deque(maxlen=64)
_LOOKING = threading.Lock()
MANY = 100
"""Layers that are remembered under the same limits."""


def _known(limits: Limits) -> _Known:
    """What was worked out in this process under the same limits. Other threads may be adding to it."""
    with _LOOKING:
        entry = next((one for one in _RECENT if one[0] == limits), None)
        if entry is not None and len(entry[1]) <= MANY:
            return entry[1]
        if entry is not None:
            _RECENT.remove(entry)
        found: _Known = {}
        _RECENT.append((limits, found))
        return found


def _worked_out(group: Sequence[Layer], limits: Limits) -> tuple[list[tuple[int, TilingOption]], tuple[Estimate, ...]]:
    """The options of all engines, each with the position of its layer."""
    positions = {layer.kernel: i for i, layer in enumerate(group)}
    found: list[TilingOption] = []
    estimates = []
    engines = dict.fromkeys(layer.engine for layer in group)
    forms = dict.fromkeys((layer.engine, type(layer.node.op)) for layer in group)
    for engine in engines:
        own = [o for form in forms if form[0] == engine for o in _options_of(_in_form(group, form), limits)]
        if own:
            fastest = min(own, key=lambda option: option.cycles)
            estimates.append(Estimate(engine, fastest.kernel.stem, round(fastest.cycles)))
        found += own
    # Forms differ in the bytes of their constants, which count elsewhere: the slower one may be the better one.
    kept = best(found) if len(estimates) > 1 and len(forms) == len(engines) else found
    return [(positions[option.kernel], option) for option in kept], tuple(estimates)


def _in_form(group: Sequence[Layer], form: tuple[str, type[Op]]) -> list[Layer]:
    return [layer for layer in group if (layer.engine, type(layer.node.op)) == form]


def _options_of(group: Sequence[Layer], limits: Limits) -> list[TilingOption]:
    """Those of the preferred kernel; of the others only where it would have to work in L2, and of the one instead of it
    where some tensors would have to be in L1 already. An accelerator's kernels are all considered."""
    first, *others = group
    found = options(first, limits)
    if not first.kernel.offloaded and any(option.mode != "in_place" for option in found):
        others = [layer for layer in others if layer.kernel.source == first.kernel.instead]
        if not others or _is_tiled_everywhere(found):
            return found
    return best([*found, *(option for layer in others for option in options(layer, limits))])


def _is_tiled_everywhere(found: Sequence[TilingOption]) -> bool:
    """Whether there is no choice of homes with which it would have to work in L2."""
    tiled = {(option.inside, option.spilled) for option in found if option.mode != "in_place"}
    return {(option.inside, option.spilled) for option in found} <= tiled


def signature(layer: Layer) -> object:
    """What decides its options: the same for layers that differ only in their tensors."""
    owners = {name: i for i, name in enumerate(dict.fromkeys(layer.owners.values()))}
    roles = tuple(
        (name, owners[owner], owner in layer.movable, owner in layer.spillable) for name, owner in layer.owners.items()
    )
    # Homes are considered in the order of names, and of equal options the first is taken.
    in_order = tuple(owners[name] for name in sorted(layer.movable | layer.spillable))
    places, types = tuple(layer.inside.items()), tuple(layer.types.items())
    own = layer.kernel.planning_key(layer.node.op, layer.types)
    return (
        own, layer.kernel, layer.engine, layer.params_bytes, types, roles, in_order, layer.constants, layer.ready,
        places,
    )  # fmt: skip


class _Renaming:
    """From the options of a layer to those of one like it."""

    def __init__(self, old: Layer, new: Layer) -> None:
        self.node, self.owners = new.node, new.owners
        self.tensors = {**new.node.operands(), **new.node.results()}
        self.same_op, self.geometry = old.node.op == new.node.op, new.whole.geometry
        self.operands: dict[int, Operand] = {}
        self.owner_of = dict(zip(old.owners.values(), new.owners.values(), strict=True))

    def __call__(self, option: TilingOption) -> TilingOption:
        operands = tuple(map(self._operand, option.operands))
        inside, spilled = (
            frozenset(self.owner_of[name] for name in names) for names in (option.inside, option.spilled)
        )
        grid = option.grid if self.same_op else replace(option.grid, geometry=self.geometry)
        return replace(
            option, node=self.node, grid=grid, operands=operands, inside=inside, spilled=spilled, owners=self.owners
        )

    def _operand(self, operand: Operand) -> Operand:
        """Options have many of their operands in common, and keep them while they are renamed."""
        found = self.operands.get(id(operand))
        if found is None:
            self.operands[id(operand)] = found = operand._replace(tensor=self.tensors[operand.name])
        return found


# ---- options and prefetch distances ---------------------------------------------------------------------------------


def candidates_of(
    found: Sequence[LayerOptions],
    position: int,
    elsewhere: Elsewhere,
    placed: frozenset[str],
    hideable: Sequence[float],
    slots: RuntimeSlots,
) -> list[Candidate]:
    """Every option of a layer with its constants fetched at its turn, or some steps before. `placed` are the tensors
    that have their place in some arena for as long as they live."""
    hidden = [0.0]
    for before in reversed(found[max(position - slots.prefetch, 0) : position]):
        hidden.append(hidden[-1] + before.idle(slots.dma))
    new, staged = _first_used(found, position), elsewhere.staged
    candidates = []
    for option in found[position].options:
        sizes, fetching = _sizes(option, elsewhere.all, new), option.fetching(slots.dma)
        meanwhile = min(hideable[position], option.engine_cycles) if option.can_stay_in_flight else 0.0
        arriving = _arriving(option, staged, slots) if found[position].has_forms else 0.0
        turns = _turns(found, position, option, staged, placed, hidden, slots)
        candidates += [
            _candidate(option, ahead, max(fetching - hidden[ahead], 0.0) + arriving, meanwhile, sizes)
            for ahead in turns
        ]
    return candidates


def _turns(
    found: Sequence[LayerOptions], position: int, option: TilingOption, staged: Mapping[str, str],
    placed: frozenset[str], hidden: Sequence[float], slots: RuntimeSlots,
) -> list[int]:  # fmt: skip
    """How many steps before its own a layer's fetching may begin: as late as its time is hidden, or as early as it can.
    During a DMA copy nobody computes, so that nothing else is begun there. Starting a copy takes the DMA core some
    time, which it has while the other cores compute."""
    turns = [0]
    for ahead in range(1, 1 + _most_ahead(found, position, option, staged, placed, slots)):
        modes = found[position - ahead].modes
        if "dma_copy" not in modes and not (option.mode == "dma_copy" and "offload" in modes):
            turns.append(ahead)
            if hidden[ahead] >= option.fetching(slots.dma):
                break
    return turns


def _most_ahead(
    found: Sequence[LayerOptions],
    position: int,
    option: TilingOption,
    staged: Mapping[str, str],
    placed: frozenset[str],
    slots: RuntimeSlots,
) -> int:
    """The same, by what must not happen meanwhile: no step in between makes what is copied, and only the arena of L1
    keeps a place for the result before the layer's own step."""
    most = min(position, slots.prefetch)
    if staged_constants_of(option, staged):
        return 0
    if option.mode != "dma_copy":
        return min(most, FETCHED_AHEAD) if option.prefetch_bytes else 0
    source, result = option.owners["X"], option.owners["Y"]
    if result in placed and result not in option.inside:
        return 0
    makers = (other.layer for other in reversed(found[position - most : position]))
    made = [source in (maker.owners[name] for name in maker.results) for maker in makers]
    return made.index(True) if True in made else most


def staged_constants_of(option: TilingOption, staged: Mapping[str, str]) -> list[str]:
    """Of constants that live in memories behind the home, those that an option reads."""
    return list(dict.fromkeys(owner for _, owner in _streamed_constants(option) if owner in staged))


def _arriving(option: TilingOption, staged: Mapping[str, str], slots: RuntimeSlots) -> float:
    """Cycles for the bytes of constants that are staged: nothing is faster than their links."""
    constants = [(name, owner) for name, owner in _streamed_constants(option) if owner in staged]
    return sum(option.grid.types[name].bytes * slots.staged_read[staged[owner]] for name, owner in constants)


def constant_bytes(option: TilingOption, elsewhere: frozenset[str], counted: frozenset[str]) -> tuple[int, int]:
    """Bytes of an option's constants in L2, and in the weight memory, which also holds the image that others are filled
    from."""
    memories, home = option.memories, 0
    kept = memories.weights.whole_constant(option.weights) if memories.weights else 0
    for name, owner in _streamed_constants(option):
        size = memories.home.whole_constant(option.grid.types[name].bytes) if owner in counted else 0
        home, kept = (home, kept + size) if owner in elsewhere else (home + size, kept)
    return home, kept


def _streamed_constants(option: TilingOption) -> list[tuple[str, str]]:
    return [(name, option.owners[name]) for name in option.streamed_constants]


def _first_used(found: Sequence[LayerOptions], position: int) -> frozenset[str]:
    """Owners that no layer before uses: a constant's bytes count once."""
    own = {owner for option in found[position].options for owner in option.owners.values()}
    return frozenset(
        own.difference(*(option.owners.values() for before in found[:position] for option in before.options[:1]))
    )


class _Sizes(NamedTuple):
    """Bytes that an option needs elsewhere than in L1."""

    constants: int
    kept: int
    staging: int


def _sizes(option: TilingOption, elsewhere: frozenset[str], new: frozenset[str]) -> _Sizes:
    staging = sum(option.memories.home.whole(size) for size in option.staging_bytes.values())
    return _Sizes(*constant_bytes(option, elsewhere, new), staging)


def _candidate(option: TilingOption, ahead: int, fetching: float, meanwhile: float, sizes: _Sizes) -> Candidate:
    """`fetching` is what the layers before do not hide of it; those after may hide `meanwhile` of an accelerator's
    time."""
    cycles = option.cycles + fetching - meanwhile
    before = option.before if ahead else 0
    alternative = select.Alternative(
        round(cycles),
        option.bytes,
        before,
        ahead,
        option.inside,
        sizes.constants,
        sizes.kept,
        option.spilled,
        sizes.staging,
    )
    return Candidate(option, ahead, alternative, cycles + meanwhile)


def limits_of(budget: TileBudget, mapped: Mapped, settings: Settings) -> Limits:
    costs = costs_of(mapped.target, settings)
    own = costs if budget.stacks_inside or budget.stacks_are_local else costs.with_stacks_outside()
    return Limits(budget.cores, budget.arena, settings.buffering, own, mapped.target.paths)


def costs_of(target: Target, settings: Settings) -> Costs:
    """With the code where the settings have it."""
    return target.costs.with_inner_code() if settings.code_in_l1 else target.costs
