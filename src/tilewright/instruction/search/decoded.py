"""An instruction of a program: what it reads, writes and computes."""

from __future__ import annotations

from enum import Enum

from tilewright.records import dataclass


class Kind(Enum):
    COMPUTES = "computes"
    LOADS = "loads"
    STORES = "stores"
    BRANCHES = "branches"
    JUMPS = "jumps"
    CALLS = "calls"
    RETURNS = "returns"
    OPAQUE = "opaque"
    """Reads and writes registers, and is in no pattern."""
    LEAVES = "leaves"
    """Jumps to another function, and not back."""
    OTHER = "other"
    """Nobody knows what it reads."""


CONTROL = (Kind.BRANCHES, Kind.JUMPS, Kind.CALLS, Kind.RETURNS, Kind.LEAVES)


@dataclass(frozen=True)
class Decoded:
    address: int
    size: int
    name: str
    """Of the operation; what a constant is added to is an add."""
    kind: Kind
    rd: int = 0
    """The register that it writes; 0 where it writes none."""
    sources: tuple[int, ...] = ()
    """Registers, in order."""
    constant: int | None = None
    target: int = 0
    """Where control may go, if it says so."""

    @property
    def operands(self) -> tuple[int | None, ...]:
        """Registers, and None for the constant."""
        return self.sources if self.constant is None else (*self.sources, None)
