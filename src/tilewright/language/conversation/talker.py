"""Someone to talk to: a context of a model, the template of its conversations, and where its answers end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.errors import CompileError
from tilewright.grammar.constraint import Schemas
from tilewright.language.conversation.memory import Memory
from tilewright.language.conversation.messages import checked
from tilewright.language.conversation.speaking import Asked, Grammar, spoken
from tilewright.language.conversation.template import ChatTemplate
from tilewright.language.conversation.template_files import Talk
from tilewright.language.generation import Listener
from tilewright.language.text.piece_stream import PieceStream
from tilewright.language.text.tokenizer import Start, Tokenizer
from tilewright.records import dataclass


@dataclass(frozen=True)
class Words:
    """What a conversation is written in: messages to tokens."""

    tokenizer: Tokenizer
    talk: Talk
    where: str
    """The model, for errors."""
    ends: frozenset[int] = frozenset()
    """Tokens that end texts."""

    def prompt(self, messages: Any) -> list[int]:
        """Tokens of a conversation, up to where its next answer begins."""
        return self.template.tokens(checked(messages), self.tokenizer)

    @property
    def template(self) -> ChatTemplate:
        if self.talk.template is None:
            hint = "name one: --chat-template FILE, or template= in Python; generate continues plain texts"
            raise CompileError(self.where, "has no chat template, which says how conversations are written", hint)
        return self.talk.template

    def check(self) -> None:
        """Refuse a template that is no program at all before anybody says something."""
        self.template.check()

    def json_text(self, schema: Any) -> Grammar:
        """What an answer of a JSON schema must be like."""
        return self._schemas.texts(schema)

    @cached_property
    def _schemas(self) -> Schemas:
        words = self.tokenizer
        pieces = tuple(b"" if token in words.special else piece for token, piece in enumerate(words.pieces))
        # Where a text's first token loses its spaces, it may not have any that count.
        has_none = np.array([b" " not in piece for piece in pieces]) if words.start == Start.FIRST_TOKEN else None
        return Schemas(pieces, has_none)

    @property
    def answer_ends(self) -> frozenset[int]:
        """Tokens that end answers: those of texts, those that files name, and what the template writes behind one."""
        own = self.talk.template.turn_end(self.tokenizer) if self.talk.template else None
        return self.ends | frozenset(self.talk.ends) | (frozenset() if own is None else {own})


class Reply:
    """An answer: an iterator of its pieces as they come; `text` waits for all of them."""

    def __init__(
        self, talker: Talker, prompt: Sequence[int], asked: Asked, stops: Sequence[str], continues: bool = False
    ) -> None:
        """One that `continues` the text of its prompt begins as a text in the middle does."""
        self._heard = Listener(asked.tokens, tuple(asked.ends), stops)
        self._pieces = talker.pieces(self, prompt, asked, prompt if continues else ())

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    @property
    def text(self) -> str:
        """The whole answer."""
        for _ in self._pieces:
            pass
        return self._heard.text

    @property
    def so_far(self) -> str:
        """What has come."""
        return self._heard.text

    @property
    def stopped(self) -> str:
        """Why it is over (generation.py), once it is."""
        return self._heard.stopped(True)

    @property
    def tokens(self) -> int:
        """That were chosen."""
        return len(self._heard.said)

    @property
    def prompt_tokens(self) -> int:
        return self._heard.read.tokens if self._heard.read else 0

    @property
    def reused_tokens(self) -> int:
        """Of the prompt, those that were in the context before."""
        return self._heard.read.reused if self._heard.read else 0

    @property
    def heard(self) -> Listener:
        """All that came."""
        return self._heard

    def close(self) -> None:
        """No more of it."""
        self._pieces.close()  # type: ignore[attr-defined]


@dataclass
class Talker:
    words: Words
    memory: Memory
    _newest: Reply | None = None

    def answer(self, messages: Any, asked: Asked, stops: Sequence[str] = (), schema: Any = None) -> Reply:
        """The next message of a conversation, of a JSON schema if there is one.

        Tokens that end answers are added to those that are asked for.
        """
        grammar = asked.grammar if schema is None else self.words.json_text(schema)
        asked = replace(asked, ends=asked.ends | self.words.answer_ends, grammar=grammar)
        return Reply(self, self.words.prompt(messages), asked, stops)

    def pieces(self, reply: Reply, prompt: Sequence[int], asked: Asked, before: Sequence[int]) -> Iterator[str]:
        """Of a reply, which has the context for itself from its first piece on."""
        self._newest = reply
        events = spoken(self.memory, prompt, asked, PieceStream(self.words.tokenizer, before))
        try:
            for piece in reply.heard.hear(events):
                yield piece
                if self._newest is not reply:
                    what = "another one was begun in the same context"
                    raise CompileError("answer", what, "let one end, or open another context: lm.talker()")
        finally:
            events.close()  # type: ignore[attr-defined]
