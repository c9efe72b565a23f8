"""States of an ONNX model: inputs that a call takes from an output of the call before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np
import onnx

from tilewright.errors import CompileError
from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.graph import Graph, State, verify
from tilewright.ir.types import Array
from tilewright.records import dataclass

PREFIX = "tilewright.state."
"""Entries of a model's metadata: behind this stands an input, and their value is the output that it is made of."""


@dataclass(frozen=True)
class Kept:
    """What a model and the user say about states."""

    outputs: Mapping[str, str] = field(default_factory=dict)
    """Of each state's input, the output that is its next value."""
    initial: Mapping[str, Array] = field(default_factory=dict)
    """Where the model says so: what it is before the first call. Zeros otherwise."""


def declare(proto: onnx.ModelProto, pairs: Mapping[str, str]) -> None:
    """Note states in a model, for whoever reads it."""
    for name, output in pairs.items():
        proto.metadata_props.add(key=PREFIX + name, value=output)


def taken_out(proto: onnx.ModelProto, said: Mapping[str, str]) -> tuple[onnx.ModelProto, Kept]:
    """The model with its states as plain inputs, and what they are: those of its metadata, and what the user says."""
    noted = {entry.key[len(PREFIX) :]: entry.value for entry in proto.metadata_props if entry.key.startswith(PREFIX)}
    outputs = {**noted, **said}
    if not outputs:
        return proto, Kept()
    _refuse_unknown(proto.graph, outputs)
    initial = {tensor.name: onnx_file.weights(tensor) for tensor in proto.graph.initializer if tensor.name in outputs}
    plain = onnx.ModelProto()
    plain.CopyFrom(proto)
    kept = [tensor for tensor in plain.graph.initializer if tensor.name not in outputs]
    del plain.graph.initializer[:]
    plain.graph.initializer.extend(kept)
    return plain, Kept(outputs, initial)


def _refuse_unknown(graph: onnx.GraphProto, pairs: Mapping[str, str]) -> None:
    inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
    for name, output in pairs.items():
        where = f"--state {name}={output}"
        if name not in inputs:
            raise CompileError(where, f"the model has no input '{name}'", f"inputs: {_listed(inputs)}")
        if output not in outputs:
            raise CompileError(where, f"the model has no output '{output}'", f"outputs: {_listed(outputs)}")


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:16])


def put_in(graph: Graph, kept: Kept) -> Graph:
    """The graph with states in the place of their inputs and outputs."""
    if not kept.outputs:
        return graph
    results = list(zip(graph.output_names, graph.outputs, strict=True))
    states = [_state(graph, name, dict(results)[output], kept) for name, output in kept.outputs.items()]
    gone = set(kept.outputs.values())
    left = [(name, tensor) for name, tensor in results if name not in gone]
    if not left:
        raise CompileError(
            "states", "every output is the next value of a state: no result is left", "leave one of them a plain output"
        )
    return verify(
        replace(
            graph, inputs=tuple(name for name in graph.inputs if name not in kept.outputs),
            outputs=tuple(tensor for _, tensor in left), output_names=tuple(name for name, _ in left),
            states=(*graph.states, *states),
        )
    )  # fmt: skip


def _state(graph: Graph, name: str, after: str, kept: Kept) -> State:
    if name not in graph.inputs:
        raise CompileError(f"state '{name}'", "is bound to a value too, which would never change", "drop one of both")
    kind, found = graph.types[name], graph.types[after]
    if kind != found:
        raise CompileError(
            f"state '{name}'", f"is {kind} when a call begins, but '{kept.outputs[name]}' is {found} when it ends",
            "both must be of one type and shape: --shape binds open axes",
        )  # fmt: skip
    first = kept.initial.get(name)
    value = np.zeros(kind.shape, kind.element) if first is None else first.astype(kind.element).reshape(kind.shape)
    return State(name, name, after, value)
