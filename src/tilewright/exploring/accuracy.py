"""How many of some labelled inputs a network puts into the right class, computed by its reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.types import Array
from tilewright.program import Program

LABELS = "labels"
HINT = f"an .npz file with an array of inputs, one behind the other, and `{LABELS}`, one number for each"


def accuracy_of(program: Program, path: str) -> float:
    """Of the first output's largest value, by the reference, which the target equals."""
    graph = program.compiled.quantised
    (name, *others) = graph.inputs
    if others:
        raise CompileError(path, f"the model has {len(graph.inputs)} inputs", "labelled inputs are for models with one")
    inputs, labels = _read(path, name)
    kind = graph.types[name]
    if inputs[:1].size != kind.elements:
        what = f"an input has {inputs[:1].size} elements, the model takes {kind.elements}"
        raise CompileError(path, what, HINT)
    right = 0
    for one, label in zip(inputs, labels, strict=True):
        found = evaluate_outputs(graph, {name: one.reshape(kind.shape).astype(kind.element)})[graph.outputs[0]]
        right += int(found.argmax()) == int(label)
    return right / len(labels)


def _read(path: str, name: str) -> tuple[Array, Array]:
    try:
        with np.load(Path(path), allow_pickle=False) as found:
            arrays = {key: found[key] for key in found.files}
    except (OSError, ValueError, EOFError) as error:
        raise CompileError(path, f"cannot be read: {error}", HINT) from None
    labels, inputs = arrays.pop(LABELS, None), arrays.get(name, next(iter(arrays.values()), None))
    if labels is None or inputs is None or labels.ndim != 1 or not len(labels) or len(inputs) != len(labels):
        sizes = ", ".join(
            f"{key} {value.shape}" for key, value in {**arrays, LABELS: labels}.items() if value is not None
        )
        raise CompileError(path, f"has {sizes or 'no arrays'}", HINT)
    return inputs, labels
