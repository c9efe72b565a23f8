"""Which constants a board's program copies to which memory: those that save most for a byte come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tilewright.records import dataclass
from tilewright.target.kernel import ConstantPiece


@dataclass
class Room:
    """Of a memory for copies."""

    memory: str
    left: int


@dataclass(frozen=True)
class Candidate:
    constant: str
    bytes: int
    saved: float
    """For each byte."""
    piece: ConstantPiece | None = None
    """The part of the constant; None for the whole."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Constants, and parts of others, with their memories."""

    whole: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[tuple[ConstantPiece, str]]] = field(default_factory=dict)


def choose(candidates: Sequence[Candidate], rooms: Sequence[Room], most: int) -> Chosen:
    """Each goes to the first of the memories that has room for it; all together are no more than so many bytes."""
    found = Chosen()
    for one in sorted(candidates, key=lambda one: (-one.saved, one.constant, one.piece.ranges if one.piece else ())):
        room = next((room for room in rooms if one.bytes <= min(room.left, most)), None)
        if room is None:
            continue
        room.left -= one.bytes
        most -= one.bytes
        if one.piece is None:
            found.whole[one.constant] = room.memory
        else:
            found.parts.setdefault(one.constant, []).append((one.piece, room.memory))
    return found
