"""A model on this machine, in this process, token by token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

from tilewright.language.library import BuiltLibrary, LibraryTokens, LoadedModel
from tilewright.language.summary import Summary
from tilewright.language.talking import Event, Read, Request, Said
from tilewright.language.text.piece_stream import PieceStream
from tilewright.language.text.tokenizer import Tokenizer


class HostSession:
    """The library and its weights, loaded once for all contexts."""

    counts_cycles: ClassVar[bool] = False

    owns: object = None
    """What ends with it: files that are not kept."""

    def __init__(self, built: BuiltLibrary, summary: Summary, tokenizer: Tokenizer) -> None:
        self.loaded, self.summary, self._tokenizer = LoadedModel(built, summary), summary, tokenizer

    def tokens(self) -> LibraryTokens:
        """A new context."""
        return self.loaded.tokens()

    def talk(self, request: Request) -> Iterator[Event]:
        context, prompt = self.tokens(), self._tokenizer.encode(request.text)
        start = time.perf_counter()
        context.sample(request.sampling)
        context.read(prompt)
        yield Read(len(prompt), time.perf_counter() - start)
        stream = PieceStream(self._tokenizer, prompt)
        unread: list[int] = []
        for _ in range(min(request.tokens, context.context - len(prompt))):
            start = time.perf_counter()
            context.read(unread)
            unread = [context.choose()]
            yield Said(unread[0], stream.piece(unread[0]), time.perf_counter() - start)
            if request.stops and unread[0] in self.summary.ends:
                return
