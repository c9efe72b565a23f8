"""Operators of TensorFlow Lite, of bytes, words and floats, with the bits of its runtimes."""

from __future__ import annotations

from math import prod

from benchmarks.differential.case import EXACT, Case
from benchmarks.differential.choices import Choices, Dull
from benchmarks.differential.runtimes import tensorflow_lite
from tests.support.tflite_cases import FLOATS, QUANTISED, random_input
from tests.support.tflite_function_cases import FUNCTIONS

from tilewright import pipeline
from tilewright.errors import CompileError

MAKERS = {**QUANTISED, **{f"float_{name}": make for name, make in FLOATS.items()}, **FUNCTIONS}
ROUNDINGS = ("micro", "reference")
KNOWN = {
    "reference": {"sum": 255, "connected_int16": 1, "softmax_int16": 1, "concatenation_rescaled": 1},
    "micro": {"space_to_batch": 255, "concatenation_rescaled": 1},
}
"""Where a runtime is known to compute otherwise (`tests/frontends/tflite/test_operators.py`)."""


def draw(choices: Choices, room: int) -> Case:
    name = choices.pick_one(list(MAKERS))
    rounding = "reference" if name.startswith("float_") else choices.pick_one(ROUNDINGS)
    data = MAKERS[name](choices)  # type: ignore[arg-type]
    return case(data, choices, rounding, None if name.startswith("float_") else KNOWN[rounding].get(name, EXACT))


def case(data: bytes, choices: Choices, rounding: str, allowed: float | None) -> Case:
    """A file with inputs by chance, and what the runtime gives."""
    options = {"tflite_rounding": rounding}
    try:
        graph = pipeline.import_model(data, **options)
    except CompileError:
        return Case(data, {}, {}, {}, options)
    kinds = [graph.types[name] for name in graph.inputs]
    inputs = [random_input(choices, kind.dtype, kind.shape) for kind in kinds]  # type: ignore[arg-type]
    values = tensorflow_lite(data, inputs, len(graph.outputs), rounding) or []
    names, shapes = graph.output_names, [graph.types[name].shape for name in graph.outputs]
    if any(value.size != prod(shape) for value, shape in zip(values, shapes, strict=False)):
        raise Dull("a runtime that gives other shapes")
    expected = {name: value.reshape(shape) for name, value, shape in zip(names, values, shapes, strict=False)}
    feeds = dict(zip(graph.inputs, inputs, strict=True))
    return Case(data, feeds, expected, {} if allowed is None else dict.fromkeys(names, allowed), options)
