"""How well a decoder foretells a text: one layer after another for all of it, each with its weights read once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.ir.types import Array
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.weights.forward import Layer, embedded, scores
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.records import dataclass

LONGEST = 512
"""Tokens of a piece of text."""


@dataclass(frozen=True)
class Perplexity:
    value: float
    """e to the mean of negative log likelihoods."""
    tokens: int
    """That were foretold."""


def pieces_of(text: str, tokenizer: Tokenizer, config: Config, most: int, by_lines: bool = False) -> list[Array]:
    """Tokens of a text, in pieces that a decoder reads at once, each with the token that texts begin with in front.

    At most so many tokens, from all over the text. With `by_lines` each line is a text of its own.
    """
    length = min(LONGEST, config.longest)
    begin = [] if config.begin is None else [config.begin]
    texts = [one for one in text.splitlines() if one.strip()] if by_lines else [text]
    own = length - len(begin)
    cut = [[*begin, *ids] for one in texts for ids in _cut(tokenizer.encode(one, add_special=False), own, by_lines)]
    cut = [one for one in cut if len(one) > 1]
    if not cut:
        raise CompileError("this text", "has no two tokens", "give a longer one")
    if max(map(max, cut)) >= config.words:
        what = f"gives token {max(map(max, cut))}, but the model's vocabulary has {config.words} tokens"
        raise CompileError("the tokenizer", what, "is it this model's?")
    return [np.array(one) for one in _spread(cut, most)]


def _cut(ids: Sequence[int], length: int, once: bool) -> Iterator[Sequence[int]]:
    yield from (ids[start : start + length] for start in range(0, 1 if once else len(ids), length))


def _spread(pieces: Sequence[list[int]], most: int) -> list[list[int]]:
    """Some of them, from all over, of at most so many tokens in all but for the last."""
    total = sum(map(len, pieces))
    count = len(pieces) if total <= most else max(1, len(pieces) * most // total)
    return [pieces[at * len(pieces) // count] for at in range(count)]


def layer_weights(checkpoint: Checkpoint, number: int) -> dict[str, Array]:
    """Those of one layer, without its number."""
    prefix = f"layer{number}."
    return {
        name.removeprefix(prefix): checkpoint.floats_of(name)
        for name, _ in shapes(checkpoint.config)
        if name.startswith(prefix)
    }


def perplexity(checkpoint: Checkpoint, pieces: Sequence[Array], progress: Progress = silent) -> Perplexity:
    config = checkpoint.config
    streams = beginnings(checkpoint, pieces)
    for number in range(config.layers):
        progress("perplexity", number, config.layers)
        layer = Layer(config, number, layer_weights(checkpoint, number))
        streams = [layer(x) for x in streams]
    outer = head_weights(checkpoint)
    losses = np.concatenate(
        [_losses(scores(config, outer, x[:-1]), ids[1:]) for x, ids in zip(streams, pieces, strict=True)]
    )
    return Perplexity(math.exp(min(float(losses.mean()), 700.0)), len(losses))


def beginnings(checkpoint: Checkpoint, pieces: Sequence[Array]) -> list[Array]:
    """What the first layer reads."""
    names = ("embedding.weight", "position_embedding.weight")
    weights = {name: checkpoint.floats_of(name) for name in names if name in checkpoint.weights}
    return [embedded(checkpoint.config, weights, ids) for ids in pieces]


def head_weights(checkpoint: Checkpoint) -> dict[str, Array]:
    """Those behind the layers."""
    names = ("embedding.weight" if checkpoint.config.tied else "head.weight", "head.bias", "norm.weight", "norm.bias")
    return {name: checkpoint.floats_of(name) for name in names if name in checkpoint.weights}


def _losses(scores: Array, ids: Array) -> Array:
    """The negative log likelihood of each token."""
    scores = scores - scores.max(-1, keepdims=True)
    sums = np.log(np.exp(scores).sum(-1, dtype=np.float64))
    return np.asarray(sums - scores[np.arange(len(ids)), ids])
