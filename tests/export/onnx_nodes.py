"""The node tests of the onnx package: imported, written again, read again and run by ONNX Runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from onnx.backend.test.case.test_case import TestCase

from tests.e2e.onnx_nodes import array_of, difference
from tests.export.round_trip import Feeds, run
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.export import model_of
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph

RUN_AT_LEAST, OPERATORS_AT_LEAST, REFUSED_AT_MOST = 0.65, 0.33, 0.006
"""Tests that ONNX Runtime runs with our result, operators among them, and what is not written, as parts of all: some
parts of the package's tests are shorter."""

NO_KERNEL = (
    "NOT_IMPLEMENTED",
    "MLDataType",
    "No corresponding Numpy type",
    "not defined for empty set",
    "model IR version",
)
"""What ONNX Runtime says of types that it has no kernel for, and of opsets that it does not know yet."""

CLOSE = {"HardSigmoid", "LeakyRelu", "Mod", "Cast"}
"""Operators whose numbers the file holds in float32, or that are several nodes."""


def check_all(cases: Sequence[TestCase]) -> None:
    """That they survive the way out and back."""
    statuses, operators, wrong = Counter[str](), set[str](), list[str]()
    for name, graph, feeds in imported(cases):
        status = outcome(graph, feeds)
        statuses[status.split(":")[0]] += 1
        wrong += [f"{name}: {status}"] if status.startswith("wrong") else []
        operators |= {node.op.kind for node in graph.nodes} if status == "ran" else set()
    assert not wrong, "\n".join(wrong)
    assert statuses["ran"] >= RUN_AT_LEAST * len(cases)
    assert len(operators) >= OPERATORS_AT_LEAST * len(cases)
    assert statuses["refused"] <= REFUSED_AT_MOST * len(cases)


def imported(cases: Sequence[TestCase]) -> Iterator[tuple[str, Graph, Feeds]]:
    for case in cases:
        try:
            graph = pipeline.import_model(case.model)
        except CompileError:
            continue
        yield case.name, graph, dict(zip(graph.inputs, map(array_of, case.data_sets[0][0]), strict=True))


def outcome(graph: Graph, feeds: Feeds) -> str:
    """ran, refused, no kernel, or what is wrong."""
    try:
        model = model_of(graph)
    except CompileError:
        return "refused"
    values, again = evaluate(graph, feeds), pipeline.import_model(model)
    found = evaluate(again, feeds)
    wanted = [values[tensor] for tensor in graph.outputs]
    exact = not CLOSE & {node.op.kind for node in graph.nodes}
    for tensor, value in zip(again.outputs, wanted, strict=True):
        equal = np.array_equal(found[tensor], value, equal_nan=value.dtype.kind == "f")
        if not equal and (exact or difference(found[tensor], value, 0.0)):
            return f"wrong: read again, {difference(found[tensor], value, 0.0) or 'nearly equal'}"
    try:
        ran = run(model, feeds)
    except Exception as error:  # ONNX Runtime has a class of its own for each of its codes
        return "no kernel" if any(words in str(error) for words in NO_KERNEL) else f"wrong: {error}"
    problems = filter(None, (difference(a, b, 0.0) for a, b in zip(ran.values(), wanted, strict=True)))
    return next((f"wrong: ONNX Runtime, {problem}" for problem in problems), "ran")
