"""Accelerators at work while cores compute something else: how long their jobs may stay in flight, and the time won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from tilewright.planner.cluster.tiling_option import RuntimeSlots, TilingOption, ends_in_order
from tilewright.target.costs import Costs


def in_flight_steps(
    options: Sequence[TilingOption], owners: Mapping[str, str], begun: Sequence[int], slots: RuntimeSlots
) -> list[int]:
    """For every layer, how many of the following ones may run before anyone waits for it. `begun` is the step in which
    each begins: a DMA copy may begin before its own."""
    return [
        _independent(options, owners, number, begun, slots) if option.can_stay_in_flight else 0
        for number, option in enumerate(options)
    ]


def _independent(
    options: Sequence[TilingOption], owners: Mapping[str, str], number: int, begun: Sequence[int], slots: RuntimeSlots
) -> int:
    """How many of the layers behind one neither read its results nor write its operands, or leave the order to the
    accelerator."""
    nodes = [option.node for option in options]
    made = {owners[name] for name in nodes[number].outputs if name}
    read = {owners[name] for name in nodes[number].inputs if name}
    most = min(slots.offload - 1, len(nodes) - 1 - number)
    for later in range(number + 1, min(number + slots.offload + slots.prefetch, len(nodes))):
        reads = {owners[name] for name in nodes[later].inputs if name}
        writes = {owners[name] for name in nodes[later].outputs if name}
        shared = (reads & made) | (writes & (read | made))
        if shared and not _left_to_the_accelerator(options[number], options[later], shared):
            most = min(most, begun[later] - number - 1)
    return most


def _left_to_the_accelerator(option: TilingOption, later: TilingOption, shared: Set[str]) -> bool:
    """Whether no transfer has to do with what two layers share, and one's jobs come behind the other's."""
    moved = {later.owners[operand.name] for operand in later.operands if operand.streamed}
    return ends_in_order(option, later) and not shared & moved


def hideable(options: Sequence[Sequence[TilingOption]], owners: Mapping[str, str], slots: RuntimeSlots) -> list[float]:
    """Of every layer, given the options of each: an accelerator's cycles during which cores have work of their own."""
    fastest = [min(group, key=lambda option: option.cycles) for group in options]
    left = [option.cycles for option in fastest]
    found = []
    for number, option in enumerate(fastest):
        hidden = 0.0
        in_flight = _independent(fastest, owners, number, range(len(fastest)), slots) if option.engine_cycles else 0
        for later in range(number + 1, number + 1 + in_flight):
            if _is_for_the_same(option, fastest[later]):
                continue
            part = min(left[later], option.engine_cycles - hidden)
            left[later] -= part
            hidden += part
        found.append(hidden)
    return found


def _is_for_the_same(option: TilingOption, later: TilingOption) -> bool:
    """Whether two layers are an accelerator's, which has one job after the other."""
    return later.mode == "offload" and later.engine == option.engine


def hidden_cycles(options: Sequence[TilingOption], number: int, in_flight: int, costs: Costs) -> float:
    """What cores and other accelerators have to do meanwhile hides as much of an accelerator's time, and nobody waits
    for the tile; but fetching for the next layer is not hidden any more."""
    later = options[number + 1 : number + 1 + in_flight]
    own = options[number]
    meanwhile = sum(one.cycles - (one.engine_cycles if _is_for_the_same(own, one) else 0.0) for one in later)
    return min(options[number].engine_cycles, meanwhile) + costs.tile - costs.fetch


def timeline(
    options: Sequence[TilingOption], cycles: Sequence[float], in_flight: Sequence[int], costs: Costs
) -> list[int]:
    """What passes from layer to layer, given what each would take alone: each accelerator has one job after the other,
    and cores wait for it where they need it, or a slot in its queue. What is fetched for the next layer is hidden only
    where they wait."""
    now, found = 0.0, []
    free: dict[str, float] = {}
    ends = [0.0] * len(options)
    for number, (option, alone) in enumerate(zip(options, cycles, strict=True)):
        begun = now
        now = max([now, *(ends[i] for i in range(number) if in_flight[i] and i + in_flight[i] + 1 == number)])
        now += alone - (
            max(option.engine_cycles, costs.fetch) + costs.tile if in_flight[number] else option.engine_cycles
        )
        if option.fills_queue:
            now = max(now, free.get(option.engine, 0.0))
        if option.engine_cycles:
            free[option.engine] = ends[number] = max(now, free.get(option.engine, 0.0)) + option.engine_cycles
            now = now + costs.fetch if in_flight[number] else ends[number]
        found.append(round(now - begun))
    return found
