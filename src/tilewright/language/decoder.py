"""What a language model needs to know of a trained decoder, wherever it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tilewright import pipeline
from tilewright.frontends.checkpoint.config import Checkpoint, Config
from tilewright.frontends.checkpoint.decoder import decoder_parts
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.language.kv_scale_balance import levelled

COMMON = (1, 2, 3, 256, 257)
"""Sizes of axes that passes make: tables of bytes, and the like."""


class Facts(Protocol):
    """Sizes, and the tokens around texts; as `Config` has them."""

    @property
    def family(self) -> str: ...
    @property
    def layers(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def head(self) -> int: ...
    @property
    def words(self) -> int: ...
    @property
    def context(self) -> int: ...
    @property
    def longest(self) -> int: ...
    @property
    def begin(self) -> int | None: ...
    @property
    def ends(self) -> tuple[int, ...]: ...


class Decoder(Protocol):
    """A float network of any number of tokens at once."""

    @property
    def facts(self) -> Facts: ...
    @property
    def parameters(self) -> int: ...
    @property
    def turns(self) -> bool:
        """Whether positions turn queries and keys, so that ranges are the same at all of them."""

    def sizes(self, context: int) -> frozenset[int]:
        """Those that an axis of its graphs may have, other than one of tokens."""

    def graph(self, tokens: int, positions: int) -> Graph:
        """`ids` int32 [1, tokens] and `position` int32 [1] to scores float32 [1, tokens, words]."""

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> Decoder:
        """The same function with keys and values that lose less in bytes, if it knows how."""


@dataclass(frozen=True)
class CheckpointDecoder:
    """Of weights whose family is known."""

    checkpoint: Checkpoint

    @property
    def facts(self) -> Config:
        return self.checkpoint.config

    @property
    def parameters(self) -> int:
        return sum(array.size for array in self.checkpoint.weights.values())

    @property
    def turns(self) -> bool:
        return self.facts.rotary is not None

    def sizes(self, context: int) -> frozenset[int]:
        config = self.facts
        repeat = config.heads // config.kv_heads
        widths = (config.width, config.hidden, config.heads, config.kv_heads, repeat, config.head, config.head // 2)
        products = (config.heads * config.head, config.kv_heads * config.head, config.words, context)
        return frozenset((*widths, *products, *COMMON))

    def graph(self, tokens: int, positions: int) -> Graph:
        parts = decoder_parts(self.checkpoint, tokens, positions)
        return pipeline.import_model(parts.proto, constants=parts.constants)

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> CheckpointDecoder:
        return CheckpointDecoder(levelled(self.checkpoint, graph, samples))
