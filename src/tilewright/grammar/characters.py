"""Sets of characters as terms: in UTF-8, and as JSON writes them inside of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.grammar.terms import Terms

Ranges = tuple[tuple[int, int], ...]
"""Code points, from the first to the last of each range; in order, apart from each other."""

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
ALL: Ranges = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))
SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
"""Escapes of characters that strings do not hold as they are."""
UNESCAPED: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))
HEX = b"0123456789abcdefABCDEF"


def union(*parts: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for first, last in sorted(one for part in parts for one in part):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    found = list(ranges)
    for low, high in others:
        parts = [(one for one in ((a, min(b, low - 1)), (max(a, high + 1), b)) if one[0] <= one[1]) for a, b in found]
        found = [one for part in parts for one in part]
    return tuple(found)


def both(ranges: Ranges, others: Ranges) -> Ranges:
    return without(ranges, without(ALL, others))


def of(characters: Iterable[str]) -> Ranges:
    return union(*(((ord(one), ord(one)),) for one in characters))


def utf8(terms: Terms, ranges: Ranges) -> int:
    """One character of a set, as bytes."""
    found = [
        terms.sequence(*(terms.byte_in(range(low, high + 1)) for low, high in steps))
        for first, last in ranges
        for steps in _byte_ranges(first, last)
    ]
    return terms.either(*found) if found else terms.byte_in(())


def _byte_ranges(first: int, last: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """A range of code points as ranges of each byte."""
    for edge in (0x7F, 0x7FF, 0xFFFF):
        if first <= edge < last:
            yield from _byte_ranges(first, edge)
            yield from _byte_ranges(edge + 1, last)
            return
    size = len(chr(last).encode())
    for bits in (6, 12, 18)[: size - 1]:
        inner = (1 << bits) - 1
        if first & ~inner != last & ~inner:
            if first & inner:
                yield from _byte_ranges(first, first | inner)
                yield from _byte_ranges((first | inner) + 1, last)
                return
            if last & inner != inner:
                yield from _byte_ranges(first, (last & ~inner) - 1)
                yield from _byte_ranges(last & ~inner, last)
                return
    yield tuple(zip(chr(first).encode(), chr(last).encode(), strict=True))


def in_string(terms: Terms, ranges: Ranges) -> int:
    """One character of a set inside of a JSON string: as it is where it may be, else escaped."""
    plain, escaped = both(ranges, UNESCAPED), without(ranges, UNESCAPED)
    codes = [code for first, last in both(escaped, ALL) for code in range(first, last + 1)]
    texts = [terms.text(f"\\{SHORT[code]}" if code in SHORT else f"\\u{code:04x}") for code in codes]
    return terms.either(*([utf8(terms, plain)] if plain else []), *texts) if plain or texts else terms.byte_in(())


def any_in_string(terms: Terms) -> int:
    """Any character inside of a JSON string, in all the ways that JSON has for it; surrogates are none."""
    digit = terms.byte_in(HEX)
    low = terms.sequence(terms.byte_in(b"dD"), terms.byte_in(b"01234567"), digit, digit)
    other = terms.sequence(terms.byte_in(set(HEX) - set(b"dD")), digit, digit, digit)
    escape = terms.either(terms.byte_in(b'"\\/bfnrt'), terms.sequence(terms.byte_in(b"u"), terms.either(low, other)))
    return terms.either(utf8(terms, UNESCAPED), terms.sequence(terms.byte_in(b"\\"), escape))
