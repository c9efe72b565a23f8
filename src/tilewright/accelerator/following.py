"""Layers of a graph that follow each other as the operators of a pattern do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.accelerator.chains import Step, chained, steps_of
from tilewright.accelerator.declaration import Pattern
from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Shape
from tilewright.ops.reshape import Reshape
from tilewright.passes.aliasing import is_only_reader
from tilewright.records import dataclass
from tilewright.target.mapping import TOGETHER


@dataclass(frozen=True)
class Link:
    """One operator of a chain, with the tensors that it reads besides the result before; all of them of the first."""

    op: Op
    inputs: tuple[str, ...]
    view: Shape | None = None
    """The shape in which it reads the result before, where that is another one."""


@dataclass(frozen=True)
class Chain:
    nodes: tuple[Node, ...]
    """Of the graph: one that has an activation is two operators of a chain."""
    joined: Node
    """What computes them all."""


def found_chain(pattern: Pattern, graph: Graph, node: Node) -> Chain:
    """The chain that a node begins. Raises `Refusal` where something else follows than the pattern has."""
    steps = steps_of(pattern)
    nodes, links = [node], list(_links(node, node.inputs))
    while len(links) < len(steps):
        _same_kinds(links, steps)
        seen = _seen(graph, nodes[-1])
        after, inputs, op = _behind(graph, seen, steps[len(links)])
        nodes.append(after)
        first, *others = _links(replace(after, op=op), inputs, is_first=False)
        view = None if seen is nodes[-2] else graph.types[seen.key].shape
        links += [replace(first, view=view), *others]
    _same_kinds(links, steps)
    if len(links) > len(steps):
        raise Refusal(f"it has an activation, {links[-1].op.kind}")
    name = TOGETHER.join(dict.fromkeys(one.name for one in nodes))
    inputs = tuple(tensor for link in links for tensor in link.inputs)
    op = chained([link.op for link in links], [link.view for link in links])
    joined = Node(name, op, inputs, nodes[-1].outputs)
    if op.views and (mixed := op.mixed_by_view(graph.operand_shapes(joined))):
        raise Refusal(f"a Reshape before {mixed} mixes axes that it keeps apart")
    return Chain(tuple(nodes), joined)


def _links(node: Node, inputs: tuple[str, ...], is_first: bool = True) -> Iterator[Link]:
    """The operator, and its activation as one that follows."""
    filled = (*inputs, *[""] * (len(node.op.operands) - len(inputs)))
    activation: Op | None = getattr(node.op, "activation", None)
    plain = node.op if activation is None else replace(node.op, activation=None)  # type: ignore[call-arg]
    yield Link(plain, filled if is_first else filled[1:])
    if activation is not None:
        yield Link(activation, ("",) * (len(activation.operands) - 1))


def _same_kinds(links: list[Link], steps: tuple[Step, ...]) -> None:
    for link, step in zip(links, steps, strict=False):
        if link.op.kind != step.op:
            raise Refusal(f"{link.op.kind} follows, not {step.op}")


def _seen(graph: Graph, node: Node) -> Node:
    """The last of the Reshapes behind a node, each the only reader of the one before; the node itself without any."""
    readers = graph.consumers.get(node.key, [])
    is_plain = len(readers) == 1 and node.key not in graph.sinks and isinstance(readers[0].op, Reshape)
    return _seen(graph, readers[0]) if is_plain else node


def _behind(graph: Graph, node: Node, step: Step) -> tuple[Node, tuple[str, ...], Op]:
    """The only reader of a result, which it has as first operand."""
    readers = graph.consumers.get(node.key, [])
    if not readers or node.key in graph.sinks:
        raise Refusal(f"no {step.op} follows")
    after = readers[0]
    if not is_only_reader(graph, after, node.key) or after.inputs.count(node.key) > 1:
        raise Refusal(f"its result is read more than once, and the device does not store it before {step.op}")
    if after.op.kind != step.op:
        raise Refusal(f"{after.op.kind} follows, not {step.op}")
    if after.inputs[0] == node.key:
        return after, after.inputs, after.op
    swapped = after.op.swapped() if after.inputs[1:2] == (node.key,) else None
    if swapped is None:
        raise Refusal(f"its result is not the first operand of {step.op}")
    return after, (after.inputs[1], after.inputs[0], *after.inputs[2:]), swapped
