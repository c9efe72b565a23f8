"""UNIDIRECTIONAL_SEQUENCE_LSTM gives what LiteRT gives, call after call, or is refused in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tests.support.tflite_models import O, T, constant, write
from tilewright.ir.types import Array

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 3, 5


def tensors(peepholes: bool, time_major: bool) -> list[T | None]:
    draw = np.random.default_rng(3)

    def weights(*shape: int) -> T:
        return constant((draw.standard_normal(shape) / 2).astype(np.float32))

    x = T("float32", (STEPS, BATCH, INPUTS) if time_major else (BATCH, STEPS, INPUTS))
    kept = [replace(T("float32", (BATCH, HIDDEN)), is_variable=True, name=name) for name in ("h", "c")]
    return [
        x, *(weights(HIDDEN, INPUTS) for _ in range(4)), *(weights(HIDDEN, HIDDEN) for _ in range(4)),
        *(weights(HIDDEN) if peepholes else None for _ in range(3)), *(weights(HIDDEN) for _ in range(4)),
        None, None, *kept, None, None, None, None,
    ]  # fmt: skip


def model(given: list[T | None], time_major: bool = False, function: int = 4) -> bytes:
    held = [tensor for tensor in given if tensor is not None]
    places = iter(range(len(held)))
    inputs = [-1 if tensor is None else next(places) for tensor in given]
    assert given[0] is not None
    result = T("float32", (*given[0].shape[:2], HIDDEN))
    fields = {"FusedActivationFunction": function, "TimeMajor": time_major}
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    operator = O(kind, inputs, [len(held)], "UnidirectionalSequenceLSTMOptions", fields)
    return write([*held, result], [operator], [0], [len(held)])


def litert(data: bytes, calls: Array) -> Array:
    runtime = pytest.importorskip("ai_edge_litert.interpreter", reason="pip install ai-edge-litert")
    interpreter = runtime.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    results = []
    for x in calls:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy())
    return np.stack(results)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("peepholes", [False, True])
def test_calls_in_order_equal_litert(peepholes: bool, time_major: bool) -> None:
    data = model(tensors(peepholes, time_major), time_major)
    program = tw.compile(data)
    assert [state.name for state in program.graph.states] == ["h", "c"]
    shape = program.graph.types[program.graph.inputs[0]].shape
    calls = np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)
    found = program.run_steps([calls])[0]
    np.testing.assert_allclose(found, litert(data, calls), atol=1e-5)


@pytest.mark.in_turns(3)
def test_a_second_call_goes_on_where_the_first_ended() -> None:
    program = tw.compile(model(tensors(False, True), True))
    calls = np.random.default_rng(1).standard_normal((2, STEPS, BATCH, INPUTS)).astype(np.float32)
    long = tensors(False, True)
    long[0] = T("float32", (2 * STEPS, BATCH, INPUTS))
    whole = tw.compile(model(long, True)).run(calls.reshape(2 * STEPS, BATCH, INPUTS))[0]
    np.testing.assert_allclose(program.run_steps([calls])[0].reshape(whole.shape), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("position", "says"), [(1, "no input gate"), (16, "a projection"), (20, "normalises its gates")]
)
def test_other_kinds_are_refused(position: int, says: str) -> None:
    given = tensors(False, False)
    given[position] = None if position == 1 else constant(np.ones(HIDDEN, np.float32))
    with pytest.raises(tw.CompileError, match=says):
        tw.compile(model(given))


def test_another_function_is_refused() -> None:
    with pytest.raises(tw.CompileError, match="another function than tanh"):
        tw.compile(model(tensors(False, False), function=1))
