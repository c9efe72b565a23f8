"""TensorFlow Lite files of the tests with one thing wrong: a tensor's shape, type, scale or values, or an option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from tests.support import npu_cases, tflite_cases, tflite_function_cases, tflite_models
from tests.support.tflite_models import Graph, O, T

KINDS = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
NUMBERS = (-1, 0, 1, 2, 3, 99, 2**30)


def damaged_files(run: Callable[[bytes], object]) -> Iterator[tuple[str, Iterator[Callable[[], object]]]]:
    """Names of sound files, with calls that `run` each of their damaged copies."""
    cases = {
        **tflite_cases.QUANTISED, **tflite_cases.FLOATS, **tflite_cases.HYBRID, **tflite_function_cases.FUNCTIONS,
        **npu_cases.CASES,
    }  # fmt: skip
    for name, make in cases.items():
        for graph in _written(make):
            yield f"TFLite {name}", (lambda wrong=wrong: run(tflite_models.write(*wrong)) for wrong in _wrong(graph))


def _written(make: tflite_cases.Case) -> list[Graph]:
    """What a case would have written."""
    found: list[Graph] = []

    def keep(*graph: Any) -> bytes:
        found.append(graph)
        return b""

    with mock.patch.object(tflite_cases, "write", keep):
        make(np.random.default_rng(1))
    return found


def _wrong(graph: Graph) -> Iterator[Graph]:
    tensors, operators, inputs, outputs = graph
    for at, tensor in enumerate(tensors):
        for other in _wrong_tensors(tensor):
            yield [*tensors[:at], other, *tensors[at + 1 :]], operators, inputs, outputs
    for at, operator in enumerate(operators):
        for wrong in _wrong_operators(operator):
            yield tensors, [*operators[:at], wrong, *operators[at + 1 :]], inputs, outputs


def _wrong_tensors(tensor: T) -> Iterator[T]:
    for shape in _wrong_shapes(tensor.shape):
        value = None if tensor.value is None else np.resize(tensor.value, shape).astype(tensor.value.dtype)
        yield replace(tensor, shape=shape, value=value)
    for kind in KINDS:
        value = None if tensor.value is None else tensor.value.astype(kind)
        yield replace(tensor, dtype=kind, value=value)
    for scale in (None, 1e-30, 0.37, 1e30, [0.1, 0.2, 0.3]):
        for zero in (0, 7):
            yield replace(tensor, scale=scale, zero=zero)
    if tensor.value is not None:
        for number in NUMBERS:
            yield replace(tensor, value=np.full_like(tensor.value, np.array(number).astype(tensor.value.dtype)))
        yield replace(tensor, value=np.flip(tensor.value))


def _wrong_shapes(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield from ((), tuple(shape[1:]), (*shape, 1), (1, *shape), (*shape[:-1], 70_000))
    for axis, size in enumerate(shape):
        for other in (1, size + 1, 2 * size):
            yield (*shape[:axis], other, *shape[axis + 1 :])


def _wrong_operators(operator: O) -> Iterator[O]:
    for name in operator.fields:
        for number in NUMBERS:
            yield replace(operator, fields={**operator.fields, name: number})
    yield replace(operator, inputs=list(operator.inputs)[:-1])
    yield replace(operator, inputs=[*operator.inputs, operator.inputs[-1]])
