"""Control flow whose bodies are planned: each has a schedule of its own, in working memory of the layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from tilewright.errors import InternalError
from tilewright.ir.op import Index, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._control_flow import Body, ControlFlow, Loop, Run
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel, Types

NAME = "control_flow"
"""Of the kernel in reports."""
PER_TURN, PER_BYTE = 40.0, 1.0
"""About what a core takes for a call of a body, and for each byte that it copies around it."""


@dataclass(frozen=True, eq=False)
class Plans:
    """Of each body."""

    schedules: tuple[Schedule, ...]


@dataclass(frozen=True)
class Slice:
    """Part of a layer's working memory."""

    offset: int
    bytes: int

    @property
    def end(self) -> int:
        return self.offset + self.bytes


@dataclass(frozen=True)
class Memory:
    """Where a layer has what around its bodies changes."""

    next_values: tuple[Slice, ...]
    """Of what a loop carries on, while its results hold the values that a turn reads, and the other way round."""
    elements_in: tuple[Slice | None, ...]
    """Of sequences: None where elements begin at multiples of the alignment, so that they are read where they are."""
    elements_out: tuple[Slice | None, ...]
    arena: Slice
    """Of the bodies, of which one runs at a time."""

    @property
    def bytes(self) -> int:
        return self.arena.end


@dataclass(frozen=True)
class Planned(ControlFlow):
    """Computes what `flow` means, with the schedules of its bodies."""

    is_planned: ClassVar[bool] = True
    flow: ControlFlow
    plans: Plans
    alignment: int
    """Bytes that tensors and buffers begin at multiples of."""

    @property
    def kind(self) -> str:
        return self.flow.kind

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.flow.bodies

    @property
    def body_names(self) -> tuple[str, ...]:
        return self.flow.body_names

    def with_bodies(self, bodies: Sequence[Body]) -> ControlFlow:
        raise InternalError(str(self), "its bodies are planned")

    @property
    def own_operands(self) -> int:
        return self.flow.own_operands

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return self.plans.schedules

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.flow.check(types)

    def result_types(self) -> tuple[TensorType, ...]:
        return self.flow.result_types()

    def index(self, shapes: Shapes) -> Index:
        return self.flow.index(shapes)

    def most(self, of_bodies: Sequence[int]) -> int:
        return self.flow.most(of_bodies)

    def run(self, run: Run, operands: Sequence[Array]) -> tuple[Array, ...]:
        return self.flow.run(run, operands)

    def numpy(self, *arrays: Any) -> tuple[Array, ...]:
        """By the schedules of the bodies, on real bytes."""
        return self.flow.run(self._interpreted, arrays)

    def _interpreted(self, number: int, inputs: Sequence[Array]) -> list[Array]:
        schedule = self.schedules[number]
        found = interpret(schedule, dict(zip(schedule.graph.inputs, inputs, strict=True)))
        return [found[name] for name in schedule.graph.outputs]

    @cached_property
    def memory(self) -> Memory:
        """Values and elements side by side, then the arena."""
        at = 0

        def taken(size: int) -> Slice:
            nonlocal at
            found = Slice(at, -(-size // self.alignment) * self.alignment)
            at = found.end
            return found

        carried: tuple[Slice, ...] = ()
        elements: list[list[Slice | None]] = [[], []]
        if isinstance(self.flow, Loop):
            carried = tuple(taken(kind.bytes) for kind in self.flow.result_types()[: self.flow.carried])
            for found, kinds in zip(elements, (self.flow.elements_in, self.flow.elements_out), strict=True):
                found += [taken(kind.bytes) if kind.bytes % self.alignment else None for kind in kinds]
        arena = taken(max(schedule.arena_bytes for schedule in self.schedules))
        return Memory(carried, tuple(elements[0]), tuple(elements[1]), arena)

    @property
    def may_stop(self) -> bool:
        """Whether a run may find that a loop has too many turns, here or in a body."""
        own = isinstance(self.flow, Loop) and self.flow.checked
        return own or any(may_stop(schedule) for schedule in self.schedules)

    @property
    def cycles(self) -> float:
        """At most, as predicted; of one turn where nothing bounds a loop."""
        of_bodies = [schedule.placed.predicted for schedule in self.schedules]
        if isinstance(self.flow, Loop):
            first = sum(kind.bytes for kind in self.flow.result_types())
            elements = sum(kind.bytes for kind in (*self.flow.elements_in, *self.flow.elements_out))
            turn = of_bodies[0] + PER_TURN + PER_BYTE * elements
            return self.flow.most([round(turn)]) + PER_BYTE * first
        return self.most(of_bodies) + PER_TURN

    def __str__(self) -> str:
        return str(self.flow)


def _scratch(op: Any, types: Types) -> int:
    return int(op.memory.bytes)


def _params(op: Any, types: Types) -> Params:
    return {}


def _cycles(op: Any, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    return CycleEstimate(op.cycles)


KERNEL = Kernel(Planned, f"{NAME}.c", "X* -> Y*", {}, params=_params, scratch=_scratch, cycles=_cycles)
"""What the writer of C has a function of its own for in each layer."""


def planned_layers(schedule: Schedule) -> list[tuple[LayerSchedule, Planned]]:
    """Layers that are control flow, without those of bodies."""
    found = [(layer, layer.node.op) for layer in schedule.layers]
    return [(layer, op) for layer, op in found if isinstance(op, Planned)]


def may_stop(schedule: Schedule) -> bool:
    return any(op.may_stop for _, op in planned_layers(schedule))


def calling_layers(schedule: Schedule) -> Iterator[tuple[Schedule, LayerSchedule]]:
    """Layers that call kernels, those of bodies too, each with the schedule that it is part of."""
    for layer in schedule.layers:
        op = layer.node.op
        if not isinstance(op, Planned):
            yield schedule, layer
            continue
        for body in op.schedules:
            yield from calling_layers(body)
