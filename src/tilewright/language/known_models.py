"""Models that were read before: sizes and tokenizer at once, weights only if somebody asks for them."""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.language import kept_models
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.records import dataclass
from tilewright.toolchain.compiler import cache_folder

if TYPE_CHECKING:
    from tilewright.ir.graph import Graph
    from tilewright.ir.types import Array
    from tilewright.language.decoder import Decoder, Facts

WHOLE = ".gguf"
FOLDER, SUFFIX, DRAFT = "read_models", ".pickle", ".draft"
MOST = 256
"""That are remembered."""


@dataclass(frozen=True)
class KnownFacts:
    """Sizes, and the tokens around texts."""

    family: str
    layers: int
    width: int
    kv_heads: int
    head: int
    words: int
    context: int
    longest: int
    begin: int | None
    ends: tuple[int, ...]

    @staticmethod
    def of(facts: Facts) -> KnownFacts:
        return KnownFacts(**{one.name: getattr(facts, one.name) for one in fields(KnownFacts)})


@dataclass(frozen=True)
class KnownDecoder:
    """A decoder whose sizes are known; the rest is read when it is asked for."""

    known: KnownFacts
    parameters: int
    read: Callable[[], Decoder]

    @cached_property
    def _decoder(self) -> Decoder:
        return self.read()

    @property
    def facts(self) -> Facts:
        return self.known

    @property
    def turns(self) -> bool:
        return self._decoder.turns

    @property
    def windows(self) -> Sequence[int | None]:
        return self._decoder.windows

    def graph(self, tokens: int, positions: int) -> Graph:
        return self._decoder.graph(tokens, positions)

    def levelled(self, graph: Graph, samples: Mapping[str, Array]) -> Decoder:
        return self._decoder.levelled(graph, samples)

    @property
    def has_short_weights(self) -> bool:
        return self._decoder.has_short_weights

    def with_blocks(self, activations: str | None) -> Decoder:
        return self._decoder.with_blocks(activations)


def recall(key: str, read: Callable[[], Decoder]) -> tuple[KnownDecoder, Tokenizer] | None:
    """What is remembered under a key."""
    place = _place(key)
    try:
        facts, parameters, tokenizer = pickle.loads(place.read_bytes())
        os.utime(place)
        return KnownDecoder(KnownFacts(**facts), parameters, read), tokenizer
    except Exception:
        return None  # what cannot be read any more is read anew


def remember(key: str, decoder: Decoder, tokenizer: Tokenizer) -> None:
    """Where the folder cannot be written, nothing is remembered."""
    data = pickle.dumps((asdict(KnownFacts.of(decoder.facts)), decoder.parameters, tokenizer), protocol=5)
    place = _place(key)
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(suffix=DRAFT, dir=place.parent)
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(draft, place)
        _trim(place.parent)


def _place(key: str) -> Path:
    return cache_folder() / FOLDER / f"{key}{SUFFIX}"


def _trim(folder: Path) -> None:
    entries = sorted(((one.stat().st_mtime, one.path) for one in os.scandir(folder)), reverse=True)
    for _, path in entries[MOST:]:
        os.unlink(path)


def key_of(path: Path, words: Path | None) -> str | None:
    """Of a model and its tokenizer, if that is another; None where nobody can tell whether they change: a file that is
    not all of a model has others beside it."""
    if not path.is_dir() and path.suffix.lower() != WHOLE:
        return None
    found = [kept_models.fingerprint(one) for one in (path, words) if one is not None]
    return None if None in found or not kept_models.bound() else kept_models.key_of(map(str, found))
