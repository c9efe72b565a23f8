"""Texts at which an answer ends; what may be the beginning of one is held back."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import CompileError
from tilewright.language.arguments import of_kind, wrong

MOST, LONGEST = 16, 1000
"""Stop words, and characters of one."""


def stop_words(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """As a user gives them: one, several or none."""
    if given is None:
        return ()
    if isinstance(given, str):
        return stop_words([given])
    if not isinstance(given, list | tuple):
        raise wrong(given, "stop words", "a text, or several")
    for one in given:
        of_kind(one, "stop word", str, "a text")
        if not 0 < len(one) <= LONGEST:
            raise CompileError("stop word", f"has {len(one)} characters", f"give 1 to {LONGEST}")
    if len(given) > MOST:
        raise CompileError("stop words", f"are {len(given)}", f"give at most {MOST}")
    return tuple(given)


class StopWords:
    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.held, self.found = tuple(words), "", ""
        """`found` is the word that ended the text."""

    def passed(self, text: str) -> str:
        """What is certain to be no part of a stop word; nothing behind one."""
        if self.found:
            return ""
        self.held += text
        places = [(self.held.find(word), -len(word), word) for word in self.words if word in self.held]
        if places:
            at, _, self.found = min(places)
            return self._given(at)
        return self._given(len(self.held) - self._possible())

    def rest(self) -> str:
        """What was held back, where the text is over."""
        return "" if self.found else self._given(len(self.held))

    def _given(self, end: int) -> str:
        text, self.held = self.held[:end], self.held[end:]
        return text

    def _possible(self) -> int:
        """Characters at the end that may be the beginning of a stop word."""
        longest = max((len(word) for word in self.words), default=0)
        sizes = range(min(len(self.held), longest - 1), 0, -1)
        return next((size for size in sizes if any(w.startswith(self.held[-size:]) for w in self.words)), 0)
