"""From a trained decoder to the graphs of both modes: quantised on text, fused, with caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.at_sizes import at_sizes
from tilewright.ir.graph import Graph, rebuild
from tilewright.ir.length import length
from tilewright.ir.types import Array
from tilewright.language.caching import with_cache, without_outputs
from tilewright.language.decoder import TOKENS, Decoder, Facts, of_any_tokens
from tilewright.language.greedy_head import Finding, best_alone
from tilewright.language.keeping import quantised
from tilewright.language.sampler import LogitScale
from tilewright.language.shared_words import share_words
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.windows import with_windows
from tilewright.ops.argmax import ArgMax
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.slice import Slice
from tilewright.passes import apply
from tilewright.passes.fuse_attention import fuse_attention, unmasked
from tilewright.quantiser.quantise import Options
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.quantiser.widths import Width, Widths
from tilewright.records import dataclass

LOGITS, BEST = "logits", "best"
SEEN_TOKENS = 24
"""Of the graph that shows where axes of tokens are."""
CALIBRATION_TOKENS, SAMPLES = 127, 12
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
    """Of one token; of any number up to a block, where there is no other."""
    prefill: Graph | None
    """Of a block of them, without scores."""
    scale: LogitScale | None
    """What the integers of scores are worth; None where they are floats."""
    is_tied: bool = False
    """Whether words are looked up in the head's weights."""


def prepare(
    decoder: Decoder, tokenizer: Tokenizer, context: int, block: int, quantising: Quantising | None = None,
    progress: Progress = silent, finding: Finding | None = None, has_lengths: bool = False,
) -> Prepared:  # fmt: skip
    """`block` tokens of a prompt are read at once, and `context` of them remembered.

    With `finding`, decoding gives the most likely token and no scores. With `has_lengths` there is one network for any
    number of tokens up to a block, which gives the scores behind the last of them.
    """
    if quantising is None:
        tokens = min(SEEN_TOKENS, decoder.facts.longest)
        fused = with_one_attention(partial(decoder.graph, positions=max(context, tokens)), tokens)
    else:
        fused = _quantised(decoder, tokenizer, context, quantising, progress)
    # A head whose roundings are learned is worth its words, but is no table of them.
    has_fine_rows = quantising is not None and quantising.learns_rounding
    fused = with_windows(fused, decoder.windows, context)
    return in_modes(fused, context, block, finding, has_fine_rows, has_lengths)


def _quantised(
    decoder: Decoder, tokenizer: Tokenizer, context: int, quantising: Quantising, progress: Progress
) -> Graph:
    """In integers, with levelled keys and values."""
    tokens = min(CALIBRATION_TOKENS, decoder.facts.longest - 1)
    # Samples are as long whatever is remembered later, so that a model says the same with any context.
    positions = max(context, tokens + 1)
    pieces = samples(decoder.facts, tokenizer, quantising, tokens, 0 if decoder.turns else positions - tokens)
    levelled = decoder.levelled(decoder.graph(tokens, positions), pieces)
    graph = of_any_tokens(partial(levelled.graph, positions=positions), tokens)
    made = quantised(graph, pieces, quantiser_options(quantising, graph.outputs[0]), progress)
    return with_one_attention(made, tokens)


def with_one_attention(graph_of: Callable[[int], Graph], tokens: int) -> Graph:
    """A graph of 1 to so many tokens at once whose attentions are single operators, from graphs of a number of them:
    there masks are recognised, and gone."""
    passes = (*pipeline.QUANTISING, *pipeline.PASSES, fuse_attention(unmasked))
    return of_any_tokens(lambda count: apply(graph_of(count), passes), tokens)


def of_last_token(graph: Graph) -> Graph:
    """With scores of the last token alone: what makes them is a product, which reads its row and no other."""
    builder, scores = rebuild(graph), {graph.outputs[0]}
    for node in reversed(graph.nodes):
        if node.key in scores and not node.op.multiplies:
            scores.add(next(name for name in node.inputs if name not in graph.constants))
    for node in graph.nodes:
        inputs = list(node.inputs)
        if node.key in scores and node.op.multiplies:
            _, tokens, width = graph.types[inputs[0]].shape
            last = Slice((0, tokens - 1, 0), (1, 1, 1), (1, 1, width))
            inputs[:1] = builder.add(last, inputs[:1], name=f"{node.name}.last")
        builder.add(node.op, inputs, node.outputs, node.name)
    builder.copy_outputs(graph)
    return builder.build()


def in_modes(
    fused: Graph, context: int, block: int, finding: Finding | None = None, has_fine_rows: bool = False,
    has_lengths: bool = False,
) -> Prepared:  # fmt: skip
    """From a graph of any number of tokens at once, whose attention is one operator."""
    fused, scale = _integer_scores(fused)
    fused, is_tied = share_words(fused, has_fine_rows)
    if has_lengths:
        sized = at_sizes(fused, {TOKENS: length(TOKENS, 1, block)})
        decode, prefill = with_cache(of_last_token(sized), context), None
    else:
        decode, together = (with_cache(at_sizes(fused, {TOKENS: count}), context) for count in (1, block))
        prefill = without_outputs(together)
    decode = with_best(decode) if finding is None else best_alone(decode, BEST, finding)
    return Prepared(decode, prefill, scale, is_tied)


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
