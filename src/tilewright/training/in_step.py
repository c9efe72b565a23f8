"""Updates inside a step: every weight follows its gradient as soon as nobody reads the old weight any more.

No gradient is kept from call to call, and the memory of one is free for the next. `update` has nothing left to do. A
step whose loss is no number leaves weights and moments as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph, Node, State
from tilewright.ops.where import Where
from tilewright.training.finite import is_number
from tilewright.training.graphs import FIRST, Training, checked
from tilewright.training.growing import Growing

WHAT = "in place, a step updates the weights by its own gradients alone"


def check_accumulated(steps: int) -> None:
    if steps != 1:
        raise CompileError(f"accumulate {steps}", WHAT, "accumulate 1 step, or leave out --in-place (in_place)")


def updated_in_step(training: Training) -> Training:
    """The same training where every step is followed by an update; `train` does both."""
    gradients = _gradients(training)
    train = _Joined(training, gradients).graph()
    update = Builder(training.update.name).build()
    return checked(replace(training, train=train, update=update, buffers=()))


def _gradients(training: Training) -> dict[str, str]:
    """Buffer -> the gradient of one step, which the first step of an accumulation puts there."""
    train, flag = training.train, next((s.before for s in training.train.states if s.name == FIRST), "")
    found = {state.name: _chosen(train, state.after, flag) for state in train.states}
    missing = [buffer for buffer in training.buffers if not found[buffer]]
    if missing:
        what = f"gradient buffer '{missing[0]}' is not overwritten by the first step of an accumulation"
        raise CompileError("--in-place", what, "leave it out: the training graph adds to its buffers for ever")
    return {name: gradient for name, gradient in found.items() if gradient}


def _chosen(graph: Graph, tensor: str, flag: str) -> str:
    """What a tensor is where the flag is true, if the flag decides."""
    node = graph.producers.get(tensor)
    while node is not None and node.op.view:
        node = graph.producers.get(node.inputs[0])
    if node is None or not isinstance(node.op, Where) or _behind_views(graph, node.inputs[0]) != flag:
        return ""
    return node.inputs[1]


def _behind_views(graph: Graph, tensor: str) -> str:
    node = graph.producers.get(tensor)
    while node is not None and node.op.view:
        tensor = node.inputs[0]
        node = graph.producers.get(tensor)
    return tensor


class _Joined:
    """A step and the update after it as one graph."""

    def __init__(self, training: Training, gradients: Mapping[str, str]) -> None:
        self.train, self.update, self.gradients = training.train, training.update, gradients
        gone = {*gradients, FIRST}
        self.states = [state for state in self.train.states if state.name not in gone]
        self.nodes = _without(self.train.nodes, {s.before for s in self.train.states if s.name in gone})

    def graph(self) -> Graph:
        builder = self._begun()
        names = self._names(builder)
        own = [self._copied(builder, node, names) for node in self.update.nodes]
        own += self._guarded(builder, names)
        return _ordered(builder.build(), {node.key for node in own})

    def _begun(self) -> Builder:
        """The step without its accumulation."""
        train = self.train
        builder = Builder(train.name, notes=list(train.notes))
        builder.reserve(train.types)
        for name in train.inputs:
            builder.input(name, train.types[name])
        for state in self.states:
            builder.state(state.name, state.initial, state.before)
        read = {name for node in self.nodes for name in node.inputs} | {*train.outputs}
        for name in read & train.constants.keys() | {s.after for s in self.states} & train.constants.keys():
            builder.types[name], builder.constants[name] = train.types[name], train.constants[name]
        for node in self.nodes:
            builder.copy_node(node, train)
        for tensor, name in zip(train.outputs, train.output_names, strict=True):
            builder.output(tensor, name)
        for state in self.states:
            builder.set_next_state(state.name, state.after)
        return builder

    def _names(self, builder: Builder) -> dict[str, str]:
        """Tensors of the update -> those of the step."""
        known, found = {state.name: state.before for state in self.states}, dict[str, str]()
        for state in self.update.states:
            if state.name in self.gradients:
                gradient, shape = self.gradients[state.name], state.initial.shape
                found[state.before] = Growing(builder, "gradient").value(gradient).reshape(shape).name
            elif state.name != FIRST:
                found[state.before] = known.get(state.name) or builder.state(state.name, state.initial)
        for name, array in self.update.constants.items():
            found[name] = builder.constant(array, name)
        return found

    def _copied(self, builder: Builder, node: Node, names: dict[str, str]) -> Node:
        made = [builder.fresh(name) if name else "" for name in node.outputs]
        builder.add(node.op, [names[name] if name else "" for name in node.inputs], made, node.name)
        names |= dict(zip(node.outputs, made, strict=True))
        return builder.nodes[-1]

    def _guarded(self, builder: Builder, names: Mapping[str, str]) -> list[Node]:
        """States become what the update makes of them where the loss is a number."""
        start, grow = len(builder.nodes), Growing(builder, "update")
        goes_on = is_number(grow, self.train.outputs[0])
        for state in self.update.states:
            if _is_changed(state) and state.name not in self.gradients and state.name != FIRST:
                grow.node_name = f"{state.name}_update"
                old, new = grow.value(names[state.before]), grow.value(names[state.after])
                builder.set_next_state(state.name, goes_on.where(new, old).name)
            elif state.name in builder.states and not builder.states[state.name].after:
                builder.set_next_state(state.name, names[state.before])
        return builder.nodes[start:]


def _is_changed(state: State) -> bool:
    return state.before != state.after


def _without(nodes: Iterable[Node], tensors: set[str]) -> list[Node]:
    """The nodes that need none of these tensors."""
    gone, kept = set(tensors), list[Node]()
    for node in nodes:
        if gone.intersection(node.inputs):
            gone.update(node.outputs)
        else:
            kept.append(node)
    return kept


def _ordered(graph: Graph, late: set[str]) -> Graph:
    """The nodes of the update come as soon as their operands are there and nobody needs the old value of what they
    write over."""
    places, readers = dict[str, int](), graph.consumers
    writes = {state.after: state.before for state in graph.states if state.after != state.before}
    for place, node in enumerate(graph.nodes):
        if node.key not in late:
            places[node.key] = place
    for node in graph.nodes:
        if node.key in late:
            needed = [graph.producers[name] for name in node.inputs if name in graph.producers]
            others = readers.get(writes.get(node.key, ""), [])
            needed += [other for other in others if other.key not in late]
            places[node.key] = max((places[other.key] for other in needed), default=0)
    return replace(graph, nodes=tuple(sorted(graph.nodes, key=lambda node: (places[node.key], node.key in late))))
