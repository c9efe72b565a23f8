"""What runs tokens: one context of a compiled model, whoever computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tilewright.ir.types import Array
from tilewright.language.sampler import Sampling


class TokenSession(Protocol):
    """One context. No two threads may be inside the same one; different ones may run at the same time."""

    @property
    def context(self) -> int:
        """Tokens that it holds at most."""

    @property
    def words(self) -> int:
        """Tokens of the vocabulary."""

    @property
    def length(self) -> int:
        """Tokens that were read."""

    def reset(self) -> None:
        """Forget everything."""

    def keep(self, length: int) -> None:
        """Forget all but the first tokens; there are no scores until the next one is read."""

    def read(self, tokens: Sequence[int]) -> None:
        """Append tokens, at least one. CompileError where the context does not hold them; then nothing is read."""

    def scores(self) -> Array:
        """Logits of the next token, float32 [words]; valid until the next read."""

    def sample(self, sampling: Sampling, seen: Sequence[int] = ()) -> None:
        """How tokens are chosen from now on. Those in `seen`, and what is read later, the repetition penalty counts."""

    def choose(self) -> int:
        """The next token, which is not read by that."""

    def save(self) -> bytes:
        """All that was read, as bytes that `restore` takes."""

    def restore(self, state: bytes) -> None:
        """CompileError where the bytes are not those of this model, or not all of them."""

    def close(self) -> None: ...
