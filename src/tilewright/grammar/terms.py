"""What a grammar consists of: sets of bytes, sequences, alternatives, repetitions, and names of other parts.

Terms are numbers: equal ones are the same one, so that what is built of them can be compared and kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tilewright.records import dataclass


@dataclass(frozen=True)
class Bytes:
    mask: int
    """Bit b is set where byte b is in the set."""


@dataclass(frozen=True)
class Sequence:
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Repeat:
    part: int
    least: int
    most: int | None
    """None: any number."""


@dataclass(frozen=True)
class Named:
    name: str


Term = Bytes | Sequence | Either | Repeat | Named


@dataclass
class Terms:
    """All terms of a grammar, and what its names stand for."""

    all: list[Term] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    _known: dict[Term, int] = field(default_factory=dict)

    def add(self, term: Term) -> int:
        number = self._known.setdefault(term, len(self.all))
        if number == len(self.all):
            self.all.append(term)
        return number

    @property
    def nothing(self) -> int:
        """The empty text."""
        return self.add(Sequence(()))

    def byte_in(self, values: Iterable[int]) -> int:
        return self.add(Bytes(sum(1 << value for value in set(values))))

    def text(self, text: str | bytes) -> int:
        data = text.encode() if isinstance(text, str) else text
        return self.sequence(*(self.byte_in([byte]) for byte in data))

    def sequence(self, *parts: int) -> int:
        return parts[0] if len(parts) == 1 else self.add(Sequence(parts))

    def either(self, *parts: int) -> int:
        found = tuple(dict.fromkeys(parts))
        return found[0] if len(found) == 1 else self.add(Either(found))

    def repeat(self, part: int, least: int = 0, most: int | None = None) -> int:
        return self.nothing if most == 0 else self.add(Repeat(part, least, most))

    def maybe(self, part: int) -> int:
        return self.repeat(part, 0, 1)

    def named(self, name: str) -> int:
        return self.add(Named(name))

    def endless(self) -> frozenset[int]:
        """Terms that no finite text is of: a value that must contain itself, or one of no bytes at all."""
        ends: set[int] = set()
        before = -1
        while len(ends) > before:
            before = len(ends)
            # Terms mostly come behind their parts: what is found on the way counts at once.
            for number, term in enumerate(self.all):
                if number not in ends and self._is_finite(term, ends):
                    ends.add(number)
        return frozenset(range(len(self.all))) - ends

    def _is_finite(self, term: Term, known: set[int]) -> bool:
        if isinstance(term, Bytes):
            return term.mask != 0
        if isinstance(term, Sequence):
            return all(part in known for part in term.parts)
        if isinstance(term, Either):
            return any(part in known for part in term.parts)
        if isinstance(term, Repeat):
            return term.least == 0 or term.part in known
        return self.names.get(term.name, -1) in known
