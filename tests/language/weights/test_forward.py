"""The decoder in numpy gives the logits of the published library, and perplexities follow from them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import CASES, save
from tests.frontends.checkpoint.transformers_logits import GOLDEN, IDS
from tilewright.frontends.checkpoint.config import Checkpoint
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.types import Array
from tilewright.language.weights.forward import Layer, scores
from tilewright.language.weights.perplexity import beginnings, head_weights, layer_weights, perplexity

pytestmark = pytest.mark.fast


def logits(checkpoint: Checkpoint, ids: Sequence[int] | Array) -> Array:
    (x,) = beginnings(checkpoint, [np.array(ids)])
    for number in range(checkpoint.config.layers):
        x = Layer(checkpoint.config, number, layer_weights(checkpoint, number))(x)
    return scores(checkpoint.config, head_weights(checkpoint), x)


@pytest.mark.parametrize("name", CASES)
def test_logits_are_those_of_the_published_library(name: str, tmp_path: Path) -> None:
    found = logits(read_checkpoint(save(tmp_path, CASES[name])), IDS)
    np.testing.assert_allclose(found[-1], json.loads(GOLDEN.read_text())[name], atol=1e-4)


def test_perplexity_by_hand(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(save(tmp_path, CASES["llama"]))
    found = perplexity(checkpoint, [np.array(IDS), np.array(IDS[:2])])
    losses = []
    for row, token in zip(logits(checkpoint, IDS)[:-1].astype(float), IDS[1:], strict=True):
        losses.append(math.log(np.exp(row).sum()) - row[token])
    assert found.tokens == len(IDS)
    assert found.value == pytest.approx(math.exp((sum(losses) + losses[0]) / (len(losses) + 1)), rel=1e-5)
