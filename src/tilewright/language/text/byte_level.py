"""Bytes as printable characters, in which vocabularies of byte-level tokenizers are written."""

from __future__ import annotations

from functools import cache

PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that stand for themselves; the others are the characters from U+0100 on, in order."""


@cache
def _characters() -> tuple[str, ...]:
    others = [byte for byte in range(256) if byte not in PRINTABLE]
    return tuple(chr(0x100 + others.index(byte)) if byte in others else chr(byte) for byte in range(256))


@cache
def _bytes() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(_characters())}


def character_of(byte: int) -> str:
    return _characters()[byte]


def bytes_of(text: str) -> bytes | None:
    """The bytes that a text of such characters stands for; none where it has others."""
    known = _bytes()
    return bytes(known[c] for c in text) if all(c in known for c in text) else None
