"""Text as the numbers that a language model reads, by the byte-pair merges of a `tokenizer.json`.

For tokenizers with merges over the whole text, spaces written as U+2581, and bytes for characters without a number.
"""

from __future__ import annotations

import json
from pathlib import Path

SPACE = "\u2581"


class Tokenizer:
    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text(encoding="utf-8"))
        model = found["model"]
        if model["type"] != "BPE" or found["pre_tokenizer"] is not None:
            raise ValueError(f"{path}: a {model['type']} tokenizer that splits texts into words is not supported")
        self.numbers: dict[str, int] = model["vocab"]
        pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.first = self.numbers["<s>"]

    def encode(self, text: str) -> list[int]:
        """With the number of a beginning in front."""
        spaced = (SPACE + text).replace(" ", SPACE)
        pieces = [piece for letter in spaced for piece in self._letter(letter)]
        return [self.first, *(self.numbers[piece] for piece in self._merged(pieces))]

    def _letter(self, letter: str) -> list[str]:
        return [letter] if letter in self.numbers else [f"<0x{byte:02X}>" for byte in letter.encode()]

    def _merged(self, pieces: list[str]) -> list[str]:
        """The pair that was learned first is merged first, of several the leftmost."""
        never = len(self.ranks)
        ranks = [self._rank(pieces, at) for at in range(len(pieces) - 1)]
        while ranks and (best := min(ranks)) < never:
            at = ranks.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            first, end = max(at - 1, 0), at + 2
            ranks[first:end] = [self._rank(pieces, near) for near in range(first, min(at + 1, len(pieces) - 1))]
        return pieces

    def _rank(self, pieces: list[str], at: int) -> int:
        return self.ranks.get((pieces[at], pieces[at + 1]), len(self.ranks))
