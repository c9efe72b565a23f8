"""Words for tokenizers that have none: where no token crosses the start of a word, each can be merged alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tilewright.language.text.character_classes import of_text
from tilewright.language.text.patterns import MANY, Alternative, Item, Pattern
from tilewright.language.text.tokenizer import Split, Tokenizer

MARK = "\u2581"
"""What stands for a space in the vocabulary."""


def bounded(tokenizer: Tokenizer, vocabulary: Iterable[str], mark: str = MARK) -> Tokenizer:
    """The same tokens with less memory and time: the text is cut before every space that follows something else."""
    if tokenizer.words.splits or mark not in tokenizer.characters or not _cut_is_safe(vocabulary, mark):
        return tokenizer
    space, other = of_text(mark), ~of_text(mark)
    alternatives = (
        Alternative((Item(space, 0, MANY), Item(other, 1, MANY))),
        Alternative((Item(space, 1, MANY),)),
    )
    return replace(tokenizer, words=replace(tokenizer.words, splits=(Split(Pattern(alternatives)),)))


def _cut_is_safe(vocabulary: Iterable[str], mark: str) -> bool:
    inner = re.compile(f"[^{re.escape(mark)}]{re.escape(mark)}")
    return not any(inner.search(text) for text in vocabulary)
