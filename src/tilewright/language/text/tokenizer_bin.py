"""Tokenizers in llama2.c's `tokenizer.bin`: tokens with scores; the pair that makes the best one is merged."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from tilewright.errors import CompileError
from tilewright.language.text.decoders import BYTE
from tilewright.language.text.tokenizer import Normaliser, Tokenizer
from tilewright.language.text.word_bounds import bounded

Text = TypeVar("Text", bytes, str)

BEGIN, END, FIRST_BYTE = 1, 2, 3
"""Tokens that the format fixes: the ones before and behind a text, which stand for nothing, and that of byte 0."""

HEADER, ENTRY = struct.Struct("<i"), struct.Struct("<fi")


def read(data: bytes, where: str) -> Tokenizer:
    """A tokenizer of the file's bytes."""
    entries = list(_entries(data, where))
    texts = [text for _, text in entries]
    if len(texts) < FIRST_BYTE + 256:
        raise CompileError(
            where, f"has {len(texts)} tokens, too few for the 256 bytes", "name llama2.c's tokenizer.bin"
        )
    vocabulary = {text: token for token, text in reversed(list(enumerate(texts)))}
    names = [text.decode("utf-8", "surrogateescape") for text in texts]
    tokenizer = Tokenizer(
        pieces=tuple(b"" if token in (BEGIN, END) else _piece(text) for token, text in enumerate(texts)),
        characters={name: token for token, name in reversed(list(enumerate(names))) if len(name) == 1},
        bytes_=tuple(range(FIRST_BYTE, FIRST_BYTE + 256)),
        merges=merges_by_score(vocabulary, [score for score, _ in entries]),
        normaliser=Normaliser(prefix=" "),
        prefix=(BEGIN,),
        dropped_spaces=1,
        byte_runs=frozenset(range(FIRST_BYTE, FIRST_BYTE + 256)),
    )
    return bounded(tokenizer, names, " ")


def _entries(data: bytes, where: str) -> Iterator[tuple[float, bytes]]:
    at = HEADER.size
    while at < len(data):
        score, length = ENTRY.unpack_from(data, at) if at + ENTRY.size <= len(data) else (0.0, -1)
        at += ENTRY.size + max(length, 0)
        if length < 0 or at > len(data):
            raise CompileError(where, f"is truncated or damaged at byte {at} of {len(data)}", "copy it again")
        yield score, data[at - length : at]


def _piece(text: bytes) -> bytes:
    byte = BYTE.fullmatch(text.decode("latin-1"))
    return bytes([int(byte[1], 16)]) if byte else text


def merges_by_score(vocabulary: Mapping[Text, int], scores: Sequence[float]) -> dict[tuple[int, int], tuple[int, int]]:
    """Every way to make a token of two others; tokens of the same score have the same rank."""
    ranks = {score: rank for rank, score in enumerate(sorted(set(scores), reverse=True))}
    found = {}
    for text, token in vocabulary.items():
        for cut in range(1, len(text)):
            left, right = vocabulary.get(text[:cut]), vocabulary.get(text[cut:])
            if left is not None and right is not None:
                found[left, right] = (ranks[scores[token]], token)
    return found
