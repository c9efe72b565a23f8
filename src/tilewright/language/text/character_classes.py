"""Sets of characters as ranges: Unicode's categories, whitespace, and characters that differ in case only.

Python's own tables are as old as Python is; what Unicode 15 and 16 have added stands here, so that a tokenizer does not
depend on who compiles it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

from tilewright.records import dataclass

LAST = 0x10FFFF
Range = tuple[int, int]

NEWER: dict[str, tuple[Range, ...]] = {
    "Lu": (
        (0x1C89, 0x1C89), (0xA7CB, 0xA7CC), (0xA7DA, 0xA7DA), (0xA7DC, 0xA7DC), (0x10D50, 0x10D65),
    ),
    "Ll": (
        (0x1C8A, 0x1C8A), (0xA7CD, 0xA7CD), (0xA7DB, 0xA7DB), (0x10D70, 0x10D85), (0x1DF25, 0x1DF2A),
    ),
    "Lm": (
        (0x10D4E, 0x10D4E), (0x10D6F, 0x10D6F), (0x16D40, 0x16D42), (0x16D6B, 0x16D6C), (0x1E030, 0x1E06D),
        (0x1E4EB, 0x1E4EB),
    ),
    "Lo": (
        (0x105C0, 0x105F3), (0x10D4A, 0x10D4D), (0x10D4F, 0x10D4F), (0x10EC2, 0x10EC4), (0x1123F, 0x11240),
        (0x11380, 0x11389), (0x1138B, 0x1138B), (0x1138E, 0x1138E), (0x11390, 0x113B5), (0x113B7, 0x113B7),
        (0x113D1, 0x113D1), (0x113D3, 0x113D3), (0x11BC0, 0x11BE0), (0x11F02, 0x11F02), (0x11F04, 0x11F10),
        (0x11F12, 0x11F33), (0x1342F, 0x1342F), (0x13441, 0x13446), (0x13460, 0x143FA), (0x16100, 0x1611D),
        (0x16D43, 0x16D6A), (0x18CFF, 0x18CFF), (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1E4D0, 0x1E4EA),
        (0x1E5D0, 0x1E5ED), (0x1E5F0, 0x1E5F0), (0x2B739, 0x2B739), (0x2EBF0, 0x2EE5D), (0x31350, 0x323AF),
    ),
    "Mn": (
        (0x897, 0x897), (0xECE, 0xECE), (0x10D69, 0x10D6D), (0x10EFC, 0x10EFF), (0x11241, 0x11241),
        (0x113BB, 0x113C0), (0x113CE, 0x113CE), (0x113D0, 0x113D0), (0x113D2, 0x113D2), (0x113E1, 0x113E2),
        (0x11F00, 0x11F01), (0x11F36, 0x11F3A), (0x11F40, 0x11F40), (0x11F42, 0x11F42), (0x11F5A, 0x11F5A),
        (0x13440, 0x13440), (0x13447, 0x13455), (0x1611E, 0x16129), (0x1612D, 0x1612F), (0x1E08F, 0x1E08F),
        (0x1E4EC, 0x1E4EF), (0x1E5EE, 0x1E5EF),
    ),
    "Mc": (
        (0xCF3, 0xCF3), (0x113B8, 0x113BA), (0x113C2, 0x113C2), (0x113C5, 0x113C5), (0x113C7, 0x113CA),
        (0x113CC, 0x113CD), (0x113CF, 0x113CF), (0x11F03, 0x11F03), (0x11F34, 0x11F35),
        (0x11F3E, 0x11F3F), (0x11F41, 0x11F41), (0x1612A, 0x1612C),
    ),
    "Nd": (
        (0x10D40, 0x10D49), (0x116D0, 0x116E3), (0x11BF0, 0x11BF9), (0x11F50, 0x11F59), (0x16130, 0x16139),
        (0x16D70, 0x16D79), (0x1CCF0, 0x1CCF9), (0x1E4F0, 0x1E4F9), (0x1E5F1, 0x1E5FA),
    ),
    "No": (
        (0x1D2C0, 0x1D2D3),
    ),
    "Pd": (
        (0x10D6E, 0x10D6E),
    ),
    "Po": (
        (0x1B4E, 0x1B4F), (0x1B7F, 0x1B7F), (0x113D4, 0x113D5), (0x113D7, 0x113D8), (0x11B00, 0x11B09),
        (0x11BE1, 0x11BE1), (0x11F43, 0x11F4F), (0x16D6D, 0x16D6F), (0x1E5FF, 0x1E5FF),
    ),
    "Sm": (
        (0x10D8E, 0x10D8F),
    ),
    "So": (
        (0x2427, 0x2429), (0x2FFC, 0x2FFF), (0x31E4, 0x31E5), (0x31EF, 0x31EF), (0x1CC00, 0x1CCEF),
        (0x1CD00, 0x1CEB3), (0x1F6DC, 0x1F6DC), (0x1F774, 0x1F776), (0x1F77B, 0x1F77F), (0x1F7D9, 0x1F7D9),
        (0x1F8B2, 0x1F8BB), (0x1F8C0, 0x1F8C1), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA89), (0x1FA8F, 0x1FA8F),
        (0x1FAAD, 0x1FAAF), (0x1FABB, 0x1FABF), (0x1FAC6, 0x1FAC6), (0x1FACE, 0x1FACF), (0x1FADA, 0x1FADC),
        (0x1FADF, 0x1FADF), (0x1FAE8, 0x1FAE9), (0x1FAF7, 0x1FAF8), (0x1FBCB, 0x1FBEF),
    ),
    "Cf": (
        (0x13439, 0x1343F),
    ),
}  # fmt: skip
"""What Unicode 15.0, 15.1 and 16.0 have added to 14.0, by category."""

NOT_SPACE = frozenset(range(0x1C, 0x20))
"""Separators of records: Python counts them as whitespace, Unicode does not."""


@dataclass(frozen=True)
class Characters:
    """A set of characters: where it begins, ends, begins again, and so on."""

    bounds: tuple[int, ...]

    def __contains__(self, character: str) -> bool:
        return self.has(ord(character))

    def has(self, code: int) -> bool:
        return bisect_right(self.bounds, code) % 2 == 1

    def __or__(self, other: Characters) -> Characters:
        return of_ranges([*self.ranges(), *other.ranges()])

    def __invert__(self) -> Characters:
        # Where the set begins or ends at an end of all characters, its complement does not.
        return Characters(tuple(sorted({0, LAST + 1}.symmetric_difference(self.bounds))))

    def ranges(self) -> Iterator[Range]:
        return ((first, end - 1) for first, end in zip(self.bounds[::2], self.bounds[1::2], strict=True))


def of_ranges(ranges: Iterable[Range]) -> Characters:
    """The union of ranges, which may touch and overlap."""
    bounds: list[int] = []
    for first, last in sorted(ranges):
        if bounds and first <= bounds[-1]:
            bounds[-1] = max(bounds[-1], last + 1)
        else:
            bounds += [first, last + 1]
    return Characters(tuple(bounds))


def of_text(text: str) -> Characters:
    return of_ranges((ord(c), ord(c)) for c in text)


@cache
def category(name: str) -> Characters:
    """Characters of one of Unicode's general categories, by its first letter or by both; empty if there is none."""
    newer = (one for kind, ranges in NEWER.items() if kind.startswith(name) for one in ranges)
    return of_ranges([*((first, last) for kind, first, last in _runs() if kind.startswith(name)), *newer])


@cache
def _runs() -> tuple[tuple[str, int, int], ...]:
    """Characters in a row that have the same category."""
    found: list[tuple[str, int, int]] = []
    for kind, run in groupby(range(LAST + 1), lambda code: unicodedata.category(chr(code))):
        codes = list(run)
        found.append((kind, codes[0], codes[-1]))
    return tuple(found)


@cache
def whitespace() -> Characters:
    codes = (code for code in range(0x10000) if chr(code).isspace() and code not in NOT_SPACE)
    return of_ranges((code, code) for code in codes)


def same_in_any_case(character: str) -> Characters:
    """All characters that are equal to one where case does not count."""
    folded = character.casefold()
    return of_text("".join((folded, *_by_folded_case().get(folded, ())))) if len(folded) == 1 else of_text(character)


@cache
def _by_folded_case() -> dict[str, list[str]]:
    """Characters that are not their own lower case, by what is."""
    found: dict[str, list[str]] = {}
    for character in map(chr, range(LAST + 1)):
        folded = character.casefold()
        if folded != character:
            found.setdefault(folded, []).append(character)
    return found
