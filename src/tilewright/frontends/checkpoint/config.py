"""What a decoder is made of: its sizes, and which of the usual parts it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.block_formats import BlockArray
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

PROJECTIONS = ("query", "key", "value", "output")
FEED_FORWARD = ("gate", "up", "down")
MOST_ERRORS = 8
"""Of a file's tensors, shown at once."""
Weight = Array | BlockArray


@dataclass(frozen=True)
class Rotary:
    """Positions that turn pairs of elements of queries and keys, each pair by an angle of its own per token."""

    theta: float = 10000.0
    scaling: str = ""
    """Of the angles, for contexts longer than those of the first training: `linear`, `llama3`, or none."""
    factor: float = 1.0
    low: float = 1.0
    high: float = 4.0
    """Turns within the first training's context: up to `low` angles are divided by the factor, from `high` on kept."""
    trained: int = 0
    """Tokens of the context of the first training."""
    turned: int = 0
    """How many elements of a head are turned, the first of them; 0: all."""
    divisors: tuple[float, ...] = ()
    """Of the angles of pairs, one by one; empty: they stay as they are."""
    amplitude: float = 1.0
    """By which what is turned becomes longer."""


@dataclass(frozen=True)
class Config:
    family: str
    width: int
    hidden: int
    """Elements between the two products of a feed-forward layer."""
    layers: int
    heads: int
    kv_heads: int
    head: int
    """Elements of one head."""
    words: int
    """In the vocabulary."""
    context: int
    """The most tokens that the model was trained to see at once."""
    epsilon: float
    norm: str = "rms"
    """Or `layer`: around the mean, with a bias."""
    rotary: Rotary | None = Rotary()
    """None: a row is learned for every position."""
    activation: str = "silu"
    """Or `gelu`, `gelu_tanh`, `relu`."""
    gated: bool = True
    """Whether the activation of one product is the factor of another."""
    biases: frozenset[str] = frozenset()
    """Of the products that have one: `query`, `key`, `value`, `output`, `gate`, `up`, `down`, `head`."""
    qk_norm: bool = False
    """Whether each head of queries and of keys is normalised."""
    score_scale: float | None = None
    """What scores are multiplied with; None: they are divided by the root of a head's size."""
    attention_cap: float = 0.0
    """What scores stay below: c tanh(score / c); 0: nothing."""
    logit_cap: float = 0.0
    """What the scores of words stay below, by the same formula; 0: nothing."""
    embedding_scale: float = 1.0
    """What embeddings are multiplied with."""
    post_norms: bool = False
    """Whether what attention and feed-forward give is normalised before it is added."""
    parallel: bool = False
    """Whether attention and the feed-forward part of a layer read the same stream, and both are added to it."""
    one_norm: bool = False
    """Whether they read it through one norm."""
    tied: bool = False
    """Whether the head's weights are those of the embedding."""
    window: int | None = None
    """The most tokens that local layers see, their own included, if fewer than the context."""
    local: tuple[bool, ...] = (True,)
    """Which layers are local, if there is a window; from the first on, again and again."""
    local_rotary: Rotary | None = None
    """How positions turn queries and keys of local layers, if otherwise."""
    unturned: tuple[bool, ...] = (False,)
    """Layers whose queries and keys are not turned although others' are; again and again."""
    begin: int | None = None
    """The token that texts begin with."""
    ends: tuple[int, ...] = ()
    """Tokens that texts end with."""

    @property
    def longest(self) -> int:
        """The longest context in which layers see all there is."""
        return self.context if self.window is None else min(self.context, self.window)

    @property
    def scale(self) -> float:
        """Of scores."""
        return float(self.head**-0.5) if self.score_scale is None else self.score_scale

    def window_of(self, layer: int) -> int | None:
        """The most tokens that a layer sees, if not all."""
        return self.window if self.local[layer % len(self.local)] else None

    def rotary_of(self, layer: int) -> Rotary | None:
        """How a layer's queries and keys are turned, if they are."""
        if self.unturned[layer % len(self.unturned)]:
            return None
        is_local = self.local_rotary is not None and self.local[layer % len(self.local)]
        return self.local_rotary if is_local else self.rotary

    def check(self, where: str) -> None:
        """Refuse sizes that contradict each other."""
        if self.heads % self.kv_heads:
            raise CompileError(
                where, f"{self.heads} query heads cannot be divided evenly among {self.kv_heads} KV heads",
                "the first must be a multiple of the second: check the file",
            )  # fmt: skip
        if self.rotary is not None and self.head % 2:
            raise CompileError(
                where, f"heads of {self.head} elements cannot be rotated in pairs", "the size of a head must be even"
            )
        if self.rotary is not None and (self.rotary.turned % 2 or self.rotary.turned > self.head):
            what = f"{self.rotary.turned} of {self.head} elements of a head cannot be rotated in pairs"
            raise CompileError(where, what, "check partial_rotary_factor and the head's size")
        for token in (self.begin, *self.ends):
            if token is not None and token >= self.words:
                what = f"token {token} is a BOS or EOS token, but the vocabulary has {self.words} tokens"
                raise CompileError(where, what, "check bos_token_id, eos_token_id and vocab_size")


@dataclass(frozen=True)
class Checkpoint:
    config: Config
    weights: Mapping[str, Weight]
    """By the names of `shapes`, float32; matrices are [outputs, inputs], and may be blocks as their file has them."""

    @property
    def has_blocks(self) -> bool:
        return any(isinstance(value, BlockArray) for value in self.weights.values())

    def floats(self) -> dict[str, Array]:
        """All weights as float32."""
        return {name: self.floats_of(name) for name in self.weights}

    def floats_of(self, name: str) -> Array:
        """One of them."""
        value = self.weights[name]
        return value.values() if isinstance(value, BlockArray) else value


def shapes(config: Config) -> Iterator[tuple[str, Shape]]:
    """All weights of a decoder, one after another: a file may claim more layers than memory holds names."""
    yield "embedding.weight", (config.words, config.width)
    if config.rotary is None:
        yield "position_embedding.weight", (config.context, config.width)
    for number in range(config.layers):
        for name, shape in _of_layer(config):
            yield f"layer{number}.{name}", shape
    yield from _norm(config, "norm")
    if not config.tied:
        yield from _linear(config, "head", config.words, config.width)


def _of_layer(config: Config) -> Iterator[tuple[str, Shape]]:
    queries, keys = config.heads * config.head, config.kv_heads * config.head
    yield from _norm(config, "norm1")
    if config.post_norms:
        yield from _norm(config, "norm1.after")
    for part, rows in zip(PROJECTIONS, (queries, keys, keys, config.width), strict=True):
        yield from _linear(config, f"attention.{part}", rows, queries if part == "output" else config.width)
    if config.qk_norm:
        yield "attention.query.norm.weight", (config.head,)
        yield "attention.key.norm.weight", (config.head,)
    if not config.one_norm:
        yield from _norm(config, "norm2")
    if config.post_norms:
        yield from _norm(config, "norm2.after")
    for part in FEED_FORWARD if config.gated else FEED_FORWARD[1:]:
        sizes = (config.width, config.hidden) if part == "down" else (config.hidden, config.width)
        yield from _linear(config, f"ffn.{part}", *sizes)


def _norm(config: Config, name: str) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (config.width,)
    if config.norm == "layer":
        yield f"{name}.bias", (config.width,)


def _linear(config: Config, name: str, rows: int, columns: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (rows, columns)
    if name.rpartition(".")[2] in config.biases:
        yield f"{name}.bias", (rows,)


def shown(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"


def by_rows(value: Weight, change: Callable[[Array], Array]) -> Weight:
    """With some of its rows, or its rows in another order."""
    if isinstance(value, BlockArray):
        return replace(value, raw=np.ascontiguousarray(change(value.raw)))
    changed = change(value)
    return np.ascontiguousarray(changed).reshape(-1, *value.shape[1:])
