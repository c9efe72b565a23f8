"""Times the layers of a network on this machine: a clock is read after each, and the fastest of some calls counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise

from tilewright.ir.types import Array
from tilewright.planner.arena.allocation import Allocation, ArenaPart
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.board import CORE, WHOLE, arena_regions
from tilewright.profiling.measuring import Profiled
from tilewright.profiling.memory_map import MemoryMap
from tilewright.profiling.profile import NANOSECONDS, Interval, LayerProfile, Moved, Profile, Tile
from tilewright.profiling.timeline import Start, Timeline
from tilewright.run.host import HostProgram

CALLS = 50


def profile_computer(program: HostProgram, inputs: Mapping[str, Array]) -> Profiled:
    schedule, ran = program.schedule, program.run(inputs, CALLS)
    marks = [0, *(round(at) for at in accumulate(ran.nanoseconds))]
    spans = [Interval(begin, end) for begin, end in pairwise(marks)]
    predicted = schedule.placed.layer_cycles
    layers = tuple(
        _layer(schedule, number, call, predicted[call.node.key], time)
        for number, (call, time) in enumerate(zip(schedule.layers, spans, strict=True))
    )
    total = sum(layer.predicted for layer in layers)
    profile = Profile(
        schedule.graph.name, schedule.target.name, schedule.target.agents.threads, marks[-1], total, layers, None,
        unit=NANOSECONDS,
    )  # fmt: skip
    return Profiled(profile, Timeline({CORE: tuple(Start(mark, {}) for mark in marks)}, (), (), ()))


def _layer(schedule: Schedule, number: int, call: LayerSchedule, predicted: int, time: Interval) -> LayerProfile:
    node, graph = call.node, schedule.graph
    macs, elements = graph.macs(node), sum(graph.types[name].elements for name in node.outputs if name)
    return LayerProfile(
        number, node.name or node.key, node.op.kind, call.engine, call.kernel.stem, WHOLE, False,
        schedule.target.memories[0].name, predicted, time, macs, 2 * macs or elements, {}, 0, time.cycles,
        (Tile(0, time, {CORE: time}, Moved(), Moved()),), None,
    )  # fmt: skip


def arena_map(schedule: Schedule, allocation: Allocation) -> MemoryMap:
    steps = tuple(node.name or node.key for node in allocation.mapped.graph.nodes)
    whole = ArenaPart(schedule.target.memories[0].name, 0, schedule.arena_bytes)
    regions = arena_regions(schedule, allocation, whole, max(len(steps) - 1, 0))
    return MemoryMap(whole.memory, whole.bytes, whole.bytes, steps, tuple(regions))
