"""A Llama-style checkpoint: its float graph, the texts it reads, and the same in integers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnx
import pytest

from tests.support.networks import ROOT
from tilewright import pipeline
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array, TensorType
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.ops.gather import Gather
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply
from tilewright.quantiser.quantise import Options, quantise

pytestmark = pytest.mark.in_turns(6)

SLM = ROOT / "slm"
needs_model = pytest.mark.skipif(not SLM.is_dir(), reason=f"no language model at {SLM}")
TOKENS = 6
CONFIG = Config(
    "Llama", width=16, hidden=24, layers=2, heads=4, kv_heads=2, head=4, words=20, context=32, epsilon=1e-5, tied=True
)


def random_weights(config: Config) -> Checkpoint:
    random = np.random.default_rng(5)
    return Checkpoint(config, {name: random.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes(config)})


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return random_weights(CONFIG)


def graph_of(checkpoint: Checkpoint, tokens: int) -> Graph:
    made = decoder_model(checkpoint, tokens)
    onnx.checker.check_model(made, full_check=True)
    return pipeline.import_model(made)


def logits(graph: Graph, ids: Array, position: int = 0) -> Array:
    found = evaluate(graph, {"ids": ids.astype(np.int32), "position": np.array([position], np.int32)})
    return found[graph.outputs[0]]


def test_tokens_do_not_see_later_ones(checkpoint: Checkpoint) -> None:
    graph, ids = graph_of(checkpoint, TOKENS), np.arange(TOKENS)[None]
    changed = ids.copy()
    changed[0, 3:] = 19
    before, after = (logits(graph, one) for one in (ids, changed))
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-5)
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 0.1


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("wide", [False, True])
def test_the_whole_model_in_integers(checkpoint: Checkpoint, wide: bool) -> None:
    graph, random = graph_of(checkpoint, TOKENS), np.random.default_rng(1)
    ids = random.integers(0, 20, (24, 1, TOKENS))
    samples = {"ids": ids, "position": np.zeros((24, 1), np.int32)}
    quantised = quantise(graph, samples, Options(wide=wide, processes=1))
    integers = apply(quantised.graph, pipeline.QUANTISING)
    assert integers.notes == ()
    floats = [node.op.kind for node in integers.nodes if integers.types[node.key].dtype == "float32"]
    assert floats == ["DequantizeLinear"]
    # Positions that no sample has had are as good as those that were seen.
    for first in (0, CONFIG.context - TOKENS):
        signal = np.array([logits(graph, one, first) for one in ids])
        noise = np.array([logits(integers, one, first) for one in ids]) - signal
        assert 10 * np.log10(np.square(signal).sum() / np.square(noise).sum()) > (28 if wide else 24)


OTHERS = {
    "biases": replace(CONFIG, biases=frozenset({"query", "key", "value"})),
    "norms of heads": replace(CONFIG, qk_norm=True, head=8),
    "learned positions": replace(
        CONFIG, norm="layer", rotary=None, activation="gelu_tanh", gated=False, kv_heads=4,
        biases=frozenset({"query", "key", "value", "output", "up", "down"}),
    ),
    "unscaled": replace(CONFIG, norm="layer", rotary=None, activation="gelu", gated=False, kv_heads=4, score_scale=1.0),
}  # fmt: skip


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("config", OTHERS.values(), ids=OTHERS)
def test_other_families_in_integers(config: Config) -> None:
    graph, random = graph_of(random_weights(config), TOKENS), np.random.default_rng(1)
    samples = {"ids": random.integers(0, 20, (12, 1, TOKENS)), "position": random.integers(0, 27, (12, 1))}
    integers = apply(quantise(graph, samples, Options(wide=True, processes=1)).graph, pipeline.QUANTISING)
    assert integers.notes == ()
    floats = [node.op.kind for node in integers.nodes if integers.types[node.key].dtype == "float32"]
    assert floats == ["DequantizeLinear"]
    runs = list(zip(samples["ids"], samples["position"][:, 0], strict=True))
    signal = np.array([logits(graph, ids, first) for ids, first in runs])
    noise = np.array([logits(integers, ids, first) for ids, first in runs]) - signal
    assert 10 * np.log10(np.square(signal).sum() / np.square(noise).sum()) > 25


def test_angles_are_chosen_once_for_all_layers(checkpoint: Checkpoint) -> None:
    ids = np.random.default_rng(1).integers(0, 20, (4, 1, TOKENS))
    samples = {"ids": ids, "position": np.zeros((4, 1), np.int32)}
    quantised = quantise(graph_of(checkpoint, TOKENS), samples, Options(processes=1))
    integers = apply(quantised.graph, pipeline.QUANTISING)
    rows = [
        node for node in integers.nodes if isinstance(node.op, Gather) and node.name in ("cosine.rows", "sine.rows")
    ]
    assert [integers.types[node.inputs[0]] for node in rows] == [TensorType("int16", (CONFIG.context, CONFIG.head))] * 2
    assert sum(isinstance(node.op, QLinearRotate) for node in integers.nodes) == 2 * CONFIG.layers
    assert not [layer for layer in quantised.report.layers if layer.name.startswith(("cosine", "sine"))]


def test_what_has_sixteen_bits(checkpoint: Checkpoint) -> None:
    graph, ids = graph_of(checkpoint, TOKENS), np.random.default_rng(1).integers(0, 20, (4, 1, TOKENS))
    samples = {"ids": ids, "position": np.zeros((4, 1), np.int32)}
    found = quantise(graph, samples, Options(wide=True, processes=1)).graph
    wide = {
        node.inputs[0] for node in found.nodes
        if isinstance(node.op, QuantizeLinear) and found.types[node.key].dtype == "int16"
    }  # fmt: skip
    layers = {f"layer{layer}.{name}" for layer in range(2) for name in ("attended", "out")}
    rows = {
        f"layer{layer}.attention.{name}" for layer in range(2) for name in ("query", "key", "key.rotated", "scores")
    }
    assert {"embedded", "logits", *layers, *rows} <= wide
    assert not {name for name in wide if "norm" in name or "ffn" in name or "value" in name or "mixed" in name}


def test_one_token_and_many_are_the_same_network(checkpoint: Checkpoint) -> None:
    """In integers too; what is only put elsewhere may be called otherwise where there is nothing to move."""
    made = []
    for tokens in (1, TOKENS):
        samples = {"ids": np.arange(8 * tokens).reshape(8, 1, tokens) % 20, "position": np.zeros((8, 1), np.int32)}
        found = quantise(graph_of(checkpoint, tokens), samples, Options(wide=True, processes=1)).graph
        made.append(apply(found, pipeline.QUANTISING))
    kinds = [[node.op.kind.replace("Transpose", "Reshape") for node in graph.nodes] for graph in made]
    assert kinds[0] == kinds[1]
    assert [node.outputs for node in made[0].nodes] == [node.outputs for node in made[1].nodes]


# ---- the trained model ------------------------------------------------------------------------------------------


@needs_model
def test_logits_of_the_trained_model() -> None:
    golden = np.load(SLM / "golden_logits.npz")
    graph = graph_of(read_checkpoint(SLM / "stories260k"), golden["ids"].size)
    found = logits(graph, golden["ids"][None])[0]
    np.testing.assert_allclose(found, golden["logits"], atol=1e-4)


@needs_model
def test_texts_are_read_as_the_model_has_learned_them() -> None:
    tokenizer = load_tokenizer(SLM / "stories260k")
    golden = json.loads((SLM / "golden.json").read_text())
    prompts = {prompt: found["prompt_ids"] for prompt, found in golden.items() if "prompt_ids" in found}
    assert {prompt: tokenizer.encode(prompt) for prompt in prompts} == prompts
    assert tokenizer.decode_bytes(tokenizer.encode("\u00e9\n")[-2:]) == "\u00e9\n".encode()
