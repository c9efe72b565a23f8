"""Calls of a network in order: inputs and outputs with an axis of steps in front, what is kept lives between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.arrays import Given, arrays_of, convert_all, match
from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, TensorType
from tilewright.run.compare import Agreement, compare

Types = Mapping[str, TensorType]
Feeds = Mapping[str, Array]


def has_step_axis(types: Types, given: Given) -> bool:
    """Whether every input comes with one axis more than the model's has, in front."""
    if not types:
        return False
    arrays = match(list(types), arrays_of(given, "input"), "inputs")
    return all(
        arrays[name].shape[1:] == kind.shape and arrays[name].ndim > len(kind.shape) for name, kind in types.items()
    )


def split_steps(types: Types, given: Given, steps: int | None = None) -> list[dict[str, Array]]:
    """The inputs of every step, or of the first so many."""
    arrays = match(list(types), arrays_of(given, "input"), "inputs")
    counts = {name: _step_count(arrays[name], kind.shape, f"input '{name}'", steps) for name, kind in types.items()}
    there = _common(counts, "input")
    wanted = there if steps is None else steps
    if wanted > there and counts:
        first = next(iter(counts))
        raise CompileError(
            f"--steps {wanted}", f"input '{first}' has {there} steps along its first axis", f"use --steps {there}"
        )
    return [convert_all(types, {name: arrays[name][step] for name in types}) for step in range(wanted)]


def _step_count(array: Array, shape: Sequence[int], where: str, steps: int | None) -> int:
    if array.shape[1:] == tuple(shape) and array.ndim == len(shape) + 1 and array.shape[0]:
        return int(array.shape[0])
    count = "STEPS" if steps is None else str(steps)
    raise CompileError(
        where, f"has shape {_text(array.shape)}, the model needs {_text((count, *shape))}: steps are the first axis",
        "put the arrays of all steps into one with numpy.stack",
    )  # fmt: skip


def _common(counts: Mapping[str, int], what: str) -> int:
    """How many steps all of them have."""
    for name, count in counts.items():
        first = next(iter(counts))
        if count != counts[first]:
            raise CompileError(
                f"{what} '{name}'", f"has {count} steps along its first axis, {what} '{first}' has {counts[first]}",
                "give all of them the same number of steps",
            )  # fmt: skip
    return next(iter(counts.values()), 1)


def expected_steps(names: Sequence[str], given: Given, steps: int) -> dict[str, Array]:
    """Expected outputs of the first steps."""
    arrays = match(names, arrays_of(given, "expected output"), "expected outputs")
    for name, array in arrays.items():
        if not array.ndim or array.shape[0] < steps:
            raise CompileError(
                f"expected output '{name}'", f"has shape {_text(array.shape)}, but {steps} steps are run",
                "its first axis has to be the steps, as that of the inputs",
            )  # fmt: skip
    return {name: array[:steps] for name, array in arrays.items()}


def reference_steps(
    graph: Graph, feeds: Sequence[Feeds], see: Callable[[Feeds, Feeds], None] = lambda inputs, values: None
) -> dict[str, Array]:
    """The outputs of calls in order, computed with numpy, under the names that the model gives them; `see` gets the
    inputs and all tensors of each."""
    states, found = initial_states(graph), []
    for inputs in feeds:
        values = evaluate(graph, inputs, states)
        states = states_after(graph, values)
        see(inputs, values)
        found.append({name: values[tensor] for name, tensor in zip(graph.output_names, graph.outputs, strict=True)})
    return stacked(found)


def stacked(steps: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Arrays of every step as one with an axis of steps in front."""
    return {name: np.stack([step[name] for step in steps]) for name in steps[0]}


def compare_steps(
    found: Mapping[str, Array], wanted: Mapping[str, Array], allowed: Mapping[str, float], tolerance: float
) -> tuple[Agreement, ...]:
    """All steps of every output together; where they differ, the first step that does is named."""
    return tuple(_compared(name, found[name], wanted[name], tolerance, allowed.get(name, 0.0)) for name in found)


def _compared(name: str, found: Array, wanted: Array, tolerance: float, step: float) -> Agreement:
    whole = compare(name, found, wanted, tolerance, step)
    if whole.agrees or found.shape != wanted.shape:
        return whole
    # What is allowed depends on the scale of all steps.
    rows = enumerate(zip(found, wanted, strict=True))
    first = next((number for number, (one, other) in rows if _differs(one, other, whole.allowed)), 0)
    return replace(whole, remark=f"differs, first in step {first} of {len(found)}")


def _differs(found: Array, wanted: Array, allowed: float) -> bool:
    return not compare("", found, wanted, 0.0, allowed).agrees


def _text(shape: Sequence[int | str]) -> str:
    return "x".join(map(str, shape)) or "scalar"
