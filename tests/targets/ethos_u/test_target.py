"""A Cortex-M with an Ethos-U: the core's program is emulated, its driver starts the NPU, results have every bit."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import tilewright
from tests.emulator.test_qemu import needs_qemu
from tests.sim.ethos_u.assembling import ADD, AVERAGE, Stream
from tests.support.networks import those_there
from tests.support.stand_ins import (
    Network,
    autoencoder,
    classifier,
    detector,
    float_autoencoder,
    network_id,
    tflite_bytes,
)
from tests.support.tflite_runtimes import micro
from tilewright import pipeline, targets
from tilewright.errors import CompileError, present
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, TensorType
from tilewright.ops._ethosu import EthosU
from tilewright.ops.relu import Relu
from tilewright.program import Program, compile_model
from tilewright.target.settings import DEFAULT, Settings

NPU, SHAPE = "ethos-u55-128", (1, 4, 4, 8)
AT, OUT, SIZE = 16, 160, 320
REASON = "pip install 'tilewright[ethos-u]'"


def stream(times: int = 1) -> Array:
    """A mean of two by two pixels."""
    code = Stream().map("IFM", AT, SHAPE[1:], "int8").map("OFM", OUT, (2, 2, 8), "int8").kernel(2, 2, 2)
    code.finish("int8", scale=(1, 2))
    for _ in range(times):
        code.op("POOL", AVERAGE)
    return code.done()


def network() -> Graph:
    """Of the core, and a part for the NPU, with the core's Relu on either side."""
    builder = Builder("pool")
    x = builder.input("x", TensorType("int8", SHAPE))
    (positive,) = builder(Relu(), [x])
    words, nothing = (
        builder.constant(stream().view(np.int32), "stream"),
        builder.constant(np.zeros(16, np.uint8), "none"),
    )
    op = EthosU(NPU, SIZE, 0, (AT,), (OUT,), (32,), (1, 2, 2, 8)).of_stream(stream())
    (pooled,) = builder(op, [words, nothing, positive])
    (y,) = builder(Relu(), [pooled])
    builder.output(y)
    return builder.build()


def program(target: str, graph: Graph | None = None) -> Program:
    compiled = pipeline.compile_graph(graph or network(), target)
    return Program(compiled, "", None, 0.0, None, DEFAULT, None)


def ran_by(core: str, emulator: str) -> Program:
    settings = Settings(emulator=emulator)
    made = pipeline.Compiled(*pipeline.stages(network(), f"{core}+u55-128", settings=settings))
    return Program(made, "", None, 0.0, None, settings, None)


def skip_without_qemu() -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("needs qemu-system-arm")


@pytest.mark.parametrize("emulator", ["", "unicorn"])
def test_part_of_a_network(emulator: str) -> None:
    """Beside an M55 that runs in QEMU, and beside the core that stands in for it."""
    if not emulator:
        skip_without_qemu()
    made = ran_by("cortex-m55", emulator)
    x = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    (found,) = made.run({"x": x}).outputs.values()
    assert made.compiled.schedule.target.agents.isa == ("cortex-m33" if emulator else "cortex-m55")
    sums = np.maximum(x, 0).astype(int).reshape(1, 2, 2, 2, 2, 8).sum((2, 4))
    assert found.tolist() == ((sums + 2) // 4).tolist()


def side_by_side() -> Graph:
    """A long job, and as much that the core computes of something else."""
    builder = Builder("pool")
    x, z = builder.input("x", TensorType("int8", SHAPE)), builder.input("z", TensorType("int8", (1, 32768)))
    (positive,) = builder(Relu(), [z])
    words = builder.constant(stream(800).view(np.int32), "stream")
    nothing = builder.constant(np.zeros(16, np.uint8), "none")
    op = EthosU(NPU, SIZE, 0, (AT,), (OUT,), (32,), (1, 2, 2, 8)).of_stream(stream(800))
    (pooled,) = builder(op, [words, nothing, x])
    for name in (positive, builder(Relu(), [pooled])[0]):
        builder.output(name)
    return builder.build()


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("emulator", ["", "qemu"])
def test_the_core_goes_on_while_the_npu_works(emulator: str) -> None:
    if emulator:
        skip_without_qemu()
    settings, target = Settings(emulator=emulator), "cortex-m33+u55-128"
    made = pipeline.Compiled(*pipeline.stages(side_by_side(), target, settings=settings))
    draws = np.random.default_rng(2)
    given = {name: draws.integers(-128, 127, made.lowered.types[name].shape, np.int8, True) for name in ("x", "z")}
    run = Program(made, "", None, 0.0, None, settings, None).run(given)
    positive, pooled = run.outputs.values()
    sums = given["x"].astype(int).reshape(1, 2, 2, 2, 2, 8).sum((2, 4))
    assert np.array_equal(positive, np.maximum(given["z"], 0))
    assert pooled.tolist() == np.maximum((sums + 2) // 4, 0).tolist()
    job, relu, last = made.schedule.placed.layer_cycles.values()
    (op,) = (node.op for node in made.lowered.nodes if isinstance(node.op, EthosU))
    cycles = present(run.cycles, "run", "has no cycles")
    assert cycles < 0.75 * (op.cycles + relu)
    assert job + relu + last == pytest.approx(cycles, rel=0.1)


@needs_qemu
def test_in_qemu_by_a_doorbell() -> None:
    made = ran_by("cortex-m33", "qemu")
    x = np.random.default_rng(1).integers(-128, 128, SHAPE).astype(np.int8)
    run = made.run({"x": x})
    (found,) = run.outputs.values()
    sums = np.maximum(x, 0).astype(int).reshape(1, 2, 2, 2, 2, 8).sum((2, 4))
    assert found.tolist() == ((sums + 2) // 4).tolist()
    (op,) = (node.op for node in made.compiled.lowered.nodes if isinstance(node.op, EthosU))
    assert op.cycles < present(run.cycles, "run", "has no cycles") < op.cycles + 5000


def test_a_fault_is_named() -> None:
    code = Stream().op("ELEMENTWISE", ADD).done()
    builder = Builder("faulty")
    x = builder.input("x", TensorType("int8", SHAPE))
    words, nothing = builder.constant(code.view(np.int32), "stream"), builder.constant(np.zeros(16, np.uint8), "none")
    (y,) = builder(EthosU(NPU, SIZE, 0, (AT,), (OUT,), (32,), (1, 2, 2, 8)), [words, nothing, x])
    builder.output(y)
    with pytest.raises(CompileError, match="needs NPU_SET_IFM_PRECISION, which was never set") as raised:
        program("cortex-m33+u55-128", builder.build()).run({"x": np.zeros(SHAPE, np.int8)})
    assert raised.value.where == "run, stream of the NPU, command 0 (word 0)"
    assert "accelerator" not in raised.value.hint


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cortex-m33+u55-1", "NPU 'u55-1': is unknown"),
        ("cortex-m33+u85-256", "ethos-u85-256: is not simulated"),
        ("rv32+u55-128", "rv32 has no NPU beside it"),
        ("generic+u55-128", "generic has no NPU beside it"),
    ],
)
def test_targets_that_are_not(name: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        targets.find(name)


def test_streams_for_another_npu_are_refused() -> None:
    with pytest.raises(CompileError, match="its stream was compiled for ethos-u55-128, this NPU is ethos-u55-64"):
        program("cortex-m33+u55-64")
    with pytest.raises(CompileError, match="has no kernel for EthosU"):
        program("generic")


def test_other_files_are_refused() -> None:
    with pytest.raises(CompileError, match="not an ONNX file"):
        tilewright.compile(b"other", target="cortex-m33+u55-128")


# ---- with Vela ------------------------------------------------------------------------------------------------------

NETWORKS = {
    "cortex-m33+u55-128": [classifier, *those_there("mlperf_tiny/kws_ref_model.tflite")],
    "cortex-m33+u65-256": [autoencoder, *those_there("mlperf_tiny/ad01_int8.tflite")],
    "cortex-m33+u55-64": [detector, *those_there("tflite_streaming/hey_jarvis.tflite")],
}
PAIRS = [(network, target) for target, networks in NETWORKS.items() for network in networks]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(("network", "target"), PAIRS, ids=lambda one: one if isinstance(one, str) else network_id(one))
def test_network(network: Network, target: str) -> None:
    """The streaming network has states, which the core keeps."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    data = tflite_bytes(network)
    made = compile_model(data, target=target)
    (name,) = made.graph.inputs
    x = np.random.default_rng(2).integers(-128, 128, made.graph.types[name].shape).astype(np.int8)
    (found,) = made.run({name: x}).outputs.values()
    assert np.array_equal(found, micro(data, [x], 1, 1 << 20)[0])


def test_predictions_are_what_the_device_takes() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    made = compile_model(classifier(), target="cortex-m33+u55-128")
    (name,) = made.graph.inputs
    shape, costs = made.graph.types[name].shape, made.analysis
    assert costs.offloaded == {}, "the NPU is an engine of its own name; no layer is counted under the device's"
    run = made.run({name: np.zeros(shape, np.int8)})
    assert any("are an estimate of its stream" in note for note in costs.notes)
    assert run.cycles == pytest.approx(costs.predicted_cycles, rel=0.02)


@pytest.mark.in_turns(3)
def test_a_float_network_is_refused_with_velas_reason() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    with pytest.raises(CompileError, match="stays on the core: Operation has tensor with unsupported DataType Float32"):
        compile_model(float_autoencoder(), target="cortex-m33+u55-128")
