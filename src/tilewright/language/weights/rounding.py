"""Weights of a decoder rounded one layer after another; each layer sees what the rounded ones before it give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.frontends.checkpoint.config import Checkpoint, Config
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS as BLOCKS
from tilewright.ir.types import Array, Shape
from tilewright.language.weights.compensation import compensated
from tilewright.language.weights.formats import FORMATS, Format
from tilewright.language.weights.forward import Layer, embedded, head_inputs
from tilewright.language.weights.perplexity import beginnings, head_weights, layer_weights
from tilewright.quantiser.samples.stream import Progress, silent
from tilewright.records import dataclass

NUMBERS = {"f32": 0, "f16": 1, **{name: one.number for name, one in FORMATS.items()}}
"""Of formats in files."""
FILE_TYPES = {"f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q4_k": 14, "q5_k": 16, "q6_k": 18}
"""What a file says it is mostly made of."""
SMALLER = {"q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0"}
"""For rows that are no multiple of a block of 256."""
FLOATS = {"f32": np.float32, "f16": np.float16}
AT_ONCE = 2**20
"""Weights whose scales are searched together."""
AS_ROWS = 0.5
"""How much errors of a tied head's rows count as such, beside those of scores: by perplexity, of 0.1 to 2."""
ALIKE = {"attention.key": "attention.query", "attention.value": "attention.query", "ffn.gate": "ffn.up"}
"""Parts that read what another reads."""


def usual_head(weights: str) -> str:
    """The format of the head where nobody says it: of few bits it would lose most."""
    return "q6_k" if weights[:2] in ("q4", "q5") else weights


@dataclass(frozen=True)
class Choice:
    weights: str
    """Name of the format of matrices."""
    head: str
    """That of the matrix that gives scores of words."""

    @property
    def file_type(self) -> int:
        return FILE_TYPES[self.weights]

    def format(self, name: str, shape: Shape, config: Config) -> str:
        """That of a weight: vectors and positions stay as they are, rows that blocks do not divide are halves."""
        if len(shape) < 2 or name == "position_embedding.weight":
            return "f32"
        scoring = "embedding.weight" if config.tied else "head.weight"
        wanted = self.head if name == scoring else self.weights
        for one in (wanted, SMALLER.get(wanted, wanted)):
            if shape[-1] % BLOCKS[NUMBERS[one]].elements == 0:
                return one
        return "f16"


class Rounding:
    def __init__(
        self, checkpoint: Checkpoint, choice: Choice, pieces: Sequence[Array] = (), progress: Progress = silent
    ) -> None:
        self.checkpoint, self.config, self.choice = checkpoint, checkpoint.config, choice
        self.pieces, self.progress = pieces, progress

    def kind(self, name: str, shape: Shape) -> int:
        return NUMBERS[self.choice.format(name, shape, self.config)]

    def weights(self) -> Iterator[tuple[str, Array]]:
        """Names and rows of bytes of all weights, in some order."""
        words = self._words()
        yield "embedding.weight", words
        if self.config.rotary is None:
            name = "position_embedding.weight"
            yield name, self._nearest(name, self.checkpoint.floats_of(name))
        stream = self._beginnings(words)
        for number in range(self.config.layers):
            self.progress("rounding", number, self.config.layers)
            weights, products = layer_weights(self.checkpoint, number), Products()
            for x in stream:
                Layer(self.config, number, weights, products.watch)(x)
            rounded = dict[str, Array]()
            for name, value in weights.items():
                full = f"layer{number}.{name}"
                rows = self._rounded(full, value, products.of(name))
                rounded[name] = self._values(full, rows, value.shape)
                yield full, rows
            stream = [Layer(self.config, number, rounded)(x) for x in stream]
        yield from self._behind(stream)

    def _words(self) -> Array:
        """Rows of tokens; where they are the head too, columns make up for errors as far as that does no harm to the
        rows themselves, which are what the first layer reads."""
        name, value = "embedding.weight", self.checkpoint.floats_of("embedding.weight")
        if not self.config.tied or not self.pieces:
            return self._nearest(name, value)
        products = Products()
        self._watch_head(beginnings(self.checkpoint, self.pieces), products)
        found = products.sums["head"]
        found[np.diag_indices(len(found))] += AS_ROWS * np.trace(found) / len(found)
        return self._rounded(name, value, found)

    def _watch_head(self, stream: list[Array], products: Products) -> None:
        """What the head reads where nothing is rounded."""
        for number in range(self.config.layers):
            self.progress("watching", number, self.config.layers)
            layer = Layer(self.config, number, layer_weights(self.checkpoint, number))
            stream = [layer(x) for x in stream]
        weights = head_weights(self.checkpoint)
        for x in stream:
            products.watch("head", head_inputs(self.config, weights, x))

    def _beginnings(self, words: Array) -> list[Array]:
        """What the first layer reads, of rounded tokens."""
        if not self.pieces:
            return []
        used = np.unique(np.concatenate(self.pieces))
        shape = (len(used), self.config.width)
        kind = self.kind("embedding.weight", (self.config.words, self.config.width))
        weights = {"embedding.weight": BLOCKS[kind].values(words[used]).reshape(shape)}
        if self.config.rotary is None:
            weights["position_embedding.weight"] = self.checkpoint.floats_of("position_embedding.weight")
        return [embedded(self.config, weights, np.searchsorted(used, ids)) for ids in self.pieces]

    def _behind(self, stream: list[Array]) -> Iterator[tuple[str, Array]]:
        """The last norm, and a head of its own."""
        weights, products = head_weights(self.checkpoint), Products()
        for x in stream:
            products.watch("head", head_inputs(self.config, weights, x))
        for name, value in weights.items():
            if name != "embedding.weight":
                yield name, self._rounded(name, value, products.of(name))

    def _rounded(self, name: str, value: Array, products: Array | None) -> Array:
        """Rows of bytes; with products of inputs, columns make up for each other's errors."""
        form = FORMATS.get(self.choice.format(name, value.shape, self.config))
        if form is None or products is None:
            return self._nearest(name, value)
        return compensated(value, products, form)

    def _nearest(self, name: str, value: Array) -> Array:
        """Rows of bytes, each weight at its nearest level."""
        kind = self.choice.format(name, value.shape, self.config)
        if kind not in FORMATS:
            return np.ascontiguousarray(value.astype(FLOATS[kind])).reshape(len(value), -1).view(np.uint8)
        return nearest(value, FORMATS[kind])

    def _values(self, name: str, rows: Array, shape: Shape) -> Array:
        return BLOCKS[self.kind(name, shape)].values(rows).reshape(shape)


def nearest(value: Array, form: Format) -> Array:
    """Rows of bytes of a matrix, some rows at a time."""
    size, count = form.block.elements, max(1, AT_ONCE // value.shape[1])
    blocks = (value[start : start + count].reshape(-1, size) for start in range(0, len(value), count))
    same = np.ones((1, size), np.float32)
    return np.concatenate([form.rounded(one, same) for one in blocks]).reshape(len(value), -1)


class Products:
    """Sums of the outer products of what parts of a layer read."""

    def __init__(self) -> None:
        self.sums = dict[str, Array]()

    def watch(self, part: str, x: Array) -> None:
        if part not in ALIKE:
            self.sums[part] = self.sums.get(part, np.float32(0)) + x.T @ x

    def of(self, weight: str) -> Array | None:
        """Of what is multiplied with a weight, if anything was seen of it."""
        part = weight.rpartition(".")[0]
        return self.sums.get(ALIKE.get(part, part))
