"""Models that are going to be trained: read so that their weights keep their names and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.any_model import checked_options, is_tflite, with_notes
from tilewright.frontends.any_model import load as load_any
from tilewright.frontends.export_check import compare_with_framework
from tilewright.frontends.frameworks import exported, framework_of
from tilewright.frontends.model_options import ModelOptions
from tilewright.ir.arrays import Given, arrays_of
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.records import dataclass


@dataclass(frozen=True)
class Trainable:
    """A network that can be trained."""

    graph: Graph
    learning: frozenset[str] = frozenset()
    """The parameters that the framework trains; none where nobody says."""
    dropped: dict[str, float] = field(default_factory=dict)
    """Tensors of which training drops elements, and the share of these."""


def load(model: Any, example_inputs: Given | None = None, check_export: bool = True, **said: Any) -> Trainable:
    """What comes from a framework is held to what that computes."""
    if isinstance(model, Graph):
        return Trainable(model)
    if is_tflite(model):
        return Trainable(load_any(model, example_inputs, **said))
    from tilewright.frontends.onnx import parameters

    options = checked_options(model, ModelOptions(**said))
    found = exported(model, example_inputs, options.random_seed, folds=False)
    learning = _learning(model)
    opened = parameters.load(found.proto, options, learning)
    if check_export:
        compare_with_framework(opened.graph, found)
    fixed = [f"parameter '{name}' does not learn: its value is needed when the model is read" for name in opened.fixed]
    graph = with_notes(opened.graph, (*found.notes, *fixed), options)
    return Trainable(graph, learning, dict(opened.dropped))


def _learning(model: Any) -> frozenset[str]:
    """The names of parameters of a module of PyTorch that are not frozen there."""
    if framework_of(model) != "torch" or not hasattr(model, "named_parameters"):
        return frozenset()
    return frozenset(name for name, value in model.named_parameters() if value.requires_grad)


def with_batch(
    model: Any, example_inputs: Given | None, batch: int | None, said: dict[str, Any]
) -> tuple[Given | None, dict[str, Any]]:
    """Example inputs, or open dimensions of a file, for `batch` samples in a step; one if nothing says how many."""
    if batch is not None and batch < 1:
        raise CompileError(f"batch {batch}", "is no number of samples", "use 1 or more")
    if example_inputs is not None:
        return (example_inputs if batch is None else _repeated(example_inputs, batch)), said
    if isinstance(model, Graph) or is_tflite(model) or framework_of(model) is not None:
        return None, said
    from tilewright.frontends.onnx.parameters import open_batches

    dims = dict.fromkeys(open_batches(model), batch or 1)
    return None, {**said, "dims": {**dims, **said.get("dims", {})}}


def _repeated(example_inputs: Given, batch: int) -> dict[str, Array] | tuple[Array, ...]:
    """The first sample of each, so many times."""
    arrays = arrays_of(example_inputs, "input")
    found = {name: np.repeat(array[:1], batch, 0) for name, array in arrays.items()}
    return found if isinstance(example_inputs, Mapping) else tuple(found.values())
