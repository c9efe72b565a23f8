"""From a trained decoder to the graphs of both modes: quantised on text, fused, with caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.types import Array
from tilewright.language.caching import with_cache, without_outputs
from tilewright.language.decoder import Decoder, Facts
from tilewright.language.greedy_head import Finding, best_alone
from tilewright.language.keeping import quantised
from tilewright.language.resize_sequence import unlike, with_tokens
from tilewright.language.sampler import LogitScale
from tilewright.language.shared_words import share_words
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.ops.argmax import ArgMax
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.passes import apply
from tilewright.passes.fuse_attention import fuse_attention
from tilewright.quantiser.quantise import Options
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.quantiser.widths import Width, Widths

LOGITS, BEST = "logits", "best"
CALIBRATION_TOKENS, SAMPLES = 128, 12
"""Of the pieces of text that ranges and roundings come from."""


@dataclass(frozen=True)
class Quantising:
    """How a model becomes one of integers."""

    text: str
    """That it is calibrated with."""
    weight_bits: int = 8
    learn_rounding: bool | None = None
    """None: of weights with fewer than 8 bits, where it matters."""
    samples: int = SAMPLES

    @property
    def learns_rounding(self) -> bool:
        return self.weight_bits < 8 if self.learn_rounding is None else self.learn_rounding


@dataclass(frozen=True)
class Prepared:
    """Both modes as graphs."""

    decode: Graph
    prefill: Graph
    scale: LogitScale | None
    """What the integers of scores are worth; None where they are floats."""
    is_tied: bool = False
    """Whether words are looked up in the head's weights."""


def prepare(
    decoder: Decoder, tokenizer: Tokenizer, context: int, block: int, quantising: Quantising | None = None,
    progress: Progress = silent, finding: Finding | None = None,
) -> Prepared:  # fmt: skip
    """`block` tokens of a prompt are read at once, and `context` of them remembered.

    With `finding`, decoding gives the most likely token and no scores.
    """
    facts = decoder.facts
    tokens = unlike(min(CALIBRATION_TOKENS, facts.longest - 1), decoder.sizes(context))
    if tokens >= facts.longest:
        what = f"is not longer than its other axes: an axis of {facts.longest} tokens cannot be told from them"
        raise CompileError("the context of the model", what, "choose a longer context")
    # Samples are as long whatever is remembered later, so that a model says the same with any context.
    positions = max(context, tokens + 1)
    graph = decoder.graph(tokens, positions)
    if quantising is not None:
        pieces = samples(facts, tokenizer, quantising, tokens, 0 if decoder.turns else positions - tokens)
        graph = decoder.levelled(graph, pieces).graph(tokens, positions)
        options = quantiser_options(quantising, graph.outputs[0])
        graph = apply(quantised(graph, pieces, options, progress), pipeline.QUANTISING)
    # A head whose roundings are learned is worth its words, but is no table of them.
    has_fine_rows = quantising is not None and quantising.learns_rounding
    return both_modes(graph, tokens, context, block, finding, has_fine_rows)


def both_modes(
    graph: Graph, tokens: int, context: int, block: int, finding: Finding | None = None, has_fine_rows: bool = False
) -> Prepared:
    """From a graph of `tokens` at once, a number that no other axis has."""
    fused = apply(graph, (*pipeline.PASSES, fuse_attention(lambda op, types: True)))
    fused, scale = _integer_scores(fused)
    fused, is_tied = share_words(fused, has_fine_rows)
    decode, prefill = (with_cache(with_tokens(fused, tokens, count), context) for count in (1, block))
    decode = with_best(decode) if finding is None else best_alone(decode, BEST, finding)
    return Prepared(decode, without_outputs(prefill), scale, is_tied)


def with_best(graph: Graph) -> Graph:
    """The most likely token beside the scores: the target finds it faster than who chooses among all."""
    builder = rebuild(graph)
    for node in graph.nodes:
        builder.copy_node(node, graph)
    builder.copy_outputs(graph)
    (best,) = builder.add(ArgMax(len(graph.types[graph.outputs[0]].shape) - 1), [graph.outputs[0]], name=BEST)
    builder.output(best, BEST)
    return builder.build()


def quantiser_options(quantising: Quantising, scores: str = LOGITS) -> Options:
    """Bytes, also in the caches, with 16 bits where decoders need them and for scores, of which the closest decide.

    With weights of fewer bits, keys and scores of attention have 16 bits too: they lose enough already.
    """
    widths = Widths(Width(quantising.weight_bits, "int8"), {scores: Width(8, "int16")})
    narrow = quantising.weight_bits < 8
    return Options(widths, wide=True, wide_attention=narrow, learn_rounding=quantising.learns_rounding)


def samples(facts: Facts, tokenizer: Tokenizer, quantising: Quantising, tokens: int, last: int = 0) -> dict[str, Array]:
    """Pieces of a text, from all over it, each as long as the graph reads, at positions up to the last.

    Those that are learned have ranges of their own.
    """
    ids = tokenizer.encode(quantising.text, add_special=False)
    begin = [facts.begin] if facts.begin is not None else []
    length = tokens - len(begin)
    if len(ids) < length:
        raise CompileError(
            "calibration text", f"has {len(ids)} tokens, at least {length} are needed", "give a longer text"
        )
    wanted = quantising.samples if quantising.weight_bits == 8 else 2 * quantising.samples
    count = max(1, min(wanted, len(ids) // length))
    starts = np.linspace(0, len(ids) - length, count).astype(int)
    pieces = [[*begin, *ids[start : start + length]] for start in starts]
    _check_words(facts, ids)
    places = np.linspace(0, last, count).astype(np.int32)[:, None]
    return {"ids": np.array(pieces, np.int32)[:, None], "position": places}


def _check_words(facts: Facts, ids: Sequence[int]) -> None:
    if max(ids) >= facts.words:
        raise CompileError(
            "tokenizer",
            f"gives token {max(ids)}, but the model's vocabulary has {facts.words} tokens",
            "is it this model's?",
        )


def _integer_scores(graph: Graph) -> tuple[Graph, LogitScale | None]:
    """Without the floats at the end: who chooses a token knows what the integers are worth."""
    node = graph.producers[graph.outputs[0]]
    if not isinstance(node.op, DequantizeLinear):
        return graph, None
    scale = float(graph.constants[node.inputs[1]].reshape(-1)[0])
    zero = int(graph.constants[node.inputs[2]].reshape(-1)[0]) if len(node.inputs) > 2 else 0
    nodes = tuple(one for one in graph.nodes if one is not node)
    types = {name: kind for name, kind in graph.types.items() if name != node.key}
    return replace(graph, nodes=nodes, types=types, outputs=(node.inputs[0],)), LogitScale.of(scale, zero)
