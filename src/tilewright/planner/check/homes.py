"""A check of where tensors live, from the definitions and without the planner's code: what is the caller's or the
linker's is with them, and what no layer makes lies where that is which it is a part or a view of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tilewright.errors import InternalError, instance
from tilewright.ir.graph import Graph, Node
from tilewright.ops.concat import Concat
from tilewright.ops.slice import Slice
from tilewright.planner.home import ARENA, CONSTANT, COPY, INPUT, OUTPUT, Home
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass


def check_homes(schedule: Schedule) -> None:
    """Raises `InternalError` for the first tensor that is somewhere else."""
    graph = schedule.graph
    if missing := graph.types.keys() - schedule.homes.keys():
        raise InternalError("schedule", f"has no home for {sorted(missing)}")
    roles = {**dict.fromkeys(graph.outputs, OUTPUT), **dict.fromkeys(graph.inputs, INPUT)}
    roles |= dict.fromkeys(graph.constants, CONSTANT) | dict.fromkeys(schedule.copied, COPY)
    roles |= {state.before: ARENA for state in graph.states}
    for name in graph.types:
        _check_role(name, schedule.homes[name], roles)
    makers = {name: layer for layer in schedule.layers for name in layer.node.outputs if name}
    if len(makers) != sum(len(list(filter(None, layer.node.outputs))) for layer in schedule.layers):
        raise InternalError("schedule", "computes a node twice")
    idle = _Idle(schedule.homes, graph, makers)
    for node in graph.nodes:
        if not makers.keys() & set(node.outputs):
            idle.check(node)


def _check_role(name: str, home: Home, roles: Mapping[str, str]) -> None:
    """What is not in an arena is where the caller or the linker has it, and what is theirs is there; inputs may lie in
    an arena that the caller gives too."""
    if home.kind != ARENA and roles.get(home.owner) != home.kind:
        raise InternalError(f"tensor '{name}'", f"is at {home} of '{home.owner}', which is something else")
    wanted = {roles.get(name), *[ARENA] * (roles.get(name) == INPUT)}
    if name in roles and (home.owner != name or home.kind not in wanted):
        raise InternalError(f"tensor '{name}'", f"is at {home} of '{home.owner}', not its own {roles[name]}")


@dataclass(frozen=True)
class _Idle:
    """Nodes that no layer computes, as their results are where they should be."""

    homes: Mapping[str, Home]
    graph: Graph
    makers: Mapping[str, LayerSchedule]

    def check(self, node: Node) -> None:
        for one, other, before in self._pairs(node):
            home, inside = self.homes[one], self.homes[other]
            if home.kind == ARENA:
                inside = Home(inside.kind, inside.owner, inside.memory, inside.offset + before)
            if home != inside and self.graph.types[one].bytes:
                raise InternalError(
                    f"tensor '{one}'", f"is at {home}, which is not where '{other}' has it, at {inside}"
                )

    def _pairs(self, node: Node) -> Iterator[tuple[str, str, int]]:
        """Tensors that lie in others, and how many bytes of those are before them."""
        if node.op.view:
            yield node.outputs[0], node.inputs[0], 0
        elif isinstance(node.op, Slice):
            yield node.outputs[0], node.inputs[0], self._taken_from(node)
        elif isinstance(node.op, Concat):
            yield from self._joined(node)
        else:
            raise InternalError(node.where, "is computed by no layer")

    def _joined(self, node: Node) -> Iterator[tuple[str, str, int]]:
        """Operands begin where their Concat does if the layers that make them know where they lie in it, else one
        behind the other."""
        before, result = 0, node.outputs[0]
        rows = math.prod(self.graph.types[result].shape[: instance(node.op, Concat).axis])
        for name in node.inputs:
            is_window = self._is_window(name)
            if rows != 1 and not is_window:
                raise InternalError(node.where, "is computed by no layer, and joins what does not lie in one piece")
            yield name, result, 0 if is_window else before
            before += self.graph.types[name].bytes

    def _is_window(self, name: str) -> bool:
        """Whether whoever makes a tensor, or what it is a view of, makes it inside a larger one."""
        maker, layer = self.graph.producers.get(name), self.makers.get(name)
        if layer is not None:
            return any(
                tensor == name and one in layer.option.grid.inside for one, tensor in layer.node.results().items()
            )
        return maker is not None and not isinstance(maker.op, Slice) and all(map(self._is_window, maker.inputs))

    def _taken_from(self, node: Node) -> int:
        """The bytes of its operand before what a Slice takes."""
        kind, op = self.graph.types[node.inputs[0]], instance(node.op, Slice)
        first, count, stride = 0, 1, 1
        for length, start, step, size in reversed([*zip(kind.shape, op.starts, op.steps, op.sizes, strict=True)]):
            if size > 1 and step * stride != count:
                raise InternalError(node.where, "is computed by no layer, and takes what does not lie side by side")
            first, count, stride = first + start * stride, count * size, stride * length
        return first * kind.element.itemsize
