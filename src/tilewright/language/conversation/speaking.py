"""An answer, token by token: a prompt is read, tokens are chosen and read, until one of them ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.language.conversation.memory import Memory
from tilewright.language.generation import END
from tilewright.language.sampler import Sampler, Sampling
from tilewright.language.talking import Ended, Event, Read, Said
from tilewright.language.text.piece_stream import PieceStream
from tilewright.records import dataclass


class Grammar(Protocol):
    """Which tokens may come next, of a text that is to be of some form."""

    def allowed(self) -> Array:
        """Of each token of the vocabulary, whether it may be the next one."""

    def took(self, token: int) -> None: ...

    @property
    def may_end(self) -> bool:
        """Whether the text is whole by now."""

    @property
    def must_end(self) -> bool:
        """Whether nothing may follow."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Asked:
    """What an answer is to be like."""

    tokens: int
    """The most."""
    sampling: Sampling
    ends: frozenset[int] = frozenset()
    """Tokens that end it."""
    grammar: Grammar | None = None
    """That it is of, from its first token on."""
    is_over: Callable[[], bool] = _never
    """Asked between steps: whether nobody waits for it any more."""


def spoken(memory: Memory, prompt: Sequence[int], asked: Asked, text: PieceStream) -> Iterator[Event]:
    """What was read, then every token, then why it is over where the tokens do not say so."""
    start = time.perf_counter()
    reading = memory.prompt(prompt)
    known = next(reading)
    for _ in reading:
        if asked.is_over():
            return
    yield Read(len(prompt), time.perf_counter() - start, reused=known)
    choice, token = _Choice(memory, prompt, asked), 0
    for place in range(min(asked.tokens, memory.session.context - len(prompt))):
        if asked.is_over():
            return
        start = time.perf_counter()
        if place:
            memory.token(token)
        token = choice.next()
        is_end = token in asked.ends
        yield Said(token, b"" if is_end else text.piece(token), time.perf_counter() - start)
        if is_end:
            return
        if choice.is_over:
            yield Ended(END)
            return


class _Choice:
    """Of the next token: by the session, or here, of those that a grammar allows."""

    def __init__(self, memory: Memory, prompt: Sequence[int], asked: Asked) -> None:
        self.session, self.ends = memory.session, asked.ends
        self.grammar = asked.grammar
        seen = prompt if asked.sampling.penalty != 1 else ()
        if self.grammar is None:
            self.session.sample(asked.sampling, seen)
            return
        self.sampler = Sampler(asked.sampling, self.session.words)
        for token in seen:
            self.sampler.saw(token)

    @property
    def is_over(self) -> bool:
        return self.grammar is not None and self.grammar.must_end

    def next(self) -> int:
        if self.grammar is None:
            return self.session.choose()
        token = self.sampler.next(np.where(self._allowed(self.grammar), self.session.scores(), -np.inf))
        self.sampler.saw(token)
        if token not in self.ends:
            self.grammar.took(token)
        return token

    def _allowed(self, grammar: Grammar) -> Array:
        allowed = np.zeros(self.session.words, bool)
        known = grammar.allowed()[: self.session.words]
        allowed[: known.size] = known
        allowed[list(self.ends)] = grammar.may_end
        if not allowed.any():
            what = "allows nothing that a token of this vocabulary could write next"
            raise CompileError("grammar", what, "allow other characters, or take another model")
        return allowed
