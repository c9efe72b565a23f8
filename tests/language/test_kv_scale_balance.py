"""Keys and values of like sizes: the same scores, and channels that differ less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import CASES, save
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate
from tilewright.language.decoder import CheckpointDecoder


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", CASES)
def test_scores_stay_and_values_are_as_large_as_their_weights(name: str, tmp_path: Path) -> None:
    decoder = CheckpointDecoder(read_checkpoint(save(tmp_path, CASES[name])))
    graph, random = decoder.graph(7, 16), np.random.default_rng(0)
    samples = {"ids": random.integers(0, 19, (3, 1, 7)).astype(np.int32), "position": np.zeros((3, 1), np.int32)}
    levelled = decoder.levelled(graph, samples).graph(7, 16)
    feeds = {key: array[0] for key, array in samples.items()}
    before, after = evaluate(graph, feeds), evaluate(levelled, feeds)
    np.testing.assert_allclose(after["logits"], before["logits"], atol=2e-4)
    tensor, weight = "layer0.attention.value.heads", "layer0.attention.output.weight"
    assert not np.allclose(after[tensor], before[tensor])
    config = decoder.facts
    seen = [evaluate(levelled, {key: array[at] for key, array in samples.items()})[tensor] for at in range(3)]
    values = np.abs(seen).max((0, 1, 2))
    columns = np.abs(after[weight]).max(1).reshape(config.kv_heads, -1, config.head).max(1)
    assert np.ptp(np.log(values / columns)) < 1e-3
