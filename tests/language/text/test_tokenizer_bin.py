"""Tokenizers with scores: the best pair is merged first, as llama2.c does it."""

from __future__ import annotations

import random
import struct
from itertools import pairwise
from pathlib import Path

from tests.support.tokenizer_in_c import InC
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.language.text.tokenizer_file import load_tokenizer

WORDS = [
    " ",
    *"abcdehilnorstuw.,",
    "\u00e9",
    "he",
    " t",
    " the",
    "in",
    "er",
    "the",
    " a",
    "aa",
    "aaa",
    "on",
    "once",
    " once",
    "an",
    "nd",
    "and",
    "e ",
    "ere",
]
TEXTS = [
    "",
    " ",
    "the",
    "once there was",
    "aaaa aaaaa",
    "and then, he ran.",
    "\u00e9t\u00e9 \u4e2d",
    "  two ",
    "there the here",
    "xyz\n",
]


def entries() -> list[tuple[float, bytes]]:
    """Some tokens have the same score: then the leftmost pair goes first."""
    names = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    scores = random.Random(2).choices(range(1, 9), k=len(WORDS))
    return [(0.0, name) for name in names] + [(-float(s), word.encode()) for s, word in zip(scores, WORDS, strict=True)]


def file(folder: Path) -> Path:
    rows = b"".join(struct.pack("<fi", score, len(text)) + text for score, text in entries())
    path = folder / "tokenizer.bin"
    path.write_bytes(struct.pack("<i", max(len(text) for _, text in entries())) + rows)
    return path


def best_pairs(text: str) -> list[int]:
    """The rule in as few words as possible: as long as two neighbours are a token, make the one of the best score."""
    table = entries()
    place = {word: token for token, (_, word) in enumerate(table)}
    tokens: list[int] = []
    for character in f" {text}" if text else "":
        raw = character.encode()
        tokens += [place[raw]] if raw in place else [byte + 3 for byte in raw]
    while True:
        joined = [table[a][1] + table[b][1] for a, b in pairwise(tokens)]
        scores = [(table[place[word]][0], -at) for at, word in enumerate(joined) if word in place]
        if not scores:
            return [1, *tokens]
        at = -max(scores)[1]
        tokens[at : at + 2] = [place[joined[at]]]


def test_tokens_are_those_of_the_rule(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(file(tmp_path))
    c = InC(tokenizer, tmp_path / "c")
    draws = random.Random(1)
    texts = TEXTS + ["".join(draws.choices("the aonc.", k=30)) for _ in range(100)]
    for text in texts:
        assert tokenizer.encode(text) == best_pairs(text)
        assert c.encode(text.encode()) == best_pairs(text)
        assert c.decode(tokenizer.encode(text)).decode() == text


def test_a_folder_may_have_either(tmp_path: Path) -> None:
    assert isinstance(load_tokenizer(file(tmp_path).parent), Tokenizer)
