"""int8 networks of TensorFlow Lite as ONNX with quantisers: ONNX Runtime gives what our reference gives, within a step
for a layer by itself; what ONNX cannot say is named."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.utils
import pytest

from tests.export.round_trip import run
from tests.support.command import Command
from tests.support.networks import models, those_there
from tests.support.stand_ins import Network, classifier, detector, network_id, tflite_bytes
from tests.support.tflite_cases import QUANTISED, network, random_input
from tests.support.tflite_function_cases import FUNCTIONS
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.export import model_of, save
from tilewright.export.writer import tensor_names
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.scale import Scales
from tilewright.ir.types import Array
from tilewright.run.beside_onnxruntime import CALLS, beside_onnxruntime

NAMES = ("ad01_int8", "vww_96_int8", "pretrainedResnet_quant", "kws_ref_model")
NETWORKS = [classifier, *those_there(*(f"mlperf_tiny/{name}.tflite" for name in NAMES))]


def distances(graph: Graph, made: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """Of every element of every output, in steps."""
    values, ran = evaluate(graph, feeds), run(made, feeds)
    pairs = zip(graph.output_names, graph.outputs, strict=True)
    return [np.abs(ran[name].astype(np.float64) - values[tensor]) for name, tensor in pairs]


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("rounding", ["micro", "float"])
@pytest.mark.parametrize("case", sorted(QUANTISED))
def test_a_layer_is_within_a_step(case: str, rounding: str) -> None:
    for seed in range(3):
        draw = np.random.default_rng(seed)
        graph = pipeline.import_model(QUANTISED[case](draw), tflite_rounding=rounding)
        feeds = {name: random_input(draw, graph.types[name].dtype, graph.types[name].shape) for name in graph.inputs}
        made = model_of(graph)
        for far in distances(graph, made, feeds):
            assert far.max(initial=0.0) <= 1


def image_of(network: Network, graph: Graph) -> Array:
    """One that was stored beside a file, or noise."""
    (name,) = graph.inputs
    kind = graph.types[name]
    if isinstance(network, Path):
        return np.load(network.with_suffix(".npz"))["in_0"].reshape(kind.shape)
    return random_input(np.random.default_rng(2), kind.dtype, kind.shape)


@pytest.mark.parametrize("network", NETWORKS, ids=network_id)
def test_each_layer_of_a_network_is_within_a_step(network: Network) -> None:
    """Given what the layers before it give in the reference: ONNX Runtime runs each of them alone."""
    graph = pipeline.import_model(tflite_bytes(network))
    made = model_of(graph)
    assert {node.op_type for node in made.graph.node} >= {"DequantizeLinear", "QuantizeLinear"}
    values = evaluate(graph, {graph.inputs[0]: image_of(network, graph)})
    names = tensor_names(graph)
    computed = [one for one in graph.nodes if not one.op.view]
    assert len(computed) > 5
    for one in computed:
        given = [name for name in one.inputs if name and name not in graph.constants]
        alone = onnx.utils.Extractor(made).extract_model(given, [names[one.key]])
        (found,) = run(alone, {name: values[name] for name in given}).values()
        assert np.abs(found.astype(np.int64) - values[one.key]).max() <= 1, one.key


def test_the_command_says_how_far_onnxruntime_is(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "network.tflite"
    path.write_bytes(classifier())
    said = command("export", path, "-o", tmp_path / "network.onnx")
    assert said.code == 0
    assert re.search(r"ONNX Runtime beside the reference: shares at most \d+ steps apart, ", said.out)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("network", [detector, *models("tflite_streaming/*.tflite")], ids=network_id)
def test_first_values_of_states_are_given(network: Network, tmp_path: Path) -> None:
    """Streaming detectors keep what they have heard, as inputs and outputs of the file."""
    graph = pipeline.import_model(tflite_bytes(network))
    assert graph.states
    save(graph, tmp_path / "streaming.onnx")
    (far,) = beside_onnxruntime(graph, tmp_path / "streaming.onnx").outputs
    assert far.elements == CALLS
    assert far.steps is not None
    assert far.steps <= 2


def test_distances_are_measured(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "network.tflite"
    path.write_bytes(network(np.random.default_rng(0)))
    found = command("export", path, "-o", tmp_path / "network.onnx", "--json").json
    (far,) = found["distances"]
    assert far["name"] == "shares"
    assert far["elements"] == 4 * CALLS
    assert 0 <= far["steps"] <= 8


def test_without_onnxruntime_the_file_is_written(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "network.tflite").write_bytes(network(np.random.default_rng(0)))
    said = command("export", tmp_path / "network.tflite", "-o", tmp_path / "network.onnx")
    assert said.code == 0
    assert "is not measured: pip install onnxruntime" in " ".join(said.out.split())
    assert (tmp_path / "network.onnx").exists()


def test_what_onnx_cannot_say_is_named() -> None:
    """A softmax of 16 bits has tables of its own; scales that no file states are not made up."""
    words = FUNCTIONS["softmax_int16"](np.random.default_rng(0))
    with pytest.raises(CompileError, match="TfliteSoftmax16 rounds as TensorFlow Lite does"):
        model_of(pipeline.import_model(words))
    graph = pipeline.import_model(QUANTISED["conv"](np.random.default_rng(0)))
    unknown = replace(graph, scales=Scales())
    with pytest.raises(CompileError, match="requantised, whose scales no file states"):
        model_of(unknown)
