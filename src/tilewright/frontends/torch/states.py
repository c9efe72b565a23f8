"""Buffers that a PyTorch module changes when it is called: they last from call to call, as states of the network."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from onnx import GraphProto, ModelProto, numpy_helper

from tilewright.frontends.onnx import renaming, states
from tilewright.ir.arrays import as_numpy

ARGUMENT = "tilewright_states"


def changed(exported: Any) -> tuple[str, ...]:
    """The names of buffers that a call leaves with other values."""
    return tuple(exported.graph_signature.buffers_to_mutate.values())


def opened(module: Any, buffers: Sequence[str]) -> Any:
    """The module with these buffers as one more argument, and what becomes of them as one more result.

    PyTorch's ONNX exporter drops what becomes of buffers, and what leads there.
    """
    import torch

    outer = torch.nn.Module()
    outer.module = module

    def forward(*positional: Any, **named: Any) -> Any:
        held = {name: value.clone() for name, value in zip(buffers, named.pop(ARGUMENT), strict=True)}
        results = torch.func.functional_call(outer.module, held, positional, named)
        return results, tuple(held[name].clone() for name in buffers)

    forward.__signature__ = _with_one_more(inspect.signature(module.forward))  # type: ignore[attr-defined]
    outer.forward = forward  # arguments keep their names
    return outer


def _with_one_more(signature: inspect.Signature) -> inspect.Signature:
    held = list(signature.parameters.values())
    end = len(held) - any(parameter.kind is parameter.VAR_KEYWORD for parameter in held)
    return signature.replace(
        parameters=[*held[:end], inspect.Parameter(ARGUMENT, inspect.Parameter.KEYWORD_ONLY), *held[end:]]
    )


def values_of(module: Any, buffers: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The argument that an opened module has more: what the buffers hold now."""
    held = dict(module.named_buffers())
    return {ARGUMENT: tuple(held[name].detach().clone() for name in buffers)}


def declared(proto: ModelProto, values: Mapping[str, Any]) -> ModelProto:
    """The model with its last inputs and outputs noted as states, under the names of their buffers."""
    graph = proto.graph
    if not values:
        return proto
    inputs, outputs = ([value.name for value in ends][-len(values) :] for ends in (graph.input, graph.output))
    names = _renamed(graph, inputs, list(values))
    for name, value in zip(names, values.values(), strict=True):
        graph.initializer.append(numpy_helper.from_array(as_numpy(value), name))
    states.declare(proto, dict(zip(names, outputs, strict=True)))
    return proto


def _renamed(graph: GraphProto, old: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Inputs under other names, as far as these are free."""
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    taken |= {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    names = {before: renaming.free(name, taken) for before, name in zip(old, wanted, strict=True)}
    renaming.apply(graph, names)
    for value in graph.input:
        value.name = names.get(value.name, value.name)
    return [names[before] for before in old]
