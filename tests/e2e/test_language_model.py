"""A Llama-style checkpoint: its float graph, the texts it reads, and the same in integers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.networks import ROOT
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.passes import apply
from tilewright.quantiser.quantise import Options, quantise

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import bpe_tokenizer
import llama_checkpoint

SLM = ROOT / "slm"
needs_model = pytest.mark.skipif(not SLM.is_dir(), reason=f"no language model at {SLM}")
CONFIG = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 20, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
}  # fmt: skip
TOKENS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights."""
    random, path = np.random.default_rng(5), tmp_path_factory.mktemp("checkpoint")
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (20, 16), "model.norm.weight": (16,)}
    for layer in range(2):
        name = f"model.layers.{layer}"
        shapes |= {f"{name}.input_layernorm.weight": (16,), f"{name}.post_attention_layernorm.weight": (16,)}
        shapes |= {f"{name}.self_attn.{part}_proj.weight": (16, 16) for part in "qo"}
        shapes |= {f"{name}.self_attn.{part}_proj.weight": (8, 16) for part in "kv"}
        shapes |= {f"{name}.mlp.{part}_proj.weight": (24, 16) for part in ("gate", "up")}
        shapes[f"{name}.mlp.down_proj.weight"] = (16, 24)
    arrays = {name: random.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "model.safetensors").write_bytes(safetensors(arrays))
    return path


def safetensors(arrays: dict[str, Array]) -> bytes:
    header, at = dict[str, object](), 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values())


def test_a_safetensors_file_is_read(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.float32([7])}
    (tmp_path / "x.safetensors").write_bytes(safetensors(arrays))
    found = llama_checkpoint.read_safetensors(tmp_path / "x.safetensors")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def imported(folder: Path, tokens: int) -> Graph:
    made = llama_checkpoint.build(folder, tokens)
    onnx.checker.check_model(made, full_check=True)
    return pipeline.import_model(made)


def test_tokens_do_not_see_later_ones(folder: Path) -> None:
    graph, ids = imported(folder, TOKENS), np.arange(TOKENS)[None]
    changed = ids.copy()
    changed[0, 3:] = 19
    before, after = (evaluate(graph, {"ids": one})["logits"] for one in (ids, changed))
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-5)
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 0.1


@pytest.mark.parametrize("wide", [False, True])
def test_the_whole_model_in_integers(folder: Path, wide: bool) -> None:
    graph, random = imported(folder, TOKENS), np.random.default_rng(1)
    ids = random.integers(0, 20, (24, 1, TOKENS))
    quantised = quantise(graph, {"ids": ids}, Options(wide=wide, processes=1))
    integers = apply(quantised.graph, pipeline.QUANTISING)
    assert integers.notes == ()
    floats = [node.op.kind for node in integers.nodes if integers.types[node.key].dtype == "float32"]
    assert floats == ["DequantizeLinear"]
    noise = [
        evaluate(integers, {"ids": one})["logits_dequantized"] - evaluate(graph, {"ids": one})["logits"] for one in ids
    ]
    signal = [evaluate(graph, {"ids": one})["logits"] for one in ids]
    assert 10 * np.log10(np.square(signal).sum() / np.square(noise).sum()) > (28 if wide else 24)


def test_what_has_sixteen_bits(folder: Path) -> None:
    graph, ids = imported(folder, TOKENS), np.random.default_rng(1).integers(0, 20, (4, 1, TOKENS))
    found = quantise(graph, {"ids": ids}, Options(wide=True, processes=1)).graph
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


# ---- the trained model ------------------------------------------------------------------------------------------


@needs_model
def test_logits_of_the_trained_model() -> None:
    golden = np.load(SLM / "golden_logits.npz")
    graph = imported(SLM / "stories260k", golden["ids"].size)
    found = evaluate(graph, {"ids": golden["ids"][None]})["logits"][0]
    np.testing.assert_allclose(found, golden["logits"], atol=1e-4)


@needs_model
def test_texts_are_read_as_the_model_has_learned_them() -> None:
    tokenizer = bpe_tokenizer.Tokenizer(SLM / "stories260k" / "tokenizer.json")
    golden = json.loads((SLM / "golden.json").read_text())
    prompts = {prompt: found["prompt_ids"] for prompt, found in golden.items() if "prompt_ids" in found}
    assert {prompt: tokenizer.encode(prompt) for prompt in prompts} == prompts
    assert tokenizer.encode("\u00e9\n")[-2:] == [tokenizer.numbers["\u00e9"], tokenizer.numbers["<0x0A>"]]
