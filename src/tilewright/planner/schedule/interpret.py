"""A schedule executed by numpy on real bytes, so that a wrong window, buffer, lifetime or order shows.

Transfers that fill buffers happen as early as the hardware might do them, those that empty them as late, and an
accelerator works at the last moment. Between two barriers either side may be first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir.evaluate import States, initial_states
from tilewright.ir.graph import Graph
from tilewright.ir.half_floats import compute
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Array, TensorType
from tilewright.planner.home import ARENA, COPY
from tilewright.planner.keys import PARAMS, SCRATCH
from tilewright.planner.program.program import DMA
from tilewright.planner.schedule.events import (
    AwaitGroup,
    AwaitJob,
    Begin,
    Copy,
    Epoch,
    Region,
    ServeOthers,
    TileCall,
    TileEvent,
    Transfer,
)
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.planner.schedule.unroll import unroll
from tilewright.records import dataclass

NEVER_WRITTEN = 0xA5
POISON = 0x5A


def interpret(
    schedule: Schedule, inputs: Mapping[str, Array], states: States | None = None, cores_first: bool = False
) -> dict[str, Array]:
    """The outputs of the graph, and what states have become; without `states` in the first call."""
    return interpret_epochs(unroll(schedule), schedule, inputs, states, cores_first)


def interpret_epochs(
    epochs: Sequence[Epoch], schedule: Schedule, inputs: Mapping[str, Array], states: States | None = None,
    cores_first: bool = False,
) -> dict[str, Array]:  # fmt: skip
    """The outputs of a schedule that is unrolled already."""
    machine, graph = Machine(schedule, inputs), schedule.graph
    machine.keep(initial_states(graph) if states is None else states)
    for epoch in epochs:
        machine.run(sorted(epoch, key=lambda event: event.agent == DMA) if cores_first else epoch)
    return {name: machine.tensor(name) for name in graph.sinks}


@dataclass
class Machine:
    schedule: Schedule
    inputs: Mapping[str, Array]
    memory: dict[str, Array] = field(default_factory=dict)
    late: dict[int, list[Transfer]] = field(default_factory=dict)
    """Group -> transfers that happen when it is waited for."""
    jobs: list[TileCall] = field(default_factory=list)
    """What accelerators have been given and not yet done, in order."""

    def __post_init__(self) -> None:
        graph = self.graph
        self.memory = {name: np.full(size, NEVER_WRITTEN, np.uint8) for name, size in self.schedule.arenas.items()}
        for name in graph.outputs:
            self.memory[f"output {name}"] = np.full(graph.types[name].bytes, NEVER_WRITTEN, np.uint8)
        self.memory |= {f"constant {name}": _bytes(array) for name, array in graph.constants.items()}
        for name in self.schedule.copied:
            self.memory[f"{COPY} {name}"] = np.full(graph.types[name].bytes, NEVER_WRITTEN, np.uint8)
        for name in graph.inputs:
            self._begin_with(name, self.inputs[name])

    @property
    def graph(self) -> Graph:
        return self.schedule.graph

    def keep(self, states: States) -> None:
        """The values that an earlier call has left."""
        for state in self.graph.states:
            self._begin_with(state.before, states[state.name])

    def _begin_with(self, name: str, value: Array) -> None:
        home, data = self.schedule.homes[name], _bytes(value)
        if home.kind == ARENA:
            self.memory[home.memory][home.offset : home.offset + data.size] = data
        else:
            self.memory[f"{home.kind} {name}"] = data

    def run(self, epoch: Epoch | list[TileEvent]) -> None:
        for event in epoch:
            if isinstance(event, Transfer):
                self._transfer(event)
            elif isinstance(event, AwaitGroup):
                for transfer in self.late.pop(event.group, []):
                    self._move(transfer)
            elif isinstance(event, TileCall):
                self._call(event)
            elif isinstance(event, AwaitJob):
                self._work_until(event.job)
            elif isinstance(event, Copy):
                source, target = event.source, event.target
                found = self.memory[source.memory][source.start : source.stop]
                self.memory[target.memory][target.start : target.stop] = found
            elif not isinstance(event, Begin | ServeOthers):
                raise InternalError("schedule", f"{event} is no event")

    def _transfer(self, event: Transfer) -> None:
        if event.kind == "store":
            self.late.setdefault(event.group, []).append(event)
        else:
            self._move(event)

    def _move(self, event: Transfer) -> None:
        if event.source.role == PARAMS:
            self.memory[event.target.memory][event.target.start : event.target.stop] = _pattern(event.layer)
            return
        kind = self._kind(event.source)
        self._view(event.target, kind)[...] = self._view(event.source, kind)

    def _work_until(self, job: int) -> None:
        """The accelerator of a job does it and those before; another one still waits for its last moment."""
        engine = next((self._engine(call) for call in self.jobs if call.job == job), None)
        due = {call.job: call for call in self.jobs if call.job <= job and self._engine(call) == engine}
        self.jobs = [call for call in self.jobs if call.job not in due]
        for call in due.values():
            self._compute(call)

    def _engine(self, call: TileCall) -> str:
        return self.schedule.layers[call.layer].option.engine

    def _call(self, call: TileCall) -> None:
        if call.kind == "submit":
            self.jobs.append(call)
        elif call.kind == "gather":
            self._check_params(call)
            self._poison(call)
        else:
            self._compute(call)

    def _compute(self, call: TileCall) -> None:
        layer = self.schedule.layers[call.layer]
        if call.kind == "submit" and layer.has_epilogue:
            self._check_params(call)
            self._poison(call)
            return
        named = dict(
            zip((a.operand.name for a in layer.arguments if not a.operand.is_result), call.reads, strict=False)
        )
        operands = {name: self._view(region, self._kind(region)).copy() for name, region in named.items()}
        self._check_params(call)
        self._poison(call)
        grid, node = layer.option.grid, layer.option.node
        op = grid.local_op(grid.indices(call.tile))
        _poison_unseen(op, operands)
        with np.errstate(all="ignore"):
            found = compute(op, [operands.get(name) for name in op.operand_names(len(node.inputs))])
        values = dict(zip(op.result_names(len(node.outputs)), found, strict=False))
        self._write_results(layer, call, values)

    def _write_results(self, layer: LayerSchedule, call: TileCall, values: Mapping[str, Array]) -> None:
        results = [a.operand for a in layer.arguments if a.operand.is_result]
        regions = {region.tensor: region for region in call.writes if not region.role}
        for operand in results:
            if operand.tensor in regions:
                region = regions[operand.tensor]
                self._view(region, self._kind(region))[...] = values[operand.name]

    def _check_params(self, call: TileCall) -> None:
        for region in call.reads:
            held = self.memory.get(region.memory, np.zeros(0, np.uint8))[region.start : region.stop]
            if region.role == PARAMS and (held != _pattern(call.layer)).any():
                raise InternalError(f"layer {call.layer}", "is called without its parameters")
            if region.role == SCRATCH and (held != POISON).any():
                raise InternalError(f"layer {call.layer}", "finds something else than it left in its working memory")

    def _poison(self, call: TileCall) -> None:
        """Working memory holds nothing that anyone may rely on."""
        for region in call.writes:
            if region.role == SCRATCH:
                self.memory[region.memory][region.start : region.stop] = POISON

    # ---- bytes ------------------------------------------------------------------------------------------------------

    def _kind(self, region: Region) -> TensorType:
        dtype = self.graph.types[region.tensor].dtype
        return TensorType(dtype, tuple(last - first for first, last in region.spans))

    def _view(self, region: Region, kind: TensorType) -> Array:
        """The bytes of a region as an array that can be written to."""
        memory = self.memory[region.memory]
        if not region.owner:
            if kind.bytes != region.stop - region.start:
                raise InternalError(
                    f"buffer of {region.tensor}", f"{region.stop - region.start} bytes for {kind.bytes}"
                )
            return memory[region.start : region.stop].view(kind.element).reshape(kind.shape)
        return _window(memory, region, kind)

    def tensor(self, name: str) -> Array:
        kind, home = self.graph.types[name], self.schedule.homes[name]
        memory = self.memory[home.memory if home.kind == ARENA else f"{home.kind} {home.owner}"]
        return memory[home.offset : home.offset + kind.bytes].view(kind.element).reshape(kind.shape).copy()


def _poison_unseen(op: Op, operands: Mapping[str, Array]) -> None:
    """What lies behind a limit need not have been moved."""
    for name, limit in op.limits({name: array.shape for name, array in operands.items()}).items():
        rows = np.moveaxis(operands[name], limit.axis, 0)
        seen = limit.elements(int(operands[limit.operand].reshape(-1)[0]), len(rows))
        rows[seen:] = POISON


def _window(memory: Array, region: Region, kind: TensorType) -> Array:
    """A box of a tensor in its home."""
    element = BYTES[kind.dtype]
    strides = [element * math.prod(region.frame[axis + 1 :]) for axis in range(len(region.frame))]
    if region.order:
        strides = [strides[region.order.index(axis)] for axis in range(len(strides))]
    if not kind.elements:
        return np.zeros(kind.shape, kind.element)
    data = memory[region.start : region.stop]
    whole = np.ndarray((), kind.element, data) if not kind.shape else None
    return whole if whole is not None else np.ndarray(kind.shape, kind.element, data, 0, strides)


def _pattern(layer: int) -> int:
    """What stands for a layer's parameters."""
    return (37 * layer + 11) % 251


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
