"""Runs a program with probes and says what it did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tilewright.ir.types import Array
from tilewright.planner.program.program import prefetches
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.charging import charged
from tilewright.profiling.places import START, TRANSFER_WAIT, places
from tilewright.profiling.profile import Interval, LayerProfile, Moved, Profile, Tile
from tilewright.profiling.timeline import PREFETCH, CallInterval, JobInterval, Jobs, Timeline, timeline
from tilewright.records import dataclass
from tilewright.run.declared_energy import with_accelerators
from tilewright.run.simulated import CallMeter, run_to_end
from tilewright.run.soc import SocProgram
from tilewright.sim.activity import Activity
from tilewright.sim.energy import Energy, EnergyModel
from tilewright.sim.watching.probes import Transfer

COMPUTING = frozenset({"run", "gather", "finish"})
"""Functions of layers in which cores compute, or give jobs to an accelerator."""


@dataclass(frozen=True)
class Profiled:
    profile: Profile
    timeline: Timeline


def profile_program(program: SocProgram, inputs: Mapping[str, Array], network: str) -> Profiled:
    """One run of a network on its virtual SoC. Nothing in the program is changed by watching it."""
    writer, agents = program.writer, program.target.agents
    schedule = writer.schedule
    with program.target.simulator() as simulator:
        elf = program.load(simulator, inputs)
        staged = [memory.symbol for memory in program.target.paths.behind]
        known, call = places(elf, f"{writer.name}_run", staged), CallMeter.of(elf, f"{writer.name}_run")
        starts = [address for address, place in known.items() if place.kind == START]
        watched = [*range(schedule.cores), agents.dma_core]
        simulator.probe(known, cores=watched, metered=[*starts, *call.places])
        run_to_end(simulator)
        events = simulator.probes()
        inside = [event for event in events if event.address in known]
        layers = {
            model.name: [layer.number for layer in schedule.layers if layer.engine == model.name]
            for model in program.target.models
        }
        jobs = Jobs(simulator.jobs(), layers)
        found = timeline(inside, simulator.transfers(), jobs, known, _fetched(schedule), agents.dma_core)
        meter = Meter(simulator.platform.energy, *call.around(events))
        cycles = meter.after.since(meter.before).cycles_read_as(simulator.read_word("tw_cycles"))
    return Profiled(_profile(schedule, network, cycles, found, meter), found)


@dataclass(frozen=True)
class Meter:
    """What the platform had done when the network was called and when it returned, and what that costs."""

    model: EnergyModel | None
    before: Activity
    after: Activity

    def total(self) -> Energy | None:
        return self.model.of(self.after.since(self.before)) if self.model else None

    def by_layer(self, found: Timeline, layers: int) -> list[Energy | None]:
        """A layer begins when its last core begins it, as for its cycles."""
        model = self.model
        if model is None:
            return [None] * layers
        last = [max((own[n] for own in found.starts.values()), key=lambda s: s.cycle) for n in range(1, layers)]
        ends = [start.activity for start in last if start.activity is not None] + [self.after]
        return [model.of(end.since(begin)) for begin, end in zip([self.before, *ends], ends, strict=False)]


def _fetched(schedule: Schedule) -> list[int]:
    """The layers in the order in which their constants and parameters are fetched."""
    bodies = (body for turn in zip(*schedule.program.agents.values(), strict=True) for body in turn)
    events = (event for body in bodies for event in (*prefetches(body.before), *prefetches(body.events)))
    return list(dict.fromkeys(number for event in events for number in event.layers))


def _profile(schedule: Schedule, network: str, cycles: int, found: Timeline, meter: Meter) -> Profile:
    cores, count, placed = schedule.cores, len(schedule.layers), schedule.placed
    # A layer is over when its last core leaves it.
    ends = [max(starts[number].cycle for starts in found.starts.values()) for number in range(1, count)]
    starts = [0, *ends, cycles]
    calls, moved = _by_layer(found.calls), _dma_copy(found.transfers, schedule)
    times = [Interval(start, end) for start, end in pairwise(starts)]
    waits, counted = _waits(found.calls, cores, times), meter.by_layer(found, count)
    energies = [
        with_accelerators(energy, schedule, time.cycles, [layer])
        for energy, time, layer in zip(counted, times, schedule.layers, strict=True)
    ]
    layers = tuple(
        _layer(schedule, number, times[number], found, calls[number], moved, waits[number], energies[number])
        for number in range(count)
    )
    layers = _with_charges(layers, found)
    predicted = sum(layer.predicted for layer in layers)
    return Profile(
        network,
        schedule.target.name,
        cores,
        cycles,
        predicted,
        layers,
        with_accelerators(meter.total(), schedule, cycles),
        least=placed.least.cycles,
    )


def _with_charges(layers: Sequence[LayerProfile], found: Timeline) -> tuple[LayerProfile, ...]:
    """What is in flight belongs to its own layer, not to the one that cores have begun meanwhile."""
    if not found.jobs:
        return tuple(layers)
    computing = ((call.layer, call.time) for call in found.calls if call.kind in COMPUTING)
    each = charged([layer.time for layer in layers], computing, found.jobs)
    pairs = zip(layers, each, strict=True)
    return tuple(replace(layer, charged=one.cycles, in_flight=one.elapsed) for layer, one in pairs)


def _layer(
    schedule: Schedule, number: int, time: Interval, found: Timeline, calls: list[CallInterval],
    moved: Mapping[tuple[int, int, bool], Moved], waiting: int, energy: Energy | None,
) -> LayerProfile:  # fmt: skip
    graph, layer, cores = schedule.graph, schedule.layers[number], schedule.cores
    option, predicted = layer.option, schedule.placed.layer_cycles[layer.node.key]
    # Whatever an accelerator computes is the DMA core's work; the others are in the next layer already.
    busy = [
        core
        for core in found.starts
        if (core >= cores) == (option.mode == "offload" and not option.kernel.has_epilogue)
    ]
    node, macs = option.node, graph.macs(option.node)
    elements = sum(graph.types[name].elements for name in node.outputs if name)
    return LayerProfile(
        number, node.name or node.key, node.op.kind, option.engine, option.kernel.stem, option.mode,
        option.double, _home(schedule, layer), predicted, time, macs, 2 * macs or elements,
        _stalls(found, busy, number), waiting, _core_time(found, busy, number),
        _tiles(layer, time, calls, found.jobs, moved, cores), energy, short_name=graph.short_name(node),
    )  # fmt: skip


def _home(schedule: Schedule, layer: LayerSchedule) -> str:
    memories, operands = schedule.target.paths, layer.option.operands
    for memory in memories.behind:
        if any(schedule.homes[operand.tensor].memory == memory.name for operand in operands):
            return memory.name
    return (memories.home if any(operand.streamed for operand in operands) else memories.tiles).name


def _stalls(found: Timeline, cores: Iterable[int], layer: int) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for core in cores:
        before, after = (found.starts[core][number].stalls for number in (layer, layer + 1))
        for cause, cycles in after.items():
            total[cause] += cycles - before[cause]
    # One cause is what the others do not explain; it shrinks a little where they overlap.
    return {cause: max(cycles, 0) for cause, cycles in total.items()}


def _core_time(found: Timeline, cores: Iterable[int], layer: int) -> int:
    return sum(found.starts[core][layer + 1].cycle - found.starts[core][layer].cycle for core in cores)


def _waits(calls: Iterable[CallInterval], cores: int, times: list[Interval]) -> list[int]:
    """By layer. A core may wait for a layer that others have not begun: each layer has what lies in its own time."""
    total, calls = [0] * len(times), list(calls)
    busy = _computing(calls)
    for call in calls:
        if call.kind != TRANSFER_WAIT:
            continue
        if call.core >= cores:
            # All others wait for the DMA core, as soon as they have come to its layer and while they do not compute.
            own = times[call.layer]
            waited = Interval(max(call.time.start, own.start), min(call.time.end, own.end))
            exposed = max(waited.cycles, 0) - sum(_shared(waited, time) for time in busy[call.layer])
            total[call.layer] += cores * max(exposed, 0)
            continue
        for number, time in enumerate(times):
            total[number] += _shared(call.time, time)
    return total


def _computing(calls: Iterable[CallInterval]) -> dict[int, list[Interval]]:
    """By layer: when cores are in a kernel, from the first that begins a tile to the last that ends it."""
    turns: dict[tuple[int, int], list[Interval]] = defaultdict(list)
    for call in calls:
        if call.kind == "run":
            turns[call.layer, call.turn].append(call.time)
    found: dict[int, list[Interval]] = defaultdict(list)
    for (layer, _), spans in turns.items():
        found[layer].append(_around(spans))
    return found


def _shared(one: Interval, other: Interval) -> int:
    return max(min(one.end, other.end) - max(one.start, other.start), 0)


def _by_layer(calls: Iterable[CallInterval]) -> dict[int, list[CallInterval]]:
    found: dict[int, list[CallInterval]] = defaultdict(list)
    for call in calls:
        found[call.layer].append(call)
    return found


def _tile_of(schedule: Schedule, call: CallInterval) -> int:
    """Tiles are dealt out to cores in turn, or all cores are at the same one."""
    if call.kind == PREFETCH:
        return 0
    option = schedule.layers[call.layer].option
    if call.kind == "renew":
        return call.turn * min(operand.period for operand in option.single_buffered)
    return call.core + call.turn * schedule.cores if option.mode == "per_core" else call.turn


def _dma_copy(
    transfers: Iterable[tuple[CallInterval, Transfer]], schedule: Schedule
) -> dict[tuple[int, int, bool], Moved]:
    """By layer, tile, and whether it was fetched."""
    groups: dict[tuple[int, int, bool], list[Transfer]] = defaultdict(list)
    for call, transfer in transfers:
        groups[call.layer, _tile_of(schedule, call), transfer.is_in].append(transfer)
    return {
        key: Moved(tuple(Interval(t.start, t.end) for t in group), sum(t.bytes for t in group))
        for key, group in groups.items()
    }


def _tiles(
    layer: LayerSchedule, time: Interval, calls: Iterable[CallInterval], jobs: Iterable[JobInterval],
    moved: Mapping[tuple[int, int, bool], Moved], cores: int,
) -> tuple[Tile, ...]:  # fmt: skip
    runs: dict[int, dict[int, Interval]] = defaultdict(dict)
    engine: dict[int, list[Interval]] = defaultdict(list)
    for job in jobs:
        if job.layer == layer.number and not job.device:
            engine[job.tile].append(job.time)
    if layer.is_copied:
        inward, outward = (moved.get((layer.number, 0, is_in), Moved()) for is_in in (True, False))
        # Where no engine moves it, cores copy all the time.
        return (Tile(0, _around(inward.intervals or outward.intervals or (time,)), {}, inward, outward),)
    for call in calls:
        if call.kind == "finish":
            engine[call.turn].append(call.time)
        if call.kind == "run":
            tile = call.core + call.turn * cores if layer.is_per_core else call.turn
            runs[tile][call.core] = call.time
    return tuple(
        Tile(
            tile, _around(engine.get(tile) or list(own.values())), own,
            moved.get((layer.number, tile, True), Moved()), moved.get((layer.number, tile, False), Moved()),
        )
        for tile, own in sorted(runs.items())
    )  # fmt: skip


def _around(times: Sequence[Interval]) -> Interval:
    return Interval(min(time.start for time in times), max(time.end for time in times))
