"""Plans the bodies of control flow, each as a small network of its own in working memory of its layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.ir.digest import digest
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops._control_flow import Body, ControlFlow
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.arena.transfers import with_transfers
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.check.states import check_allocation
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.planned_flow import KERNEL, Planned, Plans
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.core_or_accelerator import fastest_first
from tilewright.target.mapping import Mapped, as_chosen, map_nodes
from tilewright.target.target import Target


def with_control_flow(target: Target) -> Target:
    """The target with what runs bodies, on its first engine that takes nodes as they are, where they are."""
    engines = list(target.engines)
    core = next((at for at, one in enumerate(engines) if one.offer is None and one.transfers is None), None)
    if core is None or KERNEL in engines[core].kernels:
        return target
    engines[core] = replace(engines[core], kernels=(*engines[core].kernels, KERNEL))
    return replace(target, engines=tuple(engines))


def plan_bodies(graph: Graph, target: Target) -> Graph:
    """The graph with planned control flow. Constants of bodies become constants of the graph, so that they lie with all
    others; equal ones become one."""
    if not any(isinstance(node.op, ControlFlow) for node in graph.nodes):
        return graph
    constants = _Constants(dict(graph.constants), dict(graph.types), {})
    nodes = tuple(
        _planned(node, node.op, constants, target) if _is_unplanned(node) else node  # type: ignore[arg-type]
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, types=constants.types, constants=constants.arrays)


def _is_unplanned(node: Node) -> bool:
    return isinstance(node.op, ControlFlow) and not isinstance(node.op, Planned)


@dataclass
class _Constants:
    """Those of a graph, which grow."""

    arrays: dict[str, Array]
    types: dict[str, TensorType]
    known: dict[tuple[TensorType, str], str]

    def name_of(self, array: Array, hint: str) -> str:
        """The constant that has these values."""
        if not self.known:
            self.known |= {(type_of(one), digest(one)): name for name, one in self.arrays.items()}
        kind = type_of(array)
        found = self.known.get((kind, digest(array)))
        if found is not None:
            return found
        name, number = hint, 1
        while name in self.types:
            number += 1
            name = f"{hint}_{number}"
        self.arrays[name], self.types[name], self.known[kind, digest(array)] = array, kind, name
        return name


def _planned(node: Node, flow: ControlFlow, constants: _Constants, target: Target) -> Node:
    mapped = [_mapped(body.graph, body_target(target)) for body in flow.bodies]
    names = [
        {own: constants.name_of(array, f"{node.name}/{own}") for own, array in _read(one.graph).items()}
        for one in mapped
    ]
    shared = list(dict.fromkeys(name for found in names for name in found.values()))
    types = {name: constants.types[name] for name in shared}
    lifted = [_with_inputs(one, found, types) for one, found in zip(mapped, names, strict=True)]
    schedules = tuple(_scheduled(one) for one in lifted)
    bodies = [Body(schedule.graph) for schedule in schedules]
    op = Planned(flow.with_bodies(bodies), Plans(schedules), target.memories[0].alignment)
    return replace(node, op=op, inputs=(*node.inputs, *shared))


def body_target(target: Target) -> Target:
    """The target as a body sees it: with working memory that has room for what it needs, which the layer that runs the
    body has in its arena."""
    first, *others = target.memories
    inside = [replace(memory, holds=frozenset()) for memory in others]
    memories = (replace(first, bytes=None, holds=frozenset()), *inside)
    return replace(target, memories=memories)


def _mapped(graph: Graph, target: Target) -> Mapped:
    planned = plan_bodies(graph, target)
    return as_chosen(with_transfers(fastest_first(map_nodes(planned, target))))


def _read(graph: Graph) -> dict[str, Array]:
    used = {name for node in graph.nodes for name in node.inputs}
    return {name: array for name, array in graph.constants.items() if name in used}


def _with_inputs(mapped: Mapped, names: Mapping[str, str], shared: Mapping[str, TensorType]) -> Mapped:
    """With inputs in the place of constants: one for each constant that is shared with the other bodies."""
    graph = mapped.graph
    own = {outer: inner for inner, outer in reversed(list(names.items()))}
    first = {inner: own[outer] for inner, outer in names.items()}
    fresh = {outer: own.get(outer) or _fresh(outer, graph) for outer in shared}
    types = {name: kind for name, kind in graph.types.items() if name not in graph.constants}
    types |= {fresh[outer]: kind for outer, kind in shared.items()}
    inputs = (*graph.inputs, *fresh.values())

    def renamed(node: Node) -> Node:
        return replace(node, inputs=tuple(first.get(name, name) for name in node.inputs))

    choices = {key: replace(choice, node=renamed(choice.node)) for key, choice in mapped.choices.items()}
    nodes = tuple(map(renamed, graph.nodes))
    changed = replace(graph, inputs=inputs, nodes=nodes, types=types, constants={})
    return replace(mapped, graph=changed, choices=choices)


def _fresh(name: str, graph: Graph) -> str:
    found = f"{name}/unread"
    while found in graph.types:
        found += "_"
    return found


def _scheduled(mapped: Mapped) -> Schedule:
    return check_schedule(lower_arena(check_allocation(allocate(mapped))))
