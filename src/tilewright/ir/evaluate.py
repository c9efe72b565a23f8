"""The reference: every operator's numpy meaning, in order. All targets are held to this."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array


def evaluate(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """All tensors of a graph by name."""
    values: dict[str, Array] = {**graph.constants, **{name: inputs[name] for name in graph.inputs}}
    for node in graph.nodes:
        results = evaluate_node(graph, node, values)
        values |= {name: value for name, value in zip(node.outputs, results, strict=False) if name}
    return values


def evaluate_node(graph: Graph, node: Node, values: Mapping[str, Array]) -> tuple[Array, ...]:
    """The results of one node, checked against the types that the graph states."""
    operands = [values[name] if name else None for name in node.inputs]
    with np.errstate(all="ignore"):
        found = node.op.numpy(*operands)
    results = found if isinstance(found, tuple) else (found,)
    for name, value in zip(node.outputs, results, strict=False):
        kind = graph.types.get(name)
        if kind is not None and (value.dtype.name != kind.dtype or value.shape != kind.shape):
            raise CompileError(node.where, f"computes {value.dtype.name}{value.shape}, the graph says {kind}")
    return results
