"""Numbers of JSON as terms, also between bounds: digits are compared from the first on."""

from __future__ import annotations

from decimal import Decimal

from tilewright.errors import Refusal
from tilewright.grammar.terms import Terms
from tilewright.records import dataclass

DIGITS = b"0123456789"
MOST_DIGITS = 15
"""Digits before and after the point that a double holds exactly."""
BOUND_DIGITS = 6
"""Behind the point, beyond those of a bound."""
LONGEST_BOUND = 40


@dataclass(frozen=True)
class Bounds:
    least: Decimal | None = None
    most: Decimal | None = None
    above: bool = False
    """Whether the least is not one of them."""
    below: bool = False

    @property
    def are_none(self) -> bool:
        return self.least is None and self.most is None


def integer(terms: Terms, bounds: Bounds) -> int:
    if bounds.are_none:
        return terms.sequence(terms.maybe(terms.text("-")), _whole(terms))
    far = Decimal(10) ** MOST_DIGITS - 1
    low = bounds.least if bounds.least is not None else min(-far, bounds.most or far)
    high = bounds.most if bounds.most is not None else max(far, bounds.least or far)
    first, last = -int((-low).to_integral_value("ROUND_FLOOR")), int(high.to_integral_value("ROUND_FLOOR"))
    first += bounds.above and first == low
    last -= bounds.below and last == high
    _check(first <= last, bounds)
    return _integers(terms, first, last)


def number(terms: Terms, bounds: Bounds) -> int:
    if bounds.are_none:
        fraction = terms.sequence(terms.text("."), terms.repeat(terms.byte_in(DIGITS), 1, MOST_DIGITS))
        sign = terms.maybe(terms.byte_in(b"+-"))
        power = terms.sequence(terms.byte_in(b"eE"), sign, terms.repeat(terms.byte_in(DIGITS), 1, 2))
        return terms.sequence(terms.maybe(terms.text("-")), _whole(terms), terms.maybe(fraction), terms.maybe(power))
    positive, negative = (None if one is None else _Decimals(terms, one).term() for one in _halves(bounds))
    found = [] if positive is None else [positive]
    found += [] if negative is None else [terms.sequence(terms.text("-"), negative)]
    _check(bool(found), bounds)
    return terms.either(*found)


def _check(holds: bool, bounds: Bounds) -> None:
    if not holds:
        raise Refusal(f"there is no such number from {bounds.least} to {bounds.most}", "widen its bounds")


def _whole(terms: Terms) -> int:
    more = terms.repeat(terms.byte_in(DIGITS), 0, MOST_DIGITS - 1)
    return terms.either(terms.text("0"), terms.sequence(terms.byte_in(DIGITS[1:]), more))


def _integers(terms: Terms, first: int, last: int) -> int:
    found = []
    if last >= 0:
        found.append(_from_to(terms, max(first, 0), last))
    if first < 0:
        found.append(terms.sequence(terms.text("-"), _from_to(terms, max(1, -last), -first)))
    return terms.either(*found)


def _from_to(terms: Terms, first: int, last: int) -> int:
    """Whole numbers from 0 on, by their number of digits."""
    found = []
    for size in range(len(str(first)), len(str(last)) + 1):
        low = max(first, 10 ** (size - 1) if size > 1 else 0)
        found.append(_same_size(terms, str(low), str(min(last, 10**size - 1))))
    return terms.either(*found)


def _same_size(terms: Terms, low: str, high: str) -> int:
    """Numbers of as many digits, between two of them."""
    if not low.strip("0") and not high.strip("9"):
        return terms.repeat(terms.byte_in(DIGITS), len(low), len(low))
    if low[0] == high[0]:
        return terms.sequence(terms.text(low[0]), _same_size(terms, low[1:], high[1:]))
    rest = len(low) - 1
    found = [
        terms.sequence(terms.text(low[0]), _same_size(terms, low[1:], "9" * rest)),
        terms.sequence(terms.text(high[0]), _same_size(terms, "0" * rest, high[1:])),
    ]
    between = range(ord(low[0]) + 1, ord(high[0]))
    if between:
        found.append(terms.sequence(terms.byte_in(between), terms.repeat(terms.byte_in(DIGITS), rest, rest)))
    return terms.either(*found)


def _halves(bounds: Bounds) -> tuple[Bounds | None, Bounds | None]:
    """Numbers from 0 on; and those below it, without their sign. None where there are none."""
    low, high = bounds.least, bounds.most
    least, above = (low, bounds.above) if low is not None and low > 0 else (Decimal(0), low == 0 and bounds.above)
    positive = None if high is not None and high < 0 else Bounds(least, high, above, bounds.below)
    if low is not None and low >= 0:
        return positive, None
    end, excluded = (-high, bounds.below) if high is not None and high <= 0 else (Decimal(0), False)
    return positive, Bounds(end, None if low is None else -low, excluded, bounds.above)


class _Decimals:
    """Decimals from 0 on between bounds, without an exponent."""

    def __init__(self, terms: Terms, bounds: Bounds) -> None:
        self.terms, self.bounds = terms, bounds

    def term(self) -> int | None:
        low, high = self.bounds.least or Decimal(0), self.bounds.most
        whole, part = _parted(low)
        last, last_part = _parted(high) if high is not None else (max(10**MOST_DIGITS, whole + 1), None)
        digits = max(len(part), len(last_part or "")) + BOUND_DIGITS
        found = [self._fractions(whole, part, last_part if last == whole else None, digits)]
        if last > whole:
            found.append(self._fractions(last, None, last_part, digits) if last_part is not None else None)
        if last > whole + 1:
            between = _from_to(self.terms, whole + 1, last - 1)
            found.append(self._with(between, self._digits(None, None, digits), True))
        kept = [one for one in found if one is not None]
        return self.terms.either(*kept) if kept else None

    def _fractions(self, whole: int, low: str | None, high: str | None, digits: int) -> int | None:
        return self._with(self.terms.text(str(whole)), self._digits(low, high, digits), self._may_end(low, high))

    def _with(self, whole: int, digits: int | None, alone: bool) -> int | None:
        terms = self.terms
        if digits is None:
            return whole if alone else None
        fraction = terms.sequence(terms.text("."), digits)
        return terms.sequence(whole, terms.maybe(fraction) if alone else fraction)

    def _may_end(self, low: str | None, high: str | None) -> bool:
        """Whether nothing but zeros may follow."""
        enough = low is None or (not low.strip("0") and not self.bounds.above)
        return enough and (high is None or bool(high.strip("0")) or not self.bounds.below)

    def _digits(self, low: str | None, high: str | None, left: int) -> int | None:
        """One digit and more, of a fraction between two others; None where there is none."""
        if left == 0:
            return None
        groups: dict[tuple[str | None, str | None], list[int]] = {}
        for digit in DIGITS:
            least, most = ord((low or "0")[0]), ord((high or "0")[0])
            if (low is not None and digit < least) or (high is not None and digit > most):
                continue
            low_behind = None if low is None or digit > least else low[1:]
            high_behind = None if high is None or digit < most else high[1:]
            groups.setdefault((low_behind, high_behind), []).append(digit)
        found = []
        for (least_, most_), digits in groups.items():
            more = self._digits(least_, most_, left - 1)
            one, ends = self.terms.byte_in(digits), self._may_end(least_, most_)
            if more is not None:
                found.append(self.terms.sequence(one, self.terms.maybe(more) if ends else more))
            elif ends:
                found.append(one)
        return self.terms.either(*found) if found else None


def _parted(value: Decimal) -> tuple[int, str]:
    """The whole part, and the digits behind the point."""
    whole, _, part = f"{value:f}".partition(".")
    return int(whole), part.rstrip("0")
