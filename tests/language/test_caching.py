"""Decoders of every family, token by token with a cache: the same scores as with all tokens at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import CASES, Json, save
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.decoder import decoder_model
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.at_sizes import at_sizes
from tilewright.ir.evaluate import evaluate, initial_states, states_after
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language import greedy_head
from tilewright.language.caching import with_cache, without_outputs
from tilewright.language.decoder import CheckpointDecoder, of_any_tokens
from tilewright.language.greedy_head import Finding
from tilewright.language.preparing import in_modes, with_one_attention
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.bestblock import BestBlock
from tilewright.passes import apply
from tilewright.quantiser.quantise import Options, quantise

TOKENS, BLOCK, CONTEXT = 11, 4, 13


def sequence(name: str, folder: Path) -> Graph:
    """All tokens at once, or any number of them."""
    checkpoint = read_checkpoint(save(folder, CASES[name]))
    return of_any_tokens(lambda count: pipeline.import_model(decoder_model(checkpoint, count, CONTEXT)), TOKENS)


def fused(graph: Graph) -> Graph:
    return with_one_attention(lambda count: at_sizes(graph, {"tokens": count}), TOKENS)


def in_steps(graph: Graph, ids: Array) -> Array:
    """Two blocks, and then one by one: the scores of the latter."""
    both = in_modes(fused(graph), CONTEXT, BLOCK)
    states, found = initial_states(both.decode), []
    for at in (0, BLOCK):
        feeds = {"ids": ids[:, at : at + BLOCK], "position": np.array([at], np.int32)}
        states = states_after(both.prefill, evaluate(both.prefill, feeds, states))
    for at in range(2 * BLOCK, TOKENS):
        values = evaluate(both.decode, {"ids": ids[:, at : at + 1], "position": np.array([at], np.int32)}, states)
        states = states_after(both.decode, values)
        scores, best = (values[name] for name in both.decode.outputs)
        assert int(best.reshape(-1)[0]) == int(scores.argmax())
        found.append(scores.reshape(-1))
    return np.stack(found)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("weight", [1, 0])
def test_a_greedy_head_names_the_first_of_the_best_words(tmp_path: Path, weight: int) -> None:
    """In parts that do not divide the vocabulary; without weights all words are equal."""
    graph = sequence("llama", tmp_path)
    head = next(name for name, value in graph.constants.items() if "head" in name or "embed" in name)
    graph = replace(graph, constants={**graph.constants, head: graph.constants[head] * np.float32(weight)})
    both = in_modes(fused(graph), CONTEXT, BLOCK)
    alone = in_modes(fused(graph), CONTEXT, BLOCK, finding=Finding(part=7)).decode
    assert len(alone.outputs) == 1
    words = max(alone.types[node.key].shape[-1] for node in alone.nodes if isinstance(node.op, ArgMax))
    assert words <= 7
    _same_tokens(both.decode, alone, 0 if weight == 0 else None)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("weight", [1, 0])
def test_a_head_that_compares_products_names_the_same_word(
    tmp_path: Path, weight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greedy_head, "BLOCK", 8)
    graph = sequence("llama", tmp_path)
    head = next(name for name, value in graph.constants.items() if "head" in name or "embed" in name)
    graph = replace(graph, constants={**graph.constants, head: graph.constants[head] * np.float32(weight)})
    both = in_modes(fused(graph), CONTEXT, BLOCK)
    alone = in_modes(fused(graph), CONTEXT, BLOCK, finding=Finding(lambda op, types: True)).decode
    assert [type(node.op) for node in alone.nodes[-2:]] == [ArgMaxMatMul, BestBlock]
    words = both.decode.types[both.decode.outputs[0]].shape[-1]
    assert alone.types[alone.nodes[-1].inputs[0]].shape[-1] == -(-words // 8)
    _same_tokens(both.decode, alone, 0 if weight == 0 else None)


def _same_tokens(both: Graph, alone: Graph, known: int | None) -> None:
    states = initial_states(both)
    for token in range(9):
        feeds = {"ids": np.array([[token]], np.int32), "position": np.array([0], np.int32)}
        expected = evaluate(both, feeds, states)[both.outputs[1]]
        assert evaluate(alone, feeds, states)[alone.outputs[0]] == expected
        assert known is None or expected == known


def has_window(config: Json) -> bool:
    """Whether some of the tokens are not seen: graphs are made of fewer."""
    window = config.get("sliding_window") or config.get("window_size") or TOKENS
    return int(str(window)) < TOKENS


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("name", [name for name, config in CASES.items() if not has_window(config)])
def test_tokens_one_by_one(name: str, tmp_path: Path) -> None:
    graph = sequence(name, tmp_path)
    words = graph.types[graph.outputs[0]].shape[-1]
    ids = np.random.default_rng(1).integers(0, words, (1, TOKENS)).astype(np.int32)
    wanted = evaluate(graph, {"ids": ids, "position": np.zeros(1, np.int32)})[graph.outputs[0]][0, 2 * BLOCK :]
    np.testing.assert_allclose(in_steps(graph, ids), wanted, atol=1e-4)


@pytest.mark.in_turns(3)
def test_integers_are_the_same_to_the_bit(tmp_path: Path) -> None:
    graph = sequence("llama", tmp_path)
    words = graph.types[graph.outputs[0]].shape[-1]
    ids = np.random.default_rng(2).integers(0, words, (4, 1, TOKENS)).astype(np.int32)
    made = quantise(graph, {"ids": ids, "position": np.zeros((4, 1), np.int32)}, Options(wide=True, processes=1))
    integers = apply(at_sizes(made.graph, {"tokens": TOKENS}), pipeline.QUANTISING)
    name = integers.producers[integers.outputs[0]].inputs[0]
    wanted = evaluate(integers, {"ids": ids[0], "position": np.zeros(1, np.int32)})[name][0, 2 * BLOCK :]
    np.testing.assert_array_equal(in_steps(made.graph, ids[0]), wanted)


def test_a_block_computes_no_scores(tmp_path: Path) -> None:
    cached = with_cache(at_sizes(fused(sequence("llama", tmp_path)), {"tokens": BLOCK}), CONTEXT)
    alone = without_outputs(cached)
    assert alone.outputs == ()
    assert [state.name for state in alone.states] == [state.name for state in cached.states]
    # The last layer needs nothing but its keys and values.
    attentions = [sum(node.op.kind == "FusedAttention" for node in one.nodes) for one in (cached, alone)]
    assert attentions[1] == attentions[0] - 1


def test_what_has_no_cache(tmp_path: Path) -> None:
    graph = sequence("llama", tmp_path)
    with pytest.raises(CompileError, match="no attention that could have a cache"):
        with_cache(graph, CONTEXT)
    with pytest.raises(CompileError, match="has a cache already"):
        with_cache(with_cache(fused(graph), CONTEXT), CONTEXT)


def test_any_number_of_tokens_gives_the_scores_of_the_last(tmp_path: Path) -> None:
    """One network reads blocks of any length, also one as long as another axis of the model."""
    decoder = CheckpointDecoder(read_checkpoint(save(tmp_path, CASES["llama"])))
    graph = decoder.graph(TOKENS, CONTEXT)
    words = graph.types[graph.outputs[0]].shape[-1]
    ids = np.random.default_rng(1).integers(0, words, (1, TOKENS)).astype(np.int32)
    wanted = evaluate(graph, {"ids": ids, "position": np.zeros(1, np.int32)})[graph.outputs[0]][0]
    made = in_modes(fused(sequence("llama", tmp_path)), CONTEXT, 8, has_lengths=True)
    assert made.prefill is None
    assert str(made.decode.types["ids"]) == "i32[1xtokens<=8]"
    states, at = initial_states(made.decode), 0
    for count in (4, 1, 6):
        reading = at_sizes(made.decode, {"tokens": count})
        feeds = {"ids": ids[:, at : at + count], "position": np.array([at], np.int32)}
        values = evaluate(reading, feeds, states)
        states, at = states_after(reading, values), at + count
        np.testing.assert_allclose(values[reading.outputs[0]].reshape(-1), wanted[at - 1], atol=1e-4)
