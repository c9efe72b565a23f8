"""TensorFlow Lite's variables: states that begin as CALL_ONCE says, equal to TensorFlow Lite Micro in every step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.networks import models
from tests.support.stand_ins import Network, detector, detector_insides, network_id, tflite_bytes
from tests.support.tflite_models import O, T, constant, write
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.tflite import importer
from tilewright.ir.types import Array
from tilewright.program import compile_model
from tilewright.run.steps import reference_steps

pytestmark = pytest.mark.in_turns(6)

HANDLE = T("int8", (), kind="RESOURCE")
NETWORKS = [detector, *models("tflite_streaming/*.tflite")]
FIRST = np.array([[5, -3, 100, 7]], np.int8)


def handle(number: int, name: str = "kept", container: str = "") -> O:
    return O("VAR_HANDLE", [], [number], "VarHandleOptions", {"Container": container, "SharedName": name})


def once(number: int = 1) -> O:
    return O("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": number})


def initialiser(value: Array, name: str = "kept") -> tuple[Sequence[T], Sequence[O], Sequence[int], Sequence[int]]:
    return [HANDLE, constant(value, 0.5)], [handle(0, name), O("ASSIGN_VARIABLE", [0, 1], [])], [], []


def delay(extra: Sequence[O] = (), value: Array | None = FIRST, name: str = "kept") -> bytes:
    """The output is the input of the step before."""
    tensors = [T("int8", (1, 4), 0.5), HANDLE, T("int8", (1, 4), 0.5)]
    operators = [
        handle(1, name), *([once()] if value is not None else []), O("READ_VARIABLE", [1], [2]),
        O("ASSIGN_VARIABLE", [1, 0], []), *extra,
    ]  # fmt: skip
    return write(tensors, operators, [0], [2], more=[] if value is None else [initialiser(value)])


def test_a_variable_is_a_state_with_the_value_of_call_once() -> None:
    graph = pipeline.import_model(delay())
    (state,) = graph.states
    assert state.name == "kept"
    np.testing.assert_array_equal(state.initial, FIRST)
    x = np.arange(12, dtype=np.int8).reshape(3, 1, 4)
    (found,) = reference_steps(graph, [{graph.inputs[0]: step} for step in x]).values()
    np.testing.assert_array_equal(found, np.stack([FIRST, x[0], x[1]]))
    (ran,) = compile_model(delay()).run_steps([x]).outputs.values()
    np.testing.assert_array_equal(ran, found)


def test_what_is_assigned_before_it_is_read_is_no_state() -> None:
    tensors = [T("int8", (1, 4), 0.5), HANDLE, T("int8", (1, 4), 0.5)]
    operators = [handle(1), O("ASSIGN_VARIABLE", [1, 0], []), O("READ_VARIABLE", [1], [2])]
    graph = pipeline.import_model(write(tensors, operators, [0], [2]))
    assert not graph.states
    assert graph.outputs == graph.inputs


def test_variables_of_two_containers_are_two() -> None:
    tensors = [T("int8", (1, 4), 0.5), HANDLE, HANDLE, T("int8", (1, 4), 0.5), T("int8", (1, 4), 0.5)]
    operators = [
        handle(1, container="a"), handle(2, container="b"), once(), O("READ_VARIABLE", [1], [3]),
        O("READ_VARIABLE", [2], [4]), O("ASSIGN_VARIABLE", [1, 0], []), O("ASSIGN_VARIABLE", [2, 3], []),
    ]  # fmt: skip
    first = [HANDLE, HANDLE, constant(FIRST, 0.5), constant(FIRST + np.int8(1), 0.5)]
    setting = [
        handle(0, container="a"), handle(1, container="b"), O("ASSIGN_VARIABLE", [0, 2], []),
        O("ASSIGN_VARIABLE", [1, 3], []),
    ]  # fmt: skip
    graph = pipeline.import_model(write(tensors, operators, [0], [3, 4], more=[(first, setting, [], [])]))
    assert [state.name for state in graph.states] == ["kept", "b/kept"]
    assert [int(state.initial[0, 0]) for state in graph.states] == [5, 6]


@pytest.mark.parametrize(("model", "what"), [
    (lambda: delay(value=None), "variable 'kept' is read, but nothing gives it a first value"),
    (lambda: delay([once(7)]), "calls subgraph 7 of 2"),
    (lambda: delay([O("ASSIGN_VARIABLE", [0, 2], [])]), "its first input is no handle of a variable"),
    (lambda: delay(value=np.zeros((1, 5), np.int8)), "'t2' is declared i8[1x4]"),
    (lambda: delay(name=""), "has no name, by which a variable is known"),
])  # fmt: skip
def test_files_that_contradict_themselves(model, what: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CompileError) as error:
        importer.load(model())
    assert what in str(error.value)


def test_a_first_value_that_is_computed_is_refused() -> None:
    tensors, operators = [HANDLE, T("int8", (1, 4), 0.5)], [handle(0), O("ASSIGN_VARIABLE", [0, 1], [])]
    model = write(
        [T("int8", (1, 4), 0.5), HANDLE, T("int8", (1, 4), 0.5)],
        [handle(1), once(), O("READ_VARIABLE", [1], [2])], [0], [2], more=[(tensors, operators, [1], [])],
    )  # fmt: skip
    with pytest.raises(CompileError, match="which nothing defines"):
        importer.load(model)


# ---- detectors ------------------------------------------------------------------------------------------------------


def steps_of(network: Network) -> tuple[Array, Array]:
    """Stored beside a file, or what TensorFlow Lite Micro makes of noise."""
    if not isinstance(network, Path):
        inputs = noise(network)
        return inputs, by_micro(tflite_bytes(network), inputs)
    arrays = np.load(network.with_suffix(".npz"))
    count = sum(key.startswith("in_") for key in arrays.files)
    return tuple(np.stack([arrays[f"{kind}_{k}"] for k in range(count)]) for kind in ("in", "tflm"))  # type: ignore[return-value]


def noise(network: Network) -> Array:
    graph = importer.load(tflite_bytes(network))
    (name,) = graph.inputs
    return np.random.default_rng(0).integers(-128, 128, (25, *graph.types[name].shape)).astype(np.int8)


def by_micro(model: bytes, inputs: Array) -> Array:
    """Its answer to one step after another."""
    oracle, found = pytest.importorskip("tflite_micro").runtime.Interpreter.from_bytes(model), []
    for step in inputs:
        oracle.set_input(step, 0)
        oracle.invoke()
        found.append(oracle.get_output(0).copy())
    return np.stack(found)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["generic", "siracusa"])
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_wake_words_equal_tensorflow_lite_micros(network: Network, target: str) -> None:
    inputs, wanted = steps_of(network)
    check = compile_model(tflite_bytes(network), target=target).check([inputs], [wanted])
    assert check.agrees
    assert check.result.steps == len(inputs)


LOGIT, LAST_STATE = 0, 1
"""Tensors that vary, unlike the answer to noise: before the last function, and the last state's."""
INSIDE_TRAINED = (67, 64)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(("target", "inside"), [("generic", LOGIT), ("siracusa", LOGIT), ("siracusa", LAST_STATE)])
@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_wake_words_equal_tensorflow_lite_micro_inside(network: Network, target: str, inside: int) -> None:
    tensors = INSIDE_TRAINED if isinstance(network, Path) else detector_insides()
    model, inputs = with_output(tflite_bytes(network), tensors[inside]), noise(network)
    wanted = by_micro(model, inputs)
    assert len(np.unique(wanted)) > 10
    assert compile_model(model, target=target).check([inputs], [wanted]).agrees


def with_output(file: bytes, tensor: int) -> bytes:
    """The file, of which the first graph gives another tensor."""
    import tflite

    data = bytearray(file)
    graph = tflite.Model.GetRootAs(bytes(data), 0).Subgraphs(0)
    outputs = 8  # of the table's fields
    at = graph._tab.Vector(graph._tab.Offset(outputs))
    data[at : at + 4] = tensor.to_bytes(4, "little")
    return bytes(data)


def replaced_product() -> bytes:
    """The new value is a product, which an accelerator could compute while cores still read the old one."""
    draw = np.random.default_rng(5)
    weights = constant(draw.integers(-127, 128, (64, 64)).astype(np.int8), 0.001)
    bias = constant(draw.integers(-99, 99, 64).astype(np.int32), 2e-5)
    row = T("int8", (1, 64), 0.02)
    tensors = [row, HANDLE, row, T("int8", (1, 64), 1 / 256, -128), weights, bias, row]
    operators = [
        handle(1), once(), O("READ_VARIABLE", [1], [2]), O("LOGISTIC", [2], [3]),
        O("FULLY_CONNECTED", [0, 4, 5], [6], "FullyConnectedOptions"), O("ASSIGN_VARIABLE", [1, 6], []),
    ]  # fmt: skip
    return write(tensors, operators, [0], [3], more=[initialiser(np.full((1, 64), 3, np.int8))])


@pytest.mark.parametrize("target", ["generic", "siracusa"])
def test_an_accelerator_does_not_overtake_readers_of_the_old_value(target: str) -> None:
    program = compile_model(replaced_product(), target=target)
    names = [node.op.kind for node in program.compiled.schedule.graph.nodes]
    assert len(names) == 2  # no copy
    inputs = np.random.default_rng(6).integers(-128, 128, (4, 1, 64)).astype(np.int8)
    check = program.check([inputs])
    assert check.agrees
    assert len(np.unique(next(iter(check.result.outputs.values())))) > 10
