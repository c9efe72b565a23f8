"""Weights that stay in the blocks of their GGUF file, from the file to the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint import gguf_small
from tests.frontends.checkpoint.small import LLAMA, STABLELM, Json, tensors
from tests.support.block_cases import blocks
from tests.support.gguf_made import gguf
from tilewright.frontends.checkpoint.config import Checkpoint
from tilewright.frontends.checkpoint.gguf_blocks import NUMBERS
from tilewright.frontends.checkpoint.gguf_file import read_gguf
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.frontends.checkpoint.rotation import halves_from_neighbours
from tilewright.ir.block_formats import BlockArray
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.types import Array
from tilewright.language.decoder import CheckpointDecoder
from tilewright.ops.blockmatmul import OF_BYTES, OF_FLOATS

pytestmark = pytest.mark.fast
WIDE: Json = {"hidden_size": 64, "intermediate_size": 96}
TIED = LLAMA | WIDE | {"tie_word_embeddings": True}


def in_blocks(folder: Path, config: Json, name: str) -> Checkpoint:
    """All matrices in one format, of bytes by chance."""
    made = gguf_small.tensors(config, tensors(config))
    random, number = np.random.default_rng(3), NUMBERS[name]
    changed = {
        key: (number, value.shape, blocks(random, name, *value.shape, largest=0.001).tobytes())
        for key, value in made.items()
        if value.ndim == 2
    }
    path = folder / "model.gguf"
    path.write_bytes(gguf(gguf_small.keys(config), made | changed))
    return read_checkpoint(path)


def logits(checkpoint: Checkpoint, activations: str) -> Array:
    ids = {"ids": np.array([[3, 1, 4, 15, 9]], np.int32), "position": np.zeros(1, np.int32)}
    (found,) = evaluate_outputs(CheckpointDecoder(checkpoint, activations).graph(5, 16), ids).values()
    return found


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("name", ["F16", "Q8_0", "Q4_1"])
@pytest.mark.parametrize("config", [TIED, STABLELM | WIDE], ids=["llama", "stablelm"])
def test_networks_say_what_dequantised_ones_say(config: Json, name: str, tmp_path: Path) -> None:
    checkpoint = in_blocks(tmp_path, config, name)
    kept = [one for one in checkpoint.weights.values() if isinstance(one, BlockArray)]
    assert kept
    assert {one.block.name for one in kept} == {name}
    wanted = logits(replace(checkpoint, weights=checkpoint.floats()), OF_FLOATS)
    np.testing.assert_allclose(logits(checkpoint, OF_FLOATS), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    of_bytes = logits(checkpoint, OF_BYTES)
    np.testing.assert_allclose(of_bytes, wanted, atol=0.05 * np.abs(wanted).max())
    assert (name == "F16") == np.allclose(of_bytes, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_one_table_for_words_and_head(tmp_path: Path) -> None:
    graph = CheckpointDecoder(in_blocks(tmp_path, TIED, "Q4_0")).graph(5, 16)
    assert [node.op.kind for node in graph.consumers["embedding"]] == ["BlockGather", "BlockMatMul"]
    assert sum(array.nbytes for array in graph.constants.values()) < 1.1 * (tmp_path / "model.gguf").stat().st_size


def test_rows_of_queries_are_in_the_order_of_heads(tmp_path: Path) -> None:
    """As floats would be."""
    found = in_blocks(tmp_path, TIED, "Q5_0").floats()["layer0.attention.query.weight"]
    stored = read_gguf(tmp_path / "model.gguf").tensor("blk.0.attn_q.weight")
    np.testing.assert_array_equal(found, halves_from_neighbours(stored, 16))
