"""Runs a board's program with probes: the cycles, instructions and stalls of each layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tilewright.codegen.flow_names import function_name
from tilewright.codegen.kernels import instance_of
from tilewright.ir.types import Array
from tilewright.memory.allocator import shown
from tilewright.planner.arena.allocation import Allocation, ArenaPart, part_with
from tilewright.planner.board.memory import board_memory
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.planned_flow import Planned, planned_layers
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.measuring import Profiled
from tilewright.profiling.memory_map import CONSTANT, RUNTIME, STATE, TENSOR, WORKING, MemoryMap, Occupied, step_titles
from tilewright.profiling.profile import Interval, LayerProfile, Moved, Profile, Tile
from tilewright.profiling.timeline import JobInterval, Start, Timeline, declared_jobs
from tilewright.run.board import BoardProgram
from tilewright.run.declared_energy import with_accelerators
from tilewright.run.simulated import CallMeter, run_to_end
from tilewright.sim.activity import whole_count
from tilewright.sim.watching.calls import return_addresses
from tilewright.sim.watching.probes import Probe

CORE = 0
WHOLE = "whole"
"""A layer is not cut into tiles."""


def profile_board(program: BoardProgram, inputs: Mapping[str, Array], network: str) -> Profiled:
    """One run of a network. Nothing in the program is changed by watching it."""
    writer, schedule = program.network, program.network.schedule
    with program.target.machine() as simulator:
        elf = program.load(simulator, inputs)
        call = CallMeter.of(elf, f"{writer.name}_run")
        kernels = {elf.symbols[_function(schedule, layer)] for layer in schedule.layers}
        flows = {elf.symbols[function_name(layer)] for layer, _ in planned_layers(schedule)}
        behind = set(return_addresses(elf, f"{writer.name}_run")) if flows else set()
        simulator.probe(kernels | behind, metered=call.places)
        run_to_end(simulator)
        events, jobs = simulator.probes(), simulator.jobs()
        counted = None if simulator.counts_calls else simulator.read_word("tw_cycles")
        estimate = simulator.estimate
    begin = next(at for at, event in enumerate(events) if event.address == call.entry)
    end = next(at for at, event in enumerate(events) if at > begin and event.address in call.returns)
    # A layer begins where the one before has ended: where its kernel is called.
    bounds = list(_begun(events[begin:end], kernels, flows, behind))
    marks = [events[begin], *bounds[1:], events[end]] if bounds else [events[begin], events[end]]
    layers = _layers(schedule, marks)
    passed = events[end].cycle - events[begin].cycle
    cycles = passed if counted is None else whole_count(counted, passed)
    predicted = sum(layer.predicted for layer in layers)
    instructions = events[end].instructions - events[begin].instructions
    least = schedule.placed.least.cycles
    profile = Profile(
        network, schedule.target.name, 1, cycles, predicted, layers,
        with_accelerators(None, schedule, cycles), instructions, estimate, least=least,
    )  # fmt: skip
    begins: dict[str, list[tuple[int, int]]] = {}
    for layer in layers:
        begins.setdefault(layer.engine, []).append((layer.time.start, layer.number))
    return Profiled(profile, _timeline(marks, declared_jobs(jobs, begins, marks[0].cycle)))


def _function(schedule: Schedule, layer: LayerSchedule) -> str:
    """What a layer calls."""
    is_flow = isinstance(layer.node.op, Planned)
    return function_name(layer) if is_flow else instance_of(schedule.graph, layer).function


def _begun(events: Sequence[Probe], kernels: set[int], flows: set[int], behind: set[int]) -> Iterator[Probe]:
    """Where layers begin. Kernels that bodies of control flow call are part of its layer, which ends where the network
    goes on behind its call."""
    inside = False
    for event in events:
        if event.address in kernels and not inside:
            inside = event.address in flows
            yield event
        elif event.address in behind:
            inside = False


def _layers(schedule: Schedule, marks: Sequence[Probe]) -> tuple[LayerProfile, ...]:
    predicted = schedule.placed.layer_cycles
    spans = list(pairwise(marks))
    return tuple(
        _layer(schedule, number, call, predicted[call.node.key], marks[0].cycle, *spans[number])
        for number, call in enumerate(schedule.layers)
    )


def _layer(
    schedule: Schedule, number: int, call: LayerSchedule, predicted: int, origin: int, begin: Probe, end: Probe
) -> LayerProfile:
    node, graph = call.node, schedule.graph
    time, macs = Interval(begin.cycle - origin, end.cycle - origin), graph.macs(call.node)
    elements = sum(graph.types[name].elements for name in node.outputs if name)
    energy = with_accelerators(None, schedule, time.cycles, [call])
    stalls = {cause: max(cycles - begin.stalls[cause], 0) for cause, cycles in end.stalls.items()}
    return LayerProfile(
        number, node.name or node.key, node.op.kind, call.engine, call.kernel.stem, WHOLE, False,
        schedule.target.memories[0].name, predicted, time, macs, 2 * macs or elements, stalls, 0, time.cycles,
        (Tile(0, time, {CORE: time}, Moved(), Moved()),), energy, end.instructions - begin.instructions,
        short_name=graph.short_name(node),
    )  # fmt: skip


def _timeline(marks: Sequence[Probe], jobs: tuple[JobInterval, ...]) -> Timeline:
    starts = tuple(Start(mark.cycle - marks[0].cycle, mark.stalls) for mark in marks)
    return Timeline({CORE: starts}, (), (), jobs)


def board_memory_maps(schedule: Schedule, allocation: Allocation) -> tuple[MemoryMap, ...]:
    """RAM with the arena first, which is drawn step by step; flash with the constants; other parts of the arena."""
    graph = allocation.mapped.graph
    steps = step_titles(graph, [node.key for node in graph.nodes], list(allocation.layers))
    last, (ram, flash, *others) = max(len(steps) - 1, 0), board_memory(schedule)
    arenas = [arena_regions(schedule, allocation, part, last) for part in allocation.parts]
    beside = _beside(ram.parts, allocation.parts[0].bytes, last, {"the arena"})
    stored = _beside(flash.parts, 0, last, set())
    drawn = [(ram, [*arenas[0], *beside]), (flash, stored), *zip(others[-len(arenas[1:]) :], arenas[1:], strict=False)]
    return tuple(MemoryMap(use.memory.name, use.bytes, use.needed, steps, tuple(found)) for use, found in drawn)


def arena_regions(schedule: Schedule, allocation: Allocation, part: ArenaPart, last: int) -> list[Occupied]:
    """What lies in a part of the arena; all that there is where it has no others."""
    offsets = allocation.solution.offsets
    return [
        Occupied(*_described(schedule, buffer.name), offsets[buffer.name] - part.start, buffer.bytes,
               min(buffer.first, last), min(buffer.last, last))
        for buffer in allocation.problem.buffers
        if part_with(allocation.parts, offsets[buffer.name]).memory == part.memory
    ]  # fmt: skip


def _beside(parts: Mapping[str, int], at: int, last: int, known: set[str]) -> list[Occupied]:
    """What is there all the time."""
    regions = []
    for name, size in parts.items():
        if name in known:
            continue
        regions.append(Occupied(name, CONSTANT if name == "constants" else RUNTIME, at, size, 0, last))
        at += size
    return regions


def _described(schedule: Schedule, key: str | tuple[str, ...]) -> tuple[str, str]:
    """What a buffer of the arena is called, and what it is for."""
    name, *more = (key,) if isinstance(key, str) else key
    if more:
        return shown(key), WORKING
    kept = next((state.name for state in schedule.graph.states if state.before == name), None)
    return (name, TENSOR) if kept is None else (kept, STATE)
