"""The reference: every operator's numpy meaning, in order. All targets are held to this."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import compute
from tilewright.ir.length import numbers_of
from tilewright.ir.types import Array, TensorType, dtype_name

States = Mapping[str, Array]
"""The values of states between two calls, by their names."""


def initial_states(graph: Graph) -> dict[str, Array]:
    """Before the first call."""
    return {state.name: state.initial for state in graph.states}


def evaluate(graph: Graph, inputs: Mapping[str, Array], states: States | None = None) -> dict[str, Array]:
    """All tensors of a graph by name, in one call; the first one where no states are given."""
    values = _given(graph, inputs, states)
    for node in graph.nodes:
        values |= _results(graph, node, values)
    return values


def evaluate_outputs(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a first call; no tensor is held longer than it is read."""
    values = _given(graph, inputs, None)
    last = {name: place for place, node in enumerate(graph.nodes) for name in node.inputs}
    for place, node in enumerate(graph.nodes):
        values |= _results(graph, node, values)
        for name in {*node.inputs, *node.outputs}.difference(graph.outputs):
            if name in values and last.get(name, place) == place:
                del values[name]
    return {name: values[name] for name in graph.outputs}


def _given(graph: Graph, inputs: Mapping[str, Array], states: States | None) -> dict[str, Array]:
    """What is known before the first node."""
    kept = initial_states(graph) if states is None else states
    before = {state.before: kept[state.name] for state in graph.states}
    return {**graph.constants, **{name: inputs[name] for name in graph.inputs}, **before}


def _results(graph: Graph, node: Node, values: Mapping[str, Array]) -> dict[str, Array]:
    found = evaluate_node(graph, node, values)
    return {name: value for name, value in zip(node.outputs, found, strict=False) if name}


def states_after(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """The states that a call leaves, from all its tensors."""
    return {state.name: values[state.after] for state in graph.states}


def evaluate_node(graph: Graph, node: Node, values: Mapping[str, Array]) -> tuple[Array, ...]:
    """The results of one node, checked against the types that the graph states."""
    operands = [values[name] if name else None for name in node.inputs]
    with np.errstate(all="ignore"):
        results = compute(node.op, operands)
    for name, value in zip(node.outputs, results, strict=False):
        kind = graph.types.get(name)
        if kind is not None and (dtype_name(value.dtype) != kind.dtype or not _has_shape(value, kind)):
            what = f"computes {value.dtype.name}{value.shape}, the graph says {kind}"
            raise CompileError(node.where, what, "mend numpy() or infer() of its operator: they contradict each other")
    return results


def _has_shape(value: Array, kind: TensorType) -> bool:
    """Whether it is as large as the type says, or with lengths as large as their bounds."""
    return value.shape == kind.shape or value.shape == numbers_of(kind.shape)
