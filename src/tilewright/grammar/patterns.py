"""Regular expressions of JSON schemas, as terms of what a JSON string holds.

Known are characters, sets, groups, alternatives and repetitions; anchors at the ends. What is not known is named.
"""

from __future__ import annotations

from tilewright.errors import Refusal
from tilewright.grammar.characters import ALL, Ranges, any_in_string, in_string, of, union, without
from tilewright.grammar.terms import Terms

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = union(of(" \t\n\r\f\v\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), ((0x2000, 0x200A),))
LINE_ENDS: Ranges = of("\n\r\u2028\u2029")
CLASSES: dict[str, Ranges] = {
    "d": DIGIT, "D": without(ALL, DIGIT), "w": WORD, "W": without(ALL, WORD), "s": SPACE, "S": without(ALL, SPACE),
}  # fmt: skip
CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
SUPPORTED = (
    "supported are characters, [sets], (groups), |, *, +, ?, {m,n}, \\d \\w \\s \\D \\W \\S, ^ and $ at the ends"
)
MOST_REPEATED = 10_000


def pattern(terms: Terms, text: str) -> int:
    """What stands between the quotes of a string that matches; Refusal for what is not known."""
    return _Parser(terms, text).whole()


class _Parser:
    def __init__(self, terms: Terms, text: str) -> None:
        self.terms, self.text, self.at = terms, text, 0
        self.depth = 0

    def whole(self) -> int:
        """Alternatives, of which each may be anchored; what is not is found anywhere in a string."""
        found = [self._anchored()]
        while self._takes("|"):
            found.append(self._anchored())
        if self.at < len(self.text):
            raise self._refusal("its ) closes nothing")
        return self.terms.either(*found)

    def _anchored(self) -> int:
        around = self.terms.repeat(any_in_string(self.terms))
        before = self.terms.nothing if self._takes("^") else around
        inner = self._sequence()
        return self.terms.sequence(before, inner, self.terms.nothing if self._takes("$") else around)

    def _alternatives(self) -> int:
        found = [self._sequence()]
        while self._takes("|"):
            found.append(self._sequence())
        return self.terms.either(*found)

    def _sequence(self) -> int:
        parts = []
        while self.at < len(self.text) and self.text[self.at] not in "|)" and not self._is_end():
            parts.append(self._repeated())
        return self.terms.sequence(*parts) if parts else self.terms.nothing

    def _is_end(self) -> bool:
        """An anchor behind which an alternative of the whole ends."""
        return self.depth == 0 and self.text[self.at] == "$" and self.text[self.at + 1 : self.at + 2] in ("", "|")

    def _repeated(self) -> int:
        part = self._part()
        while self.at < len(self.text) and (counts := self._counts()) is not None:
            self._takes("?")  # What is tried first does not change what matches.
            part = self.terms.repeat(part, *counts)
        return part

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._takes(sign):
                return counts
        if not self._takes("{"):
            return None
        inner, closed, _ = self.text[self.at :].partition("}")
        low, comma, high = inner.partition(",")
        if not closed or not low.isdecimal() or not (high.isdecimal() or not high):
            raise self._refusal(f"its repetition {{{inner} is no number of times")
        self.at += len(inner) + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise self._refusal(f"its repetition {{{inner}}} is not within 0 to {MOST_REPEATED}")
        return least, most

    def _part(self) -> int:
        sign = self.text[self.at]
        if sign == "(":
            return self._group()
        if sign == "[":
            return in_string(self.terms, self._set())
        if sign in "*+?{^$":
            raise self._refusal(f"{sign} at character {self.at + 1} has no meaning that is supported there")
        self.at += 1
        if sign == ".":
            return in_string(self.terms, without(ALL, LINE_ENDS))
        return in_string(self.terms, self._escape(False) if sign == "\\" else of(sign))

    def _group(self) -> int:
        self.at += 1
        if self.text[self.at : self.at + 1] == "?" and not self._takes("?:"):
            kind = self.text[self.at : self.at + 2]
            raise self._refusal(f"its group ({kind} is not supported")
        self.depth += 1
        inner = self._alternatives()
        self.depth -= 1
        if not self._takes(")"):
            raise self._refusal("a group is not closed")
        return inner

    def _set(self) -> Ranges:
        self.at += 1
        is_opposite, found = self._takes("^"), list[Ranges]()
        while not self._takes("]"):
            found.append(self._member())
        chosen = union(*found)
        return without(ALL, chosen) if is_opposite else chosen

    def _member(self) -> Ranges:
        first = self._set_character()
        behind = self.text[self.at : self.at + 2]
        if len(first) != 1 or first[0][0] != first[0][1] or behind[:1] != "-" or behind[1:] in ("]", ""):
            return first
        self.at += 1
        last = self._set_character()
        if len(last) != 1 or last[0][0] != last[0][1] or last[0][0] < first[0][0]:
            raise self._refusal("a range in a set ends before it begins")
        return without(((first[0][0], last[0][0]),), ((0xD800, 0xDFFF),))

    def _set_character(self) -> Ranges:
        if self.at >= len(self.text):
            raise self._refusal("a set is not closed")
        sign = self.text[self.at]
        self.at += 1
        return self._escape(True) if sign == "\\" else of(sign)

    def _escape(self, in_set: bool) -> Ranges:
        if self.at >= len(self.text):
            raise self._refusal("it ends with a \\")
        sign = self.text[self.at]
        self.at += 1
        if sign in CLASSES:
            return CLASSES[sign]
        if sign in CONTROLS:
            return of(CONTROLS[sign])
        if sign == "b" and in_set:
            return of("\b")
        if sign in "xu":
            return self._code(2 if sign == "x" else 4)
        if sign.isalnum():
            raise self._refusal(f"\\{sign} is not supported")
        return of(sign)

    def _code(self, digits: int) -> Ranges:
        written = self.text[self.at : self.at + digits]
        if len(written) != digits or any(one not in "0123456789abcdefABCDEF" for one in written):
            raise self._refusal(f"\\{'x' if digits == 2 else 'u'}{written} is no character")
        self.at += digits
        code = int(written, 16)
        if 0xD800 <= code <= 0xDFFF:
            raise self._refusal(f"\\u{written} is half a character")
        return ((code, code),)

    def _takes(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.at)
        self.at += len(sign) if found else 0
        return found

    def _refusal(self, what: str) -> Refusal:
        return Refusal(f"its pattern {self.text!r}: {what}", SUPPORTED)
