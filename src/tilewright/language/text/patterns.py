"""The regular expressions that tokenizers split text with, read into plain data that Python and C match alike.

They are alternatives of a few characters in a row, each from a set and each repeated some number of times:
` ?\\p{L}+|\\s+(?!\\S)|\\s+`. The first alternative that matches wins; within it, repetitions are greedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from tilewright.errors import Refusal
from tilewright.language.text.character_classes import (
    Characters,
    category,
    of_ranges,
    of_text,
    same_in_any_case,
    whitespace,
)
from tilewright.records import dataclass

MANY = 255
"""As often as possible."""

SUPPORTED = (
    "alternatives of characters, sets [...], \\p{..}, \\s, \\S, \\d, \\r, \\n, \\t, each with ?, *, +, {n} or {m,n}; "
    "groups (?i:...) and (?:...) that are a whole alternative, or at its end with ?; (?!x) at the end of one"
)

ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}
QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")
SIGNS = {"?": (0, 1), "*": (0, MANY), "+": (1, MANY)}


@dataclass(frozen=True)
class Item:
    """Characters of one set, in a row."""

    characters: Characters
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class Alternative:
    items: tuple[Item, ...]
    barred: Characters | None = None
    """What must not follow."""
    tails: tuple[Alternative, ...] = ()
    """The first of these that follows belongs to the match; it may be missing."""

    def expression(self) -> str:
        """In the words of Python's regular expressions, which know no categories."""
        items = "".join(f"{_set(one.characters)}{_times(one)}" for one in self.items)
        barred = "" if self.barred is None else f"(?!{_set(self.barred)})"
        tails = "|".join(one.expression() for one in self.tails)
        return f"{items}{barred}(?:{tails})?" if tails else f"{items}{barred}"


def _set(characters: Characters) -> str:
    ranges = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in characters.ranges())
    return f"[{ranges}]" if ranges else "(?!)"


def _times(item: Item) -> str:
    return f"{{{item.least},{'' if item.most == MANY else item.most}}}"


@dataclass(frozen=True)
class Pattern:
    alternatives: tuple[Alternative, ...]

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile("|".join(one.expression() for one in self.alternatives))

    def end(self, text: str, at: int) -> int:
        """Where a match that begins at a place ends, or -1."""
        found = self._compiled.match(text, at)
        return found.end() if found else -1

    def start(self, text: str, at: int) -> int:
        """Where the first match from a place on begins; the text's end where there is none."""
        found = self._compiled.search(text, at)
        return found.start() if found else len(text)


def literal(text: str) -> Pattern:
    return Pattern((Alternative(tuple(Item(of_text(c)) for c in text)),))


def parse(expression: str) -> Pattern:
    """An expression as data; a Refusal names what is not supported in it."""
    alternatives = [one for text in _alternatives(expression) for one in _groups(text, ignore_case=False)]
    if any(sum(item.least for item in one.items) == 0 for one in alternatives):
        raise Refusal(f"the pattern {expression!r} matches nothing at all", "every alternative needs a character")
    return Pattern(tuple(alternatives))


def _alternatives(text: str) -> list[str]:
    """The parts between bars that stand outside of groups and sets."""
    parts, depth, in_set, at = [""], 0, False, 0
    while at < len(text):
        here = text[at : at + 2] if text[at] == "\\" else text[at]
        depth += 0 if in_set else (here == "(") - (here == ")")
        in_set = (in_set or here == "[") and here != "]"
        if here == "|" and depth == 0 and not in_set:
            parts.append("")
        else:
            parts[-1] += here
        at += len(here)
    return parts


def _groups(text: str, ignore_case: bool) -> Iterator[Alternative]:
    """An alternative, or those of a group that stands for a whole one."""
    for opening, ignores in (("(?i:", True), ("(?:", ignore_case)):
        if text.startswith(opening) and _closing(text) == len(text) - 1:
            for part in _alternatives(text[len(opening) : -1]):
                yield from _groups(part, ignores)
            return
    yield _Reader(text, ignore_case).alternative()


def _closing(text: str) -> int:
    """Where the bracket that opens a text is closed."""
    depth, at = 0, 0
    while at < len(text):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
        at += 2 if text[at] == "\\" else 1
    return -1


class _Reader:
    """One alternative, character by character."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        self.text, self.at, self.ignore_case = text, 0, ignore_case

    def alternative(self) -> Alternative:
        items: list[Item] = []
        while self.at < len(self.text):
            if self._skip("(?!"):
                barred = self._set()
                self._need(")")
                if self.at < len(self.text):
                    raise self._refusal()
                return Alternative(tuple(items), barred)
            if self.text.startswith("(?", self.at):
                return Alternative(tuple(items), tails=self._tails())
            items.append(self._repeated(Item(self._set())))
        return Alternative(tuple(items))

    def _tails(self) -> tuple[Alternative, ...]:
        """A group at the end that may be missing."""
        group = self.text[self.at :].removesuffix("?")
        is_known = group.startswith(("(?i:", "(?:")) and _closing(group) == len(group) - 1
        if not is_known or not self.text.endswith(")?"):
            raise self._refusal()
        found = tuple(_groups(group, self.ignore_case))
        if any(one.tails or one.barred or not sum(item.least for item in one.items) for one in found):
            raise self._refusal()
        return found

    def _repeated(self, item: Item) -> Item:
        least, most = self._quantifier()
        if self.text[self.at : self.at + 1] in ("+", "?", "*", "{"):
            raise self._refusal()
        if not least <= most <= MANY or most == 0 or least == MANY:
            raise self._refusal()
        return replace(item, least=least, most=most)

    def _quantifier(self) -> tuple[int, int]:
        sign = self.text[self.at : self.at + 1]
        if sign in SIGNS:
            self.at += 1
            return SIGNS[sign]
        counted = QUANTIFIER.match(self.text, self.at)
        if counted is None:
            return 1, 1
        self.at = counted.end()
        least = int(counted[1])
        most = least if counted[2] is None else int(counted[3] or MANY)
        return least, most

    def _set(self) -> Characters:
        if self._skip("[^"):
            return ~self._listed()
        if self._skip("["):
            return self._listed()
        if self.text[self.at : self.at + 1] in tuple(".^$()*+?{|"):
            raise self._refusal()
        return self._one()

    def _listed(self) -> Characters:
        """What stands between brackets."""
        found = of_text("")
        while not self._skip("]"):
            if self.text[self.at : self.at + 2] in ("", "[", "&&") or self.text[self.at] == "[":
                raise self._refusal()
            found = found | self._range()
        return found

    def _range(self) -> Characters:
        first = self._one()
        if self.text[self.at : self.at + 1] != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return first
        self.at += 1
        last = self._one()
        if any(one.bounds[1:] != (one.bounds[0] + 1,) for one in (first, last)):
            raise self._refusal()
        return of_ranges([(first.bounds[0], last.bounds[0])])

    def _one(self) -> Characters:
        """A character, or what a backslash stands for."""
        if self.at >= len(self.text):
            raise self._refusal()
        character = self.text[self.at]
        self.at += 1
        if character == "\\":
            return self._escape()
        return same_in_any_case(character) if self.ignore_case else of_text(character)

    def _escape(self) -> Characters:
        kind = self.text[self.at : self.at + 1]
        self.at += 1
        if kind in ("p", "P"):
            return self._category(kind == "P")
        if kind in ESCAPES:
            return of_text(ESCAPES[kind])
        if kind and kind in "sSdD":
            found = whitespace() if kind in "sS" else category("Nd")
            return ~found if kind.isupper() else found
        if kind == "" or kind.isalnum():
            raise self._refusal()
        return of_text(kind)

    def _category(self, is_complement: bool) -> Characters:
        named = re.compile(r"\{(\^?)([A-Z][a-z]?)\}|([A-Z])").match(self.text, self.at)
        found = category(named[2] or named[3]) if named else of_text("")
        if named is None or not found.bounds:
            raise self._refusal()
        self.at = named.end()
        return ~found if is_complement != bool(named[1]) else found

    def _skip(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _need(self, text: str) -> None:
        if not self._skip(text):
            raise self._refusal()

    def _refusal(self) -> Refusal:
        return Refusal(
            f"the pattern {self.text!r} has at its character {min(self.at, len(self.text)) + 1} "
            "something that is not supported",
            f"supported are {SUPPORTED}",
        )


def sets(patterns: Iterable[Pattern]) -> list[Characters]:
    """All different sets of characters of patterns."""
    found: dict[Characters, None] = {}
    for pattern in patterns:
        for one in (each for main in pattern.alternatives for each in (main, *main.tails)):
            found |= dict.fromkeys(item.characters for item in one.items)
            found |= {} if one.barred is None else {one.barred: None}
    return list(found)
