"""Unicode's canonical compositions as tables, from Python's own."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir.types import Array
from tilewright.language.text.character_classes import LAST
from tilewright.records import dataclass

DEEPEST = 7
"""Parts of a character at most, which the C has room for."""


@dataclass(frozen=True)
class Composition:
    codes: Array
    """Characters that consist of others, in order; those of Hangul are computed."""
    firsts: Array
    seconds: Array
    """Their two parts; 0 where there is one."""
    composed: Array
    """Which of them are put together again, by their parts."""
    classes: Array
    """Character << 8 | combining class, from this character on."""


@cache
def composition() -> Composition:
    parts = {code: found for code in range(LAST + 1) if (found := _parts(code))}
    if any(_depth(code, parts) > DEEPEST or second in parts for code, (_, second) in parts.items()):
        raise InternalError("composition", "Unicode has characters of more parts than there is room for")
    codes = list(parts)
    kept = [i for i, code in enumerate(codes) if _is_composed(code, parts[code])]
    kept.sort(key=lambda i: parts[codes[i]])
    return Composition(
        np.array(codes, np.uint32),
        np.array([first for first, _ in parts.values()], np.uint32),
        np.array([second for _, second in parts.values()], np.uint32),
        np.array(kept, np.uint16),
        np.array(_classes(), np.uint32),
    )


def _parts(code: int) -> tuple[int, int] | None:
    words = unicodedata.decomposition(chr(code)).split()
    if not words or words[0].startswith("<"):
        return None
    first, second = (*(int(word, 16) for word in words), 0)[:2]
    return first, second


def _depth(code: int, parts: dict[int, tuple[int, int]]) -> int:
    depth = 1
    while code in parts:
        code, depth = parts[code][0], depth + 1
    return depth


def _is_composed(code: int, parts: tuple[int, int]) -> bool:
    """Some are excluded, and single characters are never undone."""
    return parts[1] != 0 and unicodedata.normalize("NFC", "".join(map(chr, parts))) == chr(code)


def _classes() -> list[int]:
    found, before = [], -1
    for code in range(LAST + 1):
        one = unicodedata.combining(chr(code))
        if one != before:
            found.append(code << 8 | one)
        before = one
    return found
