"""An activation of float results becomes part of what computes them: they are stored once, and never read in between.

Integer kernels have their clamp in the requantisation; this is the same for floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._activation import is_activation
from tilewright.ops._filters import Filters
from tilewright.ops.matmul import MatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.fuse_bias import no_added_biases
from tilewright.passes.rewriting import rewrite

Applies = Callable[[type[Op], type[Op]], bool]
"""Whether all kernels of floats apply an activation (the first) to the results of an operator (the second): none should
lose a node for one."""


def fuse_activations(applies: Applies) -> Pass:
    """For a target with such kernels. A bias that a product does not add itself would stand between the two."""
    return Pass(
        "fuse activations", lambda graph: rewrite(graph, partial(_fuse, graph, applies)), requires=no_added_biases,
        ensures=partial(all_fused, applies),
    )  # fmt: skip


def _fuse(graph: Graph, applies: Applies, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _fused(graph, applies, node)
    if found is None:
        return None
    source, op = found
    if source.key == node.inputs[0]:
        builder.add(op, source.inputs, node.outputs, source.name)
        return {node.key: node.key}
    view = graph.producers[node.inputs[0]]
    made = builder.add(op, source.inputs, name=source.name)
    builder.add(view.op, made, node.outputs, view.name)
    return {node.key: node.key}


def _fused(graph: Graph, applies: Applies, node: Node) -> tuple[Node, Op] | None:
    """What computes the operand of an activation and could apply it, and the operator that does."""
    if not is_activation(node.op) or graph.types[node.key].dtype != "float32":
        return None
    source = _maker(graph, node)
    if source is None or not isinstance(source.op, Filters | MatMul) or source.op.activation is not None:
        return None
    if not applies(type(node.op), type(source.op)):
        return None
    return source, replace(source.op, activation=node.op)


def _maker(graph: Graph, node: Node) -> Node | None:
    """What computes the operand of an activation, which nothing else reads; an activation does not mind a view."""
    source = graph.producers.get(node.inputs[0])
    if source is None or not is_only_reader(graph, node, source.key):
        return None
    if not source.op.view:
        return source
    maker = graph.producers.get(source.inputs[0])
    return maker if maker is not None and is_only_reader(graph, source, maker.key) else None


def all_fused(applies: Applies, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (found := _fused(graph, applies, node)) is not None:
            yield node.where, f"is the activation of {found[0].where}, whose kernels could apply it"
