"""Runs a program with probes and says what it did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.cluster.plan import Plan, Step
from tilewright.profiling.places import START, WAITS, places
from tilewright.profiling.profile import Interval, LayerProfile, Moved, Profile, Tile
from tilewright.profiling.timeline import PREFETCH, CallInterval, JobInterval, Jobs, Timeline, timeline
from tilewright.run.simulated import CallMeter, run_to_end
from tilewright.run.soc import SocProgram
from tilewright.sim.activity import Activity
from tilewright.sim.energy import Energy, EnergyModel
from tilewright.sim.watching.probes import Transfer


@dataclass(frozen=True)
class Profiled:
    profile: Profile
    timeline: Timeline


def profile_program(program: SocProgram, inputs: Mapping[str, Array], network: str) -> Profiled:
    """One run of a network on its virtual SoC. Nothing in the program is changed by watching it."""
    writer, agents = program.writer, program.target.agents
    with program.target.simulator() as simulator:
        elf = program.load(simulator, inputs)
        known, call = places(elf, f"{writer.name}_run"), CallMeter.of(elf, f"{writer.name}_run")
        starts = [address for address, place in known.items() if place.kind == START]
        watched = [*range(writer.plan.budget.cores), agents.dma_core]
        simulator.probe(known, cores=watched, metered=[*starts, *call.places])
        run_to_end(simulator)
        events = simulator.probes()
        inside = [event for event in events if event.address in known]
        plan = writer.plan
        layers = {
            model.name: [n for n, step in enumerate(plan.steps) if step.option.engine == model.name]
            for model in program.target.models
        }
        jobs = Jobs(simulator.jobs(), layers)
        found = timeline(inside, simulator.transfers(), jobs, known, _fetched(plan), agents.dma_core)
        meter = Meter(simulator.platform.energy, *call.around(events))
        cycles = meter.after.since(meter.before).cycles_read_as(simulator.read_word("tw_cycles"))
    return Profiled(_profile(writer.schedule.graph, writer.plan, network, cycles, found, meter), found)


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


def _fetched(plan: Plan) -> list[int]:
    """The layers in the order in which their constants and parameters are fetched."""
    order: list[int] = []
    for number, step in enumerate(plan.steps):
        at_its_turn = [number] if step.option.mode != "in_place" and not step.prefetch_distance else []
        order += at_its_turn + plan.fetched_during(number)
    return order


def _profile(graph: Graph, plan: Plan, network: str, cycles: int, found: Timeline, meter: Meter) -> Profile:
    cores = plan.budget.cores
    # A layer is over when its last core leaves it.
    ends = [max(starts[number].cycle for starts in found.starts.values()) for number in range(1, len(plan.steps))]
    starts = [0, *ends, cycles]
    calls, moved = _by_layer(found.calls), _dma_copy(found.transfers, plan, cores)
    times = [Interval(start, end) for start, end in pairwise(starts)]
    waits, energies = _waits(found.calls, plan, times), meter.by_layer(found, len(plan.steps))
    layers = tuple(
        _layer(graph, plan, number, times[number], found, calls[number], moved, waits[number], energies[number])
        for number in range(len(plan.steps))
    )
    predicted = sum(layer.predicted for layer in layers)
    return Profile(
        network, plan.mapped.target.name, cores, cycles, predicted, layers, meter.total(), least=plan.least.cycles
    )


def _layer(
    graph: Graph, plan: Plan, number: int, time: Interval, found: Timeline, calls: list[CallInterval],
    moved: Mapping[tuple[int, int, bool], Moved], waiting: int, energy: Energy | None,
) -> LayerProfile:  # fmt: skip
    step, cores = plan.steps[number], plan.budget.cores
    option = step.option
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
        option.double, _home(plan, step), step.predicted, time, macs, 2 * macs or elements,
        _stalls(found, busy, number), waiting, _core_time(found, busy, number),
        _tiles(number, step, time, calls, found.jobs, moved, cores), energy,
    )  # fmt: skip


def _home(plan: Plan, step: Step) -> str:
    memories = plan.memories
    for memory in memories.behind:
        if any(plan.homes[operand.tensor].memory == memory.name for operand in step.option.operands):
            return memory.name
    return (memories.home if any(operand.streamed for operand in step.option.operands) else memories.tiles).name


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


def _waits(calls: Iterable[CallInterval], plan: Plan, times: list[Interval]) -> list[int]:
    """By layer. A core may wait for a layer that others have not begun: each layer has what lies in its own time."""
    total, calls = [0] * len(times), list(calls)
    busy = _computing(calls)
    for call in calls:
        if call.kind not in WAITS:
            continue
        if call.core >= plan.budget.cores:
            # All others wait for the DMA core, as soon as they have come to its layer and while they do not compute.
            own = times[call.layer]
            waited = Interval(max(call.time.start, own.start), min(call.time.end, own.end))
            exposed = max(waited.cycles, 0) - sum(_shared(waited, time) for time in busy[call.layer])
            total[call.layer] += plan.budget.cores * max(exposed, 0)
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


def _tile_of(plan: Plan, call: CallInterval, cores: int) -> int:
    """Tiles are dealt out to cores in turn, or all cores are at the same one."""
    if call.kind == PREFETCH:
        return 0
    option = plan.steps[call.layer].option
    if call.kind == "renew":
        return call.turn * min(operand.period for operand in option.single_buffered)
    return call.core + call.turn * cores if option.mode == "per_core" else call.turn


def _dma_copy(
    transfers: Iterable[tuple[CallInterval, Transfer]], plan: Plan, cores: int
) -> dict[tuple[int, int, bool], Moved]:
    """By layer, tile, and whether it was fetched."""
    groups: dict[tuple[int, int, bool], list[Transfer]] = defaultdict(list)
    for call, transfer in transfers:
        groups[call.layer, _tile_of(plan, call, cores), transfer.is_in].append(transfer)
    return {
        key: Moved(tuple(Interval(t.start, t.end) for t in group), sum(t.bytes for t in group))
        for key, group in groups.items()
    }


def _tiles(
    number: int, step: Step, time: Interval, calls: Iterable[CallInterval], jobs: Iterable[JobInterval],
    moved: Mapping[tuple[int, int, bool], Moved], cores: int,
) -> tuple[Tile, ...]:  # fmt: skip
    runs: dict[int, dict[int, Interval]] = defaultdict(dict)
    engine: dict[int, list[Interval]] = defaultdict(list)
    for job in jobs:
        if job.layer == number and not job.device:
            engine[job.tile].append(job.time)
    if step.option.mode == "dma_copy":
        inward, outward = (moved.get((number, 0, is_in), Moved()) for is_in in (True, False))
        # Where no engine moves it, cores copy all the time.
        return (Tile(0, _around(inward.intervals or outward.intervals or (time,)), {}, inward, outward),)
    for call in calls:
        if call.kind == "finish":
            engine[call.turn].append(call.time)
        if call.kind == "run":
            tile = call.core + call.turn * cores if step.option.mode == "per_core" else call.turn
            runs[tile][call.core] = call.time
    return tuple(
        Tile(
            tile, _around(engine.get(tile) or list(own.values())), own,
            moved.get((number, tile, True), Moved()), moved.get((number, tile, False), Moved()),
        )
        for tile, own in sorted(runs.items())
    )  # fmt: skip


def _around(times: Sequence[Interval]) -> Interval:
    return Interval(min(time.start for time in times), max(time.end for time in times))
