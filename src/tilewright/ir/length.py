"""Sizes that are known when a network is called: polynomials of symbols, each of which has a range.

A `Length` is an int, its value with every symbol at its bound, so that whatever computes with sizes plans for the
largest. Sums, products and divisions of lengths are lengths; two are equal only if they are at every size, and none
equals a number. What is compared by order is compared at the bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from tilewright.errors import CompileError
from tilewright.records import dataclass

Value = TypeVar("Value")
Sizes = Mapping[str, int]
"""Values of symbols by name; one may be another length."""


@dataclass(frozen=True, order=True)
class Symbol:
    """A dimension whose size a caller says."""

    name: str
    low: int
    high: int

    def __str__(self) -> str:
        return self.name

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high}"

    def at(self, sizes: Sizes) -> int:
        return sizes[self.name]

    @property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset({self})

    def c(self, names: Mapping[str, str]) -> str:
        return names[self.name]


@dataclass(frozen=True)
class Quotient:
    """A division that does not come out even everywhere, rounded towards zero as C does: it is a floor division where
    neither part is negative."""

    dividend: Form
    divisor: Form

    def __str__(self) -> str:
        return f"({self.dividend}) // ({self.divisor})"

    def at(self, sizes: Sizes) -> int:
        dividend, divisor = self.dividend.at(sizes), self.divisor.at(sizes)
        return dividend // divisor if dividend >= 0 else -(-dividend // divisor)

    @property
    def symbols(self) -> frozenset[Symbol]:
        return self.dividend.symbols | self.divisor.symbols

    def c(self, names: Mapping[str, str]) -> str:
        return f"({self.dividend.c(names)}) / ({self.divisor.c(names)})"


@dataclass(frozen=True)
class Least:
    """The smaller of two."""

    one: Form
    other: Form

    def __str__(self) -> str:
        return f"min({self.one}, {self.other})"

    def at(self, sizes: Sizes) -> int:
        return min(self.one.at(sizes), self.other.at(sizes))

    @property
    def symbols(self) -> frozenset[Symbol]:
        return self.one.symbols | self.other.symbols

    def c(self, names: Mapping[str, str]) -> str:
        one, other = self.one.c(names), self.other.c(names)
        return f"({one} < {other} ? {one} : {other})"


Atom = Symbol | Quotient | Least
Monomial = tuple[Atom, ...]
"""A product, its factors in order; 1 where there are none."""


@dataclass(frozen=True)
class Form:
    """A sum of products of atoms, each with a factor that is not 0."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Form:
        kept = [(atoms, factor) for atoms, factor in terms.items() if factor]
        return Form(tuple(sorted(kept, key=lambda term: (-len(term[0]), tuple(map(str, term[0]))))))

    @property
    def constant(self) -> int | None:
        """Its value, if that is the same at all sizes."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == () else None

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return frozenset(symbol for atoms, _ in self.terms for atom in atoms for symbol in atom.symbols)

    @cached_property
    def bound(self) -> int:
        """At the bounds of all symbols."""
        return self.at({symbol.name: symbol.high for symbol in self.symbols})

    def at(self, sizes: Sizes) -> int:
        total = 0
        for atoms, factor in self.terms:
            product: int = factor
            for atom in atoms:
                product = product * atom.at(sizes)
            total = total + product
        return total

    def plus(self, other: Form, times: int = 1) -> Form:
        terms = dict(self.terms)
        for atoms, factor in other.terms:
            terms[atoms] = terms.get(atoms, 0) + times * factor
        return Form.of(terms)

    def times(self, other: Form) -> Form:
        terms: dict[Monomial, int] = {}
        for one, first in self.terms:
            for another, second in other.terms:
                product = tuple(sorted((*one, *another), key=str))
                terms[product] = terms.get(product, 0) + first * second
        return Form.of(terms)

    def divided(self, other: Form) -> Form:
        """Rounded down. What comes out even leaves no division."""
        even = self._even(other)
        if even is not None:
            return even
        known = self.constant, other.constant
        if known[0] is not None and known[1] is not None:
            return constant(known[0] // known[1])
        if self.bound < 0:
            # C rounds towards zero: what is negative is the negative of a division that rounds up.
            up = other.plus(constant(1), -1).plus(self, -1)
            return Form.of({(Quotient(up, other),): -1})
        return Form.of({(Quotient(self, other),): 1})

    def _even(self, other: Form) -> Form | None:
        """A quotient without a remainder."""
        (lead, factor), even, rest = other.terms[0], constant(0), self
        while rest.terms:
            atoms, times = rest.terms[0]
            left = _without(atoms, lead)
            if left is None or times % factor:
                return None
            part = Form.of({left: times // factor})
            even, rest = even.plus(part), rest.plus(part.times(other), -1)
        return even

    def __str__(self) -> str:
        return _written([("*".join(map(str, atoms)), factor) for atoms, factor in self.terms], "*")

    def c(self, names: Mapping[str, str]) -> str:
        """As an expression of C, with these names of symbols."""
        products = [(" * ".join(_grouped(atom.c(names)) for atom in atoms), factor) for atoms, factor in self.terms]
        return _written(products, " * ")


def _grouped(text: str) -> str:
    return text if text.replace("->", "_").isidentifier() else f"({text})"


def _written(terms: list[tuple[str, int]], sign: str) -> str:
    parts = []
    for atoms, factor in terms:
        size = abs(factor)
        text = atoms if atoms and size == 1 else f"{size}{sign}{atoms}" if atoms else str(size)
        parts.append(f"{'-' if factor < 0 else '+'} {text}")
    joined = " ".join(parts) or "+ 0"
    return joined[2:] if joined.startswith("+ ") else f"-{joined[2:]}"


def _without(atoms: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(atoms)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def constant(value: int) -> Form:
    return Form.of({(): value})


class Length(int):
    """A size that depends on symbols."""

    form: Form

    def __new__(cls, value: int, form: Form | None = None) -> Length:
        made = super().__new__(cls, value)
        if form is not None:
            made.form = form
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and self.form == other.form

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __add__(self, other: int) -> int:
        return as_size(self.form.plus(_form(other))) if isinstance(other, int) else int(self) + other

    def __sub__(self, other: int) -> int:
        return as_size(self.form.plus(_form(other), -1)) if isinstance(other, int) else int(self) - other

    def __rsub__(self, other: int) -> int:
        return as_size(_form(other).plus(self.form, -1)) if isinstance(other, int) else other - int(self)

    def __mul__(self, other: Any) -> Any:
        # A list times a size, and a float times one, are what they are at the bound.
        return as_size(self.form.times(_form(other))) if isinstance(other, int) else other * int(self)

    def __floordiv__(self, other: int) -> int:
        return as_size(self.form.divided(_form(other))) if isinstance(other, int) else int(self) // other

    def __rfloordiv__(self, other: int) -> int:
        return as_size(_form(other).divided(self.form)) if isinstance(other, int) else other // int(self)

    def __mod__(self, other: int) -> int:
        return self - self // other * other if isinstance(other, int) else int(self) % other

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self if isinstance(other, int) else other % int(self)

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return other // self, other % self

    def __neg__(self) -> int:
        return 0 - self

    def __pow__(self, exponent: Any, modulo: Any = None) -> Any:
        if not isinstance(exponent, int) or isinstance(exponent, Length) or exponent < 1 or modulo is not None:
            return pow(int(self), int(exponent), modulo)
        return self if exponent == 1 else self * self ** (exponent - 1)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def said(self) -> str:
        """For people: the expression, and what it is at most."""
        return f"{self.form}<={int(self)}"


def _form(value: int) -> Form:
    return value.form if isinstance(value, Length) else constant(value)


def as_size(form: Form) -> int:
    """A length, or the number that it always is."""
    known = form.constant
    return Length(form.bound, form) if known is None else known


def length(name: str, low: int, high: int) -> int:
    """The size of a dimension that has a range."""
    if not 0 <= low <= high:
        raise CompileError(f"--dim {name}={low}..{high}", "is no range", f"for example --dim {name}=1..{max(high, 1)}")
    return high if low == high else as_size(Form.of({(Symbol(name, low, high),): 1}))


def pinned_length(symbol: Symbol, size: int) -> int:
    """A length of a dimension that has this value."""
    return as_size(Form.of({(Symbol(symbol.name, size, size),): 1}))


def numbers_of(value: Value) -> Value:
    """A value with every length as the number that it is at its bounds."""
    found = {symbol.name: symbol.high for one in lengths_in(value) for symbol in one.form.symbols}
    return resolved(value, found)


def lengths_in(value: object) -> Iterator[Length]:
    """Those anywhere in attributes, shapes and parameters."""
    if isinstance(value, Length):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        for one in value:
            yield from lengths_in(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from lengths_in(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from lengths_in(getattr(value, field.name))


def resolved(value: Value, sizes: Sizes) -> Value:
    """A value with every length at these sizes."""
    if isinstance(value, Length):
        return value.form.at(sizes)  # type: ignore[return-value]
    if isinstance(value, tuple):
        found = [resolved(one, sizes) for one in value]
        return type(value)(*found) if hasattr(value, "_fields") else tuple(found)  # type: ignore[return-value]
    if isinstance(value, list):
        return [resolved(one, sizes) for one in value]  # type: ignore[return-value]
    if isinstance(value, dict):
        return {key: resolved(one, sizes) for key, one in value.items()}  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        changed = {name: resolved(getattr(value, name), sizes) for name in fields if _has_lengths(getattr(value, name))}
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _has_lengths(value: object) -> bool:
    return next(lengths_in(value), None) is not None
