"""Layers that see the last tokens only, and scores that are bent: token by token the same as of a whole text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import GEMMA2, GEMMA3, MISTRAL, Json, save
from tests.frontends.checkpoint.transformers_logits import IDS
from tests.language.weights.test_forward import logits
from tests.support import tokenizers_made
from tests.support.attention_cases import MAKERS
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Builder
from tilewright.ir.types import type_of
from tilewright.language.decoder import CheckpointDecoder
from tilewright.language.preparing import prepare
from tilewright.language.windows import with_windows
from tilewright.ops.limitedattention import LimitedAttention

pytestmark = pytest.mark.fast
TEXT = (*IDS, *IDS[::-1])
LONG: Json = {"sliding_window": 16}
"""A window in which there is room for the tokens that graphs are made of."""


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("config", [MISTRAL | LONG, GEMMA2 | LONG, GEMMA3 | LONG])
def test_token_by_token(config: Json, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(save(tmp_path, config))
    made = prepare(CheckpointDecoder(checkpoint), tokenizers_made.ours("gpt2"), 32, 4)
    limited = [node.op for node in made.decode.nodes if isinstance(node.op, LimitedAttention)]
    assert any(op.window == 16 for op in limited)
    assert all(bool(op.cap) == (config["model_type"] == "gemma2") for op in limited)
    states, wanted = initial_states(made.decode), logits(checkpoint, TEXT)
    for position, token in enumerate(TEXT):
        feeds = {"ids": np.array([[token]], np.int32), "position": np.array([position], np.int32)}
        values = evaluate(made.decode, feeds, states)
        states = states_after(made.decode, values)
        np.testing.assert_allclose(values[made.decode.outputs[0]].reshape(-1), wanted[position], atol=2e-4)


def test_a_context_within_the_window_needs_none(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(save(tmp_path, MISTRAL | LONG))
    made = prepare(CheckpointDecoder(checkpoint), tokenizers_made.ours("gpt2"), 16, 4)
    assert not [node for node in made.decode.nodes if isinstance(node.op, LimitedAttention)]


def test_integers_have_no_window() -> None:
    op, arrays = MAKERS["QLinearAttention"](np.random.default_rng(3))
    builder = Builder("integers")
    names = [builder.input(f"x{at}", type_of(one)) for at, one in enumerate(arrays) if one is not None]
    builder.output(builder(op, names)[0])
    graph = builder.build()
    with pytest.raises(CompileError, match="a sliding window of 5 tokens, which is not supported in integers"):
        with_windows(graph, [5], 32)
    assert with_windows(graph, [None], 32) is with_windows(graph, [32], 32) is graph
