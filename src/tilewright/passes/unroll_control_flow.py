"""Control flow as plain nodes, for machines whose programs have neither loops over layers nor branches: loops of known
length turn by turn, both branches of an If with a choice between their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType
from tilewright.ops._control_flow import MOST_UNROLLED, Body, Branch, Loop
from tilewright.ops.concat import Concat
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import of_ranges
from tilewright.ops.where import Where
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite

TURN = "/turn/"
"""In names of a body's nodes: where the number of the turn stands in those that are unrolled."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, _unrolled)


def _unrolled(node: Node, builder: Builder) -> Mapping[str, str] | None:
    if isinstance(node.op, Branch):
        made = _both(node, node.op, builder)
    elif isinstance(node.op, Loop) and node.op.is_static and _is_small(node.op, builder):
        made = _turns(node, node.op, builder)
    else:
        return None
    return {name: tensor for name, tensor in zip(node.outputs, made, strict=False) if name}


def _is_small(loop: Loop, builder: Builder) -> bool:
    return loop.trips * len(loop.body.graph.nodes) + len(builder.nodes) <= MOST_UNROLLED


def _both(node: Node, branch: Branch, builder: Builder) -> list[str]:
    (condition,) = builder.add(Reshape(()), node.inputs[:1], name=f"{node.name}/condition")
    then, other = (_inlined(builder, body, node.inputs[1:], {}) for body in branch.bodies)
    pairs = zip(then, other, strict=True)
    return [builder.add(Where(), [condition, one, two], name=node.name)[0] for one, two in pairs]


def _turns(node: Node, loop: Loop, builder: Builder) -> list[str]:
    carried, behind = list(node.inputs[loop.first :][: loop.carried]), loop.first + loop.carried
    sequences, others = node.inputs[behind : loop.own_operands], node.inputs[loop.own_operands :]
    stacks: list[list[str]] = [[] for _ in loop.stacked]
    constants: dict[str, str] = {}
    for turn in range(loop.trips):
        number = builder.constant(np.full(loop.body.inputs[0].shape, turn, np.int64), f"{node.name}/{turn}")
        elements = [
            _element(node, builder, name, loop.trips - 1 - turn if end else turn)
            for name, end in zip(sequences, loop.taken, strict=True)
        ]
        made = _inlined(builder, loop.body, [number, *carried, *elements, *others], constants, turn)
        carried = made[: loop.carried]
        for stack, name in zip(stacks, made[loop.carried :], strict=True):
            stack.append(name)
    ends = zip(stacks, loop.stacked, loop.result_types()[loop.carried :], strict=True)
    return [
        *carried,
        *(_stacked(node, builder, names[::-1] if end else names, kind) for names, end, kind in ends),
    ]


def _element(node: Node, builder: Builder, sequence: str, position: int) -> str:
    shape = builder.types[sequence].shape
    part = builder.add(of_ranges(shape, {0: (position, position + 1, 1)}), [sequence], name=node.name)[0]
    return builder.add(Reshape(shape[1:]), [part], name=node.name)[0]


def _stacked(node: Node, builder: Builder, names: Sequence[str], kind: TensorType) -> str:
    if not names:
        return builder.constant(np.zeros(kind.shape, kind.element), f"{node.name}/nothing")
    rows = [builder.add(Reshape((1, *builder.types[one].shape)), [one], name=node.name)[0] for one in names]
    return builder.add(Concat(0), rows, name=node.name)[0]


def _inlined(
    builder: Builder, body: Body, inputs: Sequence[str], constants: dict[str, str], turn: int | None = None
) -> list[str]:
    """A copy of a body; copies share constants."""
    graph = body.graph
    names = dict(zip(graph.inputs, inputs, strict=True))
    for name, array in graph.constants.items():
        if name not in constants:
            constants[name] = builder.constant(array, name)
    names |= constants
    for node in graph.nodes:
        called = node.name if turn is None else node.name.replace(TURN, f"/{turn}/", 1)
        made = builder.add(node.op, [names[name] if name else "" for name in node.inputs], None, called)
        names |= {name: tensor for name, tensor in zip(node.outputs, made, strict=False) if name}
    return [names[name] for name in graph.outputs]


UNROLL_CONTROL_FLOW = Pass("unroll control flow", run)
