"""Every family gives the logits that the library gives in which its models are published."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.frontends.checkpoint.small import CASES, GPT2, GPT_NEO, LLAMA, LLAMA3, MISTRAL, Json, save, tensors
from tests.frontends.checkpoint.transformers_logits import GOLDEN, IDS
from tests.support.networks import those_there
from tilewright.errors import CompileError
from tilewright.frontends import any_model
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate
from tilewright.ir.types import Array

pytestmark = pytest.mark.fast
TRAINED = those_there("slm/golden_logits.npz")


def logits(path: Path, ids: tuple[int, ...] = IDS, position: int = 0, context: int | None = None) -> Array:
    made = decoder_model(read_checkpoint(path), len(ids), context)
    onnx.checker.check_model(made, full_check=True)
    feeds = {"ids": np.array([ids], np.int32), "position": np.array([position], np.int32)}
    return evaluate(any_model.load(made), feeds)["logits"][0]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", [*CASES, *TRAINED])
def test_logits_are_those_of_the_published_library(name: str | Path, tmp_path: Path) -> None:
    if isinstance(name, Path):
        golden = np.load(name)
        found, wanted = logits(name.with_name("stories260k"), tuple(golden["ids"])), golden["logits"]
    else:
        found, wanted = logits(save(tmp_path, CASES[name]))[-1], json.loads(GOLDEN.read_text())[name]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_newer_files_say_the_same_otherwise(tmp_path: Path) -> None:
    """Angles under one name, no names of architectures, types with another name."""
    scaling = LLAMA3["rope_scaling"]
    assert isinstance(scaling, dict)
    newer = {key: value for key, value in LLAMA.items() if key not in ("rope_theta", "architectures")}
    newer |= {"rope_parameters": {**scaling, "rope_theta": LLAMA["rope_theta"]}, "dtype": "float32"}
    older = LLAMA | {"rope_scaling": {"type": "llama3"} | {k: v for k, v in scaling.items() if k != "rope_type"}}
    saved = [save(tmp_path / str(n), config) for n, config in enumerate((LLAMA | LLAMA3, newer, older))]
    configs = [read_checkpoint(folder).config for folder in saved]
    assert configs[0] == configs[1] == configs[2]
    assert configs[0].rotary is not None
    assert configs[0].rotary.scaling == "llama3"


def test_names_without_their_prefix(tmp_path: Path) -> None:
    whole = read_checkpoint(save(tmp_path / "whole", GPT2)).weights
    bare = {name.removeprefix("transformer."): value for name, value in tensors(GPT2).items()}
    bare["h.0.attn.bias"] = np.ones((1, 1, 32, 32), np.float32)
    found = read_checkpoint(save(tmp_path / "bare", GPT2, bare)).weights
    assert found.keys() == whole.keys()
    assert all(np.array_equal(found[name], whole[name]) for name in whole)


@pytest.mark.parametrize(("config", "window"), [(GPT_NEO, 16), (MISTRAL | {"sliding_window": 8}, 8)])
def test_windows(config: Json, window: int, tmp_path: Path) -> None:
    found = read_checkpoint(save(tmp_path, config)).config
    assert found.longest == found.window == window
    assert [found.window_of(layer) for layer in range(2)] == [None if config is GPT_NEO else window, window]


def test_mixtures_of_experts_are_named(tmp_path: Path) -> None:
    folder = save(tmp_path, LLAMA | {"architectures": ["MixtralForCausalLM"], "num_local_experts": 8}, {})
    with pytest.raises(CompileError, match="'MixtralForCausalLM' is not supported, nor is any mixture of experts"):
        read_checkpoint(folder)
