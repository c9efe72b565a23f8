"""What a language model needs to know of a trained decoder, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.config import Checkpoint, Config
from tilewright.frontends.checkpoint.decoder import decoder_parts
from tilewright.frontends.sized import merged
from tilewright.ir.graph import Graph
from tilewright.ir.length import length
from tilewright.ir.types import Array
from tilewright.language.kv_scale_balance import levelled
from tilewright.ops.blockmatmul import OF_BYTES
from tilewright.records import dataclass

TOKENS = "tokens"
"""The dimension of a graph that reads any number of them."""


def of_any_tokens(graph_of: Callable[[int], Graph], tokens: int) -> Graph:
    """A graph of 1 to so many tokens at once, from graphs of a number of them."""
    shorter = tokens // 2 + 1
    if not 1 < shorter < tokens:
        what = f"holds {tokens} tokens: too few to tell an axis of them from others"
        raise CompileError("the context of the model", what, "choose a longer context")
    graphs: list[tuple[dict[str, int], Graph]] = [({TOKENS: count}, graph_of(count)) for count in (tokens, shorter)]
    return merged(graphs, {TOKENS: length(TOKENS, 1, tokens)})


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

    @property
    def windows(self) -> Sequence[int | None]:
        """The most tokens that each attention sees; None: all."""

    def graph(self, tokens: int, positions: int) -> Graph:
        """`ids` int32 [1, tokens] and `position` int32 [1] to scores float32 [1, tokens, words]."""

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> Decoder:
        """The same function with keys and values that lose less in bytes, if it knows how."""

    @property
    def has_short_weights(self) -> bool:
        """Whether some of them have fewer bits than float32."""

    def with_blocks(self, activations: str | None) -> Decoder:
        """With weights in the blocks that its file has, where they are multiplied with such activations; None: all
        weights are floats."""


@dataclass(frozen=True)
class CheckpointDecoder:
    """Of weights whose family is known."""

    checkpoint: Checkpoint
    activations: str = OF_BYTES
    """That weights in blocks are multiplied with."""

    @property
    def facts(self) -> Config:
        return self.checkpoint.config

    @property
    def parameters(self) -> int:
        return sum(array.size for array in self.checkpoint.weights.values())

    @property
    def turns(self) -> bool:
        return self.facts.rotary is not None

    @property
    def windows(self) -> Sequence[int | None]:
        return [self.facts.window_of(layer) for layer in range(self.facts.layers)]

    def graph(self, tokens: int, positions: int) -> Graph:
        parts = decoder_parts(self.checkpoint, tokens, positions, self.activations)
        return pipeline.import_model(parts.proto, constants=parts.constants)

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> CheckpointDecoder:
        return CheckpointDecoder(levelled(self.checkpoint, graph, samples))

    @property
    def has_short_weights(self) -> bool:
        return self.checkpoint.has_blocks

    def with_blocks(self, activations: str | None) -> CheckpointDecoder:
        if activations is not None or not self.checkpoint.has_blocks:
            return replace(self, activations=activations or OF_BYTES)
        return replace(self, checkpoint=replace(self.checkpoint, weights=self.checkpoint.floats()))
