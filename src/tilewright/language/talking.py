"""What is asked of a program that talks, and what it tells, token by token."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from tilewright.language.sampler import Sampling
from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.sim.energy import Energy

GREEDY = Sampling()


@dataclass(frozen=True)
class Request:
    text: bytes
    tokens: int
    sampling: Sampling = GREEDY
    stops: bool = True

    def packed(self) -> bytes:
        """The struct that talk.h has."""
        seed = self.sampling.seed
        fields = (len(self.text), self.tokens, int(self.stops), *self.sampling.fixed)
        return struct.pack("<8i2I", *fields, seed & 0xFFFFFFFF, seed >> 32)


@dataclass(frozen=True)
class Read:
    """The prompt, read."""

    tokens: int
    seconds: float
    cycles: int | None = None
    energy: Energy | None = None
    reused: int = 0
    """Of the tokens, those that were in the context before."""


@dataclass(frozen=True)
class Said:
    """A token that was given."""

    token: int
    piece: bytes
    seconds: float
    """Of the chip where there are cycles, else of this machine."""
    cycles: int | None = None
    energy: Energy | None = None


@dataclass(frozen=True)
class Ended:
    """Why a text is over, where its tokens do not say so."""

    why: str


Event = Read | Said | Ended


class Session(Protocol):
    def talk(self, request: Request) -> Iterator[Event]:
        """First what was read, then every token. Ends at the last one, or where the context is full."""
