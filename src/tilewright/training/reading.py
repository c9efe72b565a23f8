"""Any model as a network that can be trained: one reader for `tw.train` and for the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.parameters import Trainable, load, with_batch
from tilewright.ir.arrays import Given
from tilewright.ir.graph import Graph


def read(model: Any, example_inputs: Given | None, batch: int | None, options: Mapping[str, Any]) -> Trainable:
    """With `batch` samples in a step; by default as many as the model says, or one where it leaves that open."""
    _check_sizes(options)
    given, said = with_batch(model, example_inputs, batch, dict(options))
    found = load(model, given, **said)
    if batch is not None and _takes_other(found.graph, batch) and not isinstance(model, Graph):
        found = _with_first_axes(found, batch, model, given, said)
    return replace(found, graph=pipeline.as_imported(found.graph))


def _with_first_axes(found: Trainable, batch: int, model: Any, given: Given | None, said: dict[str, Any]) -> Trainable:
    shapes = {name: (batch, *found.graph.types[name].shape[1:]) for name in found.graph.inputs}
    try:
        return load(model, given, **{**said, "shapes": {**said.get("shapes", {}), **shapes}})
    except CompileError:
        named = ", ".join(f"'{name}' {found.graph.types[name]}" for name in found.graph.inputs)
        what = f"does not fit the sizes that are fixed in the model: {named}"
        hint = "export it with an open first axis; or leave it out, and take the mean of steps with accumulate"
        raise CompileError(f"batch {batch}", what, hint) from None


def batch_of(graph: Graph) -> int:
    """Samples of a step: the first axis of all inputs; one where that is not the same."""
    firsts = {(graph.types[name].shape or (1,))[0] for name in graph.inputs}
    return firsts.pop() if len(firsts) == 1 else 1


def check_batch(train: Graph, batch: int | None) -> None:
    """Refuse a batch that a step, whose last input is the label, does not take."""
    if batch is None or batch == batch_of(train):
        return
    sizes = ", ".join(f"'{name}' {train.types[name]}" for name in train.inputs)
    what = f"a step takes {sizes}: the first axis of each should be the batch"
    raise CompileError(f"batch {batch}", what, "leave it out, or export the network with this batch as its first axis")


def _takes_other(graph: Graph, batch: int) -> bool:
    """A first axis that inputs do not share is none of samples, unless more than one is asked for."""
    return batch_of(graph) != batch and all(graph.types[name].shape for name in graph.inputs)


def _check_sizes(options: Mapping[str, Any]) -> None:
    for name, size in options.get("dims", {}).items():
        if isinstance(size, tuple):
            what = "is a range, and a training has one size"
            raise CompileError(f"--dim {name}={size[0]}..{size[1]}", what, f"for example --dim {name}={size[0]}")
