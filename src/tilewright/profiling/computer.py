"""Times the layers of a network on this machine: a clock is read after each, and the fastest of some calls counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise

from tilewright.ir.types import BYTES, Array
from tilewright.planner.arena.allocation import Allocation, ArenaPart
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.profiling.board import CORE, WHOLE, arena_regions
from tilewright.profiling.measuring import Profiled
from tilewright.profiling.memory_map import MemoryMap, step_titles
from tilewright.profiling.profile import NANOSECONDS, Interval, LayerProfile, Moved, Peaks, Profile, Tile
from tilewright.profiling.timeline import Start, Timeline
from tilewright.run.gpu_chip import Chip, chip
from tilewright.run.host import HostProgram
from tilewright.target.runner import BY_OPENCL, GpuProcess, host_process
from tilewright.target.target import Target

CALLS = 50
GPU_TIMES = (
    "of {name}: kernels by events, each twenty times in a row in a graph, with what it reads in the cache if that has "
    "room; copies and layers of the processor by the clock"
)
HOST_TIMES = "of this machine's processor: kernels of the GPU as C, as no driver of a GPU is installed"
OPENCL_TIMES = "of OpenCL's device: launches with it, by the clock"


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
        unit=NANOSECONDS, estimate=_how(schedule),
    )  # fmt: skip
    return Profiled(profile, Timeline({CORE: tuple(Start(mark, {}) for mark in marks)}, (), (), ()))


def _layer(schedule: Schedule, number: int, call: LayerSchedule, predicted: int, time: Interval) -> LayerProfile:
    node, graph = call.node, schedule.graph
    macs, elements = graph.macs(node), sum(graph.types[name].elements for name in node.outputs if name)
    return LayerProfile(
        number, node.name or node.key, node.op.kind, call.engine, call.kernel.stem, WHOLE, False,
        schedule.target.memories[0].name, predicted, time, macs, 2 * macs or elements, {}, 0, time.cycles,
        (Tile(0, time, {CORE: time}, Moved(), Moved()),), None, None, *_on_gpu(schedule, call),
        short_name=graph.short_name(node),
    )  # fmt: skip


def _on_gpu(schedule: Schedule, call: LayerSchedule) -> tuple[int, Peaks | None]:
    """Bytes that a layer touches, and what the GPU does at best with elements like its own, if it is one of a GPU."""
    if not isinstance(schedule.target.runner, GpuProcess):
        return 0, None
    types = [schedule.graph.types[name] for name in (*call.node.inputs, *call.node.outputs) if name]
    touched, found = sum(kind.bytes for kind in types), _chip(schedule.target)
    if found is None or _is_of_cores(schedule.target, call):
        return touched, None
    width = max((BYTES[kind.dtype] for kind in types[:2]), default=4)
    return touched, Peaks(found.bytes_per_ns, found.macs_per_ns(width))


def _is_of_cores(target: Target, call: LayerSchedule) -> bool:
    """Whether the processor computes it, or it is a copy."""
    transfers = next(engine.transfers for engine in target.engines if engine.name == call.engine)
    return transfers is None or call.kernel in (transfers.into, transfers.out_of)


def _chip(target: Target) -> Chip | None:
    return None if host_process(target.runner).definitions else chip()


def _how(schedule: Schedule) -> str:
    """What times of a GPU are."""
    if not isinstance(schedule.target.runner, GpuProcess):
        return ""
    if BY_OPENCL in schedule.target.runner.definitions:
        return OPENCL_TIMES
    found = _chip(schedule.target)
    return GPU_TIMES.format(name=found.name) if found else HOST_TIMES


def arena_map(schedule: Schedule, allocation: Allocation) -> MemoryMap:
    graph = allocation.mapped.graph
    steps = step_titles(graph, [node.key for node in graph.nodes], list(allocation.layers))
    whole = ArenaPart(schedule.target.memories[0].name, 0, schedule.arena_bytes)
    regions = arena_regions(schedule, allocation, whole, max(len(steps) - 1, 0))
    return MemoryMap(whole.memory, whole.bytes, whole.bytes, steps, tuple(regions))
