"""What a context has read already: a prompt that begins in the same way is read from where it differs."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence

from tilewright.errors import CompileError
from tilewright.language.token_session import TokenSession

SLICE = 512
"""Tokens that are read at once, where nothing depends on that: in between it can be interrupted."""
READ_AGAIN = "read the text again instead"
MAGIC = b"tilewright memory 1\n"
COUNT = struct.Struct("<q")


class Memory:
    """A context, and the tokens in it.

    With `chunk`, what a prompt gives does not depend on what was read before it, to the bit: prompts are read in chunks
    that begin at multiples of it, and only whole chunks of earlier prompts are taken over. Without, all is that is the
    same: an answer that was computed token by token differs by rounding from one that is read as a part of a prompt.
    """

    def __init__(self, session: TokenSession, chunk: int = 0) -> None:
        self.session, self.chunk = session, chunk
        self.tokens: list[int] = []
        self.in_chunks = 0
        """Of the tokens, those in whole chunks of a prompt."""

    def prompt(self, tokens: Sequence[int]) -> Iterator[int]:
        """Reads a prompt, and gives how many of its tokens are there by now: first those that were there before."""
        self._check(tokens)
        if self.session.length != len(self.tokens):
            self.forget()  # A read was interrupted.
        known = self.known(tokens)
        self.session.keep(known)
        del self.tokens[known:]
        self.in_chunks = min(self.in_chunks, known)
        yield known
        while len(self.tokens) < len(tokens):
            self._read(tokens[len(self.tokens) : self._end(len(self.tokens))])
            if self.chunk:
                self.in_chunks = len(self.tokens) // self.chunk * self.chunk
            yield len(self.tokens)

    def token(self, token: int) -> None:
        """One that was chosen."""
        self._read([token])

    def forget(self) -> None:
        self.session.reset()
        self.tokens, self.in_chunks = [], 0

    def save(self) -> bytes:
        listed = json.dumps(self.tokens).encode()
        return MAGIC + COUNT.pack(len(listed)) + listed + self.session.save()

    def restore(self, state: bytes) -> None:
        """CompileError where the bytes are not such a state of this model; then nothing changes."""
        tokens, rest = _parted(state)
        self.session.restore(rest)
        if self.session.length != len(tokens):
            self.forget()
            raise CompileError("saved state", "contradicts itself about its tokens", READ_AGAIN)
        # How they were read is not for another process to believe.
        self.tokens, self.in_chunks = tokens, 0

    def _read(self, tokens: Sequence[int]) -> None:
        self.session.read(tokens)
        self.tokens += tokens

    def _end(self, at: int) -> int:
        return at + SLICE if not self.chunk else (at // self.chunk + 1) * self.chunk

    def known(self, tokens: Sequence[int]) -> int:
        """How many tokens of a prompt need not be read; its last one always is, which gives the scores of the next."""
        pairs = enumerate(zip(self.tokens, tokens, strict=False))
        same = next((place for place, (one, other) in pairs if one != other), min(len(self.tokens), len(tokens)))
        same = min(same, len(tokens) - 1)
        return min(same, self.in_chunks) // self.chunk * self.chunk if self.chunk else same

    def _check(self, tokens: Sequence[int]) -> None:
        context, words = self.session.context, self.session.words
        if not tokens:
            raise CompileError("prompt", "is empty, and this model has no BOS token to start with", "give a word")
        if not 0 <= min(tokens) <= max(tokens) < words:
            what = f"has token {max(tokens)}, but the model's vocabulary has {words} tokens"
            raise CompileError("prompt", what, "is it this model's tokenizer?")
        if len(tokens) >= context:
            what = f"has {len(tokens)} tokens; a context of {context} holds {context - 1} and one new token"
            raise CompileError("prompt", what, "give a shorter one, or choose a longer context")


def _parted(state: bytes) -> tuple[list[int], bytes]:
    """Tokens, and the state of the session."""
    start = len(MAGIC) + COUNT.size
    try:
        if not state.startswith(MAGIC):
            raise ValueError
        (size,) = COUNT.unpack_from(state, len(MAGIC))
        tokens = json.loads(state[start : start + max(size, 0)])
        if not all(isinstance(one, int) for one in tokens):
            raise ValueError
    except (ValueError, TypeError, RecursionError, struct.error):
        raise CompileError("saved state", "is no saved state, or a damaged one", READ_AGAIN) from None
    return list(tokens), state[start + size :]
