"""A text that a model has given: its words as they come, and what they took."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tilewright.language.talking import Ended, Event, Read, Said
from tilewright.language.text.stop_words import StopWords
from tilewright.records import dataclass

TOKENS, END, CONTEXT, STOP = "tokens", "end of text", "context", "stop word"
"""Why a text is over: there are as many tokens as were asked for, the model said so, no more can be remembered, or a
stop word came."""


@dataclass(frozen=True)
class Weights:
    """Bytes of a program's constants, and of those that hold weights which are there in another packing already."""

    total: int = 0
    second_of_prefill: int = 0
    """As the network of many tokens reads them, where that of one has another packing."""
    second_of_words: int = 0
    """Rows that are looked up, where the head has the same weights in another packing."""

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Generation:
    """What was read and given, once it is over."""

    target: str
    prompt: str
    text: str
    """That follows the prompt."""
    read: Read
    said: tuple[Said, ...]
    stopped: str
    context: int
    bytes: Mapping[str, int] = field(default_factory=dict)
    """By memory."""
    weights: Weights = Weights()
    wall_seconds: float = 0.0
    """From the call to the last token, on this machine: simulating takes longer than what is simulated."""

    @property
    def prompt_tokens(self) -> int:
        return self.read.tokens

    @property
    def tokens(self) -> int:
        return len(self.said)

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(one.token for one in self.said)

    @property
    def seconds(self) -> float | None:
        """On the chip, or on this machine; None where the chip's clock is unknown."""
        times = [self.read.seconds, *(one.seconds for one in self.said)]
        return None if self.has_no_clock else sum(times)

    @property
    def has_no_clock(self) -> bool:
        """Cycles are counted, and nobody knows how long one is."""
        return self.read.cycles is not None and self.read.energy is None

    @property
    def hertz(self) -> float | None:
        return self.read.energy.hertz if self.read.energy else None

    @property
    def prefill_tokens_per_second(self) -> float | None:
        return self._rate(self.prompt_tokens, self.read.seconds)

    @property
    def tokens_per_second(self) -> float | None:
        return self._rate(len(self._decoded), sum(one.seconds for one in self._decoded))

    @property
    def microjoules_per_token(self) -> float | None:
        energies = [one.energy.microjoules for one in self._decoded if one.energy]
        return sum(energies) / len(energies) if energies else None

    @property
    def prefill_microjoules_per_token(self) -> float | None:
        return self.read.energy.microjoules / self.prompt_tokens if self.read.energy else None

    @property
    def cycles_per_token(self) -> float | None:
        cycles = [one.cycles for one in self._decoded if one.cycles is not None]
        return sum(cycles) / len(cycles) if cycles else None

    @property
    def prefill_cycles_per_token(self) -> float | None:
        return None if self.read.cycles is None else self.read.cycles / self.prompt_tokens

    @property
    def _decoded(self) -> Sequence[Said]:
        """The first token is chosen from what the prompt's last one gave: nothing is computed for it."""
        return self.said[1:]

    def _rate(self, tokens: int, seconds: float) -> float | None:
        return None if self.has_no_clock or not tokens or seconds <= 0 else tokens / seconds

    def as_dict(self) -> dict[str, Any]:
        return {
            "target": self.target, "prompt": self.prompt, "text": self.text, "tokens": self.tokens,
            "prompt_tokens": self.prompt_tokens, "token_ids": list(self.token_ids), "stopped": self.stopped,
            "prefill_tokens_per_second": self.prefill_tokens_per_second, "tokens_per_second": self.tokens_per_second,
            "microjoules_per_token": self.microjoules_per_token,
            "prefill_microjoules_per_token": self.prefill_microjoules_per_token,
            "cycles_per_token": self.cycles_per_token, "prefill_cycles_per_token": self.prefill_cycles_per_token,
            "hertz": self.hertz, "seconds": self.seconds, "wall_seconds": self.wall_seconds,
            "context": self.context, "bytes": dict(self.bytes), "weights": self.weights.as_dict(),
        }  # fmt: skip


class Listener:
    """Hears the events of a talk: gives the text as it comes, and keeps what it took."""

    def __init__(self, wanted: int, ends: Sequence[int], stops: Sequence[str] = ()) -> None:
        self.wanted, self.ends, self.stops = wanted, frozenset(ends), StopWords(stops)
        self.read: Read | None = None
        self.said: list[Said] = []
        self.pieces: list[str] = []
        self.why = ""
        self.started = time.perf_counter()

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def seconds(self) -> float:
        """Since it began to listen."""
        return time.perf_counter() - self.started

    def hear(self, events: Iterator[Event]) -> Iterator[str]:
        """Pieces of text; the bytes of a character that more tokens make, and what may become a stop word, are held
        back until that is decided."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for event in events:
            if isinstance(event, Said):
                self.said.append(event)
                yield from self._kept(self.stops.passed(decoder.decode(event.piece)))
            elif isinstance(event, Ended):
                self.why = event.why
            else:
                self.read = event
            if self.stops.found:
                return
        yield from self._kept(self.stops.passed(decoder.decode(b"", final=True)) + self.stops.rest())

    def _kept(self, piece: str) -> Iterator[str]:
        if piece:
            self.pieces.append(piece)
            yield piece

    def stopped(self, stops: bool) -> str:
        if self.stops.found or self.why:
            return STOP if self.stops.found else self.why
        if stops and self.said and self.said[-1].token in self.ends:
            return END
        return TOKENS if len(self.said) >= self.wanted else CONTEXT
