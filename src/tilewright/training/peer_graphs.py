"""Training graphs of another tool: a network of steps, an optimizer network, and a file of their inputs.

Weights, gradient buffers and the flag that begins an accumulation are inputs there, and the new buffers and weights
outputs. Here they become states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType, element
from tilewright.ops.add import Add
from tilewright.records import dataclass
from tilewright.training.batches import Batches, fitting, refuse_not_finite
from tilewright.training.graphs import FIRST, Training, checked
from tilewright.training.inference import inference

BUFFER, SUMMED = ".accumulation.buffer", ".accumulation.out"
"""How the inputs and outputs of gradients end."""
FIT = "are both files, and the data, of the same model?"


@dataclass(frozen=True)
class Roles:
    """What the inputs of both networks are."""

    data: tuple[str, ...]
    """What each step is given: data, labels."""
    weights: Mapping[str, Array]
    """First values of those that the optimizer changes."""
    frozen: Mapping[str, Array]
    """Weights that nobody changes."""
    buffers: Mapping[str, str]
    """Gradient buffers -> the outputs that become their values."""
    flag: str
    """Says whether a step is the first of an accumulation; empty without one."""
    gradients: Mapping[str, str]
    """Weight -> its buffer."""
    moments: tuple[str, ...]
    """What the optimizer alone keeps."""
    updated: Mapping[str, str]
    """Inputs of the optimizer -> the outputs that become their values."""


def read_graphs(train: Path, optimizer: Path, batches: Batches) -> Training:
    """Both files as one training, with the weights that lie beside the data."""
    steps, update = pipeline.import_model(train), pipeline.import_model(optimizer)
    roles = _roles(_Files(train, optimizer, batches, steps, update))
    made, weights = _train(steps, roles), tuple(roles.weights)
    return checked(
        Training(
            train.parent.name, made, _update(update, roles), inference(made, weights), weights,
            tuple(roles.gradients[name] for name in weights), roles.moments,
        )
    )  # fmt: skip


@dataclass(frozen=True)
class _Files:
    train: Path
    optimizer: Path
    batches: Batches
    steps: Graph
    update: Graph

    def refused(self, path: Path, what: str, hint: str = FIT) -> CompileError:
        return CompileError(str(path), what, hint)


def _roles(files: _Files) -> Roles:
    steps, update, batches = files.steps, files.update, files.batches
    buffers, flag = _buffers(files), _flag(files)
    rest = [name for name in steps.inputs if name not in buffers and name != flag]
    values = _values(files, [name for name in steps.inputs if name not in buffers], list(buffers))
    first = next((at for at, name in enumerate(rest) if name in update.inputs), len(rest))
    count = batches.data_inputs if batches.data_inputs is not None else min(2, first)
    data, given = rest[:count], rest[count:]
    wrong = [name for name in data if name in update.inputs]
    if wrong:
        what = f"each step has {count} arrays, but '{wrong[0]}' is a weight that {files.optimizer} changes"
        raise files.refused(batches.path, what)
    first_values = {name: _weight(files, name, values[name]) for name in given}
    weights = {name: array for name, array in first_values.items() if name in update.inputs}
    if not weights:
        raise files.refused(files.optimizer, f"changes none of the weights of {files.train}")
    gradients = {name: _gradient(files, name, list(buffers)) for name in weights}
    moments = tuple(name for name in update.inputs if name not in weights and name not in buffers)
    updated = _updated(files, [*weights, *moments])
    frozen = {name: array for name, array in first_values.items() if name not in weights}
    return Roles(tuple(data), weights, frozen, buffers, flag, gradients, moments, updated)


def _buffers(files: _Files) -> dict[str, str]:
    """By the names of inputs, the tensors of the outputs."""
    steps = files.steps
    names = [name for name in steps.inputs if name.endswith(BUFFER)]
    if not names:
        what = f"has no gradient buffers: no input is called like 'weight_grad{BUFFER}'"
        raise files.refused(files.train, what, "export it with gradient accumulation, as ONNX Runtime's artefacts have")
    named = dict(zip(steps.output_names, steps.outputs, strict=True))
    found = {name: named.get(name.removesuffix(BUFFER) + SUMMED, "") for name in names}
    if not all(found.values()) and len(steps.outputs) == len(names) + 1:
        return dict(zip(names, steps.outputs[1:], strict=True))
    for name, tensor in found.items():
        if not tensor:
            wanted = name.removesuffix(BUFFER) + SUMMED
            raise files.refused(files.train, f"buffer '{name}' has no new value: there is no output '{wanted}'")
    return found


def _flag(files: _Files) -> str:
    kinds = files.steps.types
    found = [name for name in files.steps.inputs if kinds[name].dtype == "bool" and kinds[name].elements == 1]
    if len(found) > 1:
        raise files.refused(files.train, f"has {len(found)} flags: {', '.join(found)}", "one says when gradients begin")
    return found[0] if found else ""


def _values(files: _Files, without: list[str], buffers: list[str]) -> dict[str, Array]:
    """First values by name: those of buffers may be in the file, or be left out."""
    once, path = files.batches.once, files.batches.path
    names = list(files.steps.inputs) if len(once) == len(without) + len(buffers) else without
    if len(once) != len(names):
        what = f"has {len(once)} arrays of the first step, {files.train} has {len(without)} inputs besides its buffers"
        raise files.refused(path, what)
    return dict(zip(names, once, strict=True))


def _weight(files: _Files, name: str, array: Array) -> Array:
    where = str(files.batches.path)
    found = fitting(array, files.steps.types[name], where, f"weight '{name}'")
    refuse_not_finite(found, where, f"weight '{name}'")
    return found


def _gradient(files: _Files, weight: str, buffers: list[str]) -> str:
    """The buffer that the optimizer reads with a weight."""
    steps, update = files.steps, files.update
    named = f"{weight}_grad{BUFFER}"
    readers = [node for node in update.nodes if weight in node.inputs]
    beside = [name for node in readers for name in node.inputs if name in buffers]
    found = named if named in update.inputs else next(iter(beside), "")
    if found not in buffers:
        raise files.refused(files.train, f"weight '{weight}' has no gradient buffer '{named}'")
    for name, path in ((weight, files.optimizer), (found, files.optimizer)):
        if name in update.inputs and update.types[name] != steps.types[name]:
            what = f"'{name}' is {update.types[name]}, in {files.train} it is {steps.types[name]}"
            raise files.refused(path, what)
    if found not in update.inputs or steps.types[found].shape != steps.types[weight].shape:
        raise files.refused(files.optimizer, f"does not read '{found}', the gradient of '{weight}'")
    return found


def _updated(files: _Files, kept: list[str]) -> dict[str, str]:
    """What each state of the optimizer becomes: outputs are called like the input and a word more."""
    update = files.update
    found: dict[str, str] = {}
    for name, tensor in zip(update.output_names, update.outputs, strict=True):
        like = [one for one in kept if name.startswith(one) and one not in found]
        if not like:
            raise files.refused(files.optimizer, f"output '{name}' is called like no weight of {files.train}")
        found[max(like, key=len)] = tensor
    missing = [name for name in kept if name not in found and not _is_number(update.types[name])]
    if missing:
        raise files.refused(files.optimizer, f"has no output for '{missing[0]}', such as '{missing[0]}_updated'")
    return found


def _is_number(kind: TensorType) -> bool:
    """Whether it may be a count of updates, which an optimizer leaves to the one who calls it."""
    return kind.elements == 1 and kind.dtype == "int64"


def _train(steps: Graph, roles: Roles) -> Graph:
    builder = _builder(steps, {name: steps.types[name] for name in roles.data})
    for name, array in roles.frozen.items():
        _constant(builder, name, array)
    for name, array in roles.weights.items():
        builder.state(name, array, name)
    for name in roles.buffers:
        builder.state(name, _zeros(steps.types[name]), name)
    if roles.flag:
        builder.state(FIRST, np.ones(steps.types[roles.flag].shape, np.bool_), roles.flag)
    for node in steps.nodes:
        builder.copy_node(node, steps)
    builder.output(steps.outputs[0], steps.output_names[0])
    for name in roles.weights:
        builder.set_next_state(name, name)
    for name, tensor in roles.buffers.items():
        builder.set_next_state(name, tensor)
    if roles.flag:
        no = np.zeros(steps.types[roles.flag].shape, np.bool_)
        builder.set_next_state(FIRST, builder.constant(no, "not_first"))
    return builder.build()


def _update(update: Graph, roles: Roles) -> Graph:
    builder = _builder(update, {})
    for name, array in roles.weights.items():
        builder.state(name, array, name)
    for name in roles.moments:
        builder.state(name, _zeros(update.types[name]), name)
    used = [name for name in roles.gradients.values() if name in update.inputs]
    for name in dict.fromkeys([*used, *(name for name in update.inputs if name in roles.buffers)]):
        builder.state(name, _zeros(update.types[name]), name)
    if roles.flag:
        yes = np.ones((1,), np.bool_)
        builder.state(FIRST, yes)
    for node in update.nodes:
        builder.copy_node(node, update)
    for state in list(builder.states.values()):
        builder.set_next_state(state.name, roles.updated.get(state.name, state.before))
    for name in roles.moments:
        if name not in roles.updated:
            _count(builder, name)
    if roles.flag:
        builder.set_next_state(FIRST, builder.constant(np.ones((1,), np.bool_), "first"))
    return builder.build()


def _count(builder: Builder, name: str) -> None:
    """A count of updates that nobody else advances."""
    one = builder.constant(np.ones(builder.types[name].shape, np.int64), "one")
    (after,) = builder.add(Add(), [name, one], name=f"{name}.next")
    builder.set_next_state(name, after)


def _builder(graph: Graph, inputs: Mapping[str, TensorType]) -> Builder:
    builder = Builder(graph.name, notes=list(graph.notes))
    for name, kind in inputs.items():
        builder.input(name, kind)
    for name, array in graph.constants.items():
        builder.constants[name], builder.types[name] = array, graph.types[name]
    builder.reserve(graph.types)
    return builder


def _constant(builder: Builder, name: str, array: Array) -> None:
    builder.constants[name] = array
    builder.types[name] = TensorType(array.dtype.name, array.shape)


def _zeros(kind: TensorType) -> Array:
    return np.zeros(kind.shape, element(kind.dtype))


def with_weights(training: Training, weights: Mapping[str, Array]) -> Training:
    """The same training, beginning with other weights."""
    graphs = {}
    for which, graph in training.graphs.items():
        states = tuple(
            replace(state, initial=weights[state.name]) if state.name in weights else state for state in graph.states
        )
        graphs[which] = replace(graph, states=states)
    return training.with_graphs(**graphs)
