"""Offsets at which threads write what they had before. A line of memory that another core has takes as long to come as
one from behind the caches, so buffers are moved within the arena until each thread finds its own lines there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.ir.types import Array
from tilewright.memory.allocator import Buffer, Key, Problem, Solution
from tilewright.records import dataclass

LINE = 64
NOBODY = -1
SWEEPS = 2
MOST_CHANGES = 24
"""Places where the lines of one thread end and those of another begin, of which buffers try the first."""

Span = tuple[int, int]
Shares = Mapping[Key, Sequence[Span]]
"""Buffer -> the bytes of it that each thread writes, from thread 0 on."""


@dataclass(frozen=True)
class _Piece:
    """A buffer as lines, each with the thread that writes it."""

    buffer: Buffer
    threads: Array
    movable: bool

    @property
    def lines(self) -> int:
        return len(self.threads)


def with_own_lines(problem: Problem, solution: Solution, shares: Shares, kept: int) -> Solution:
    """The same peak, and fewer lines that go from thread to thread. The first `kept` buffers stay where they are."""
    pieces = [_piece(buffer, shares.get(buffer.name, ()), n >= kept) for n, buffer in enumerate(problem.buffers)]
    pieces = sorted((piece for piece in pieces if piece.lines), key=lambda piece: piece.buffer.first)
    earlier = _alive_with_earlier(pieces)
    later: dict[Key, list[_Piece]] = {name: [] for name in earlier}
    for piece in pieces:
        for one in earlier[piece.buffer.name]:
            later[one.buffer.name].append(piece)
    bold = _Moves(problem.alignment, solution.peak, earlier)
    careful = replace(bold, alive_with={name: [*earlier[name], *later[name]] for name in earlier})
    lines = np.full(-(-solution.peak // LINE) + 1, NOBODY, np.int8)
    offsets = dict(solution.offsets)
    _swept(pieces, offsets, lines)
    best, found = _swept(pieces, offsets, lines), solution
    for moves in (careful, bold) * SWEEPS:
        moved = _moved(pieces, offsets, lines, moves)
        if moved is None:
            continue
        offsets = moved
        crossing = _swept(pieces, offsets, lines)
        if crossing < best:
            best, found = crossing, replace(solution, offsets=offsets)
    return found


def _piece(buffer: Buffer, shares: Sequence[Span], movable: bool) -> _Piece:
    threads = np.zeros(-(-buffer.bytes // LINE), np.int8)
    for thread, (start, end) in enumerate(shares):
        threads[start // LINE : -(-end // LINE)] = thread
    return _Piece(buffer, threads, movable)


def _alive_with_earlier(pieces: Sequence[_Piece]) -> dict[Key, list[_Piece]]:
    """Buffer -> those that were there before it, and still are."""
    found: dict[Key, list[_Piece]] = {}
    alive: list[_Piece] = []
    for piece in pieces:
        alive = [one for one in alive if one.buffer.last >= piece.buffer.first]
        found[piece.buffer.name] = list(alive)
        alive.append(piece)
    return found


# ---- one call --------------------------------------------------------------------------------------------------------


def _swept(pieces: Sequence[_Piece], offsets: Mapping[Key, int], lines: Array) -> int:
    """The lines that cross in a call, as `lines` say who had them; afterwards they say who has them then."""
    crossing = 0
    for piece in pieces:
        at = offsets[piece.buffer.name]
        crossing += _crossing(piece, at, lines)
        lines[at // LINE : at // LINE + piece.lines] = piece.threads
    return crossing


def _moved(pieces: Sequence[_Piece], offsets: Mapping[Key, int], lines: Array, moves: _Moves) -> dict[Key, int] | None:
    """Each buffer where the fewest lines cross, in the order in which they come; None where one has no place."""
    found, had = dict(offsets), lines.copy()
    for piece in pieces:
        name = piece.buffer.name
        if piece.movable:
            places = moves.of(piece, found, had)
            if not places:
                return None
            found[name] = min(places, key=lambda place: (_crossing(piece, place, had), place != offsets[name], place))
        at = found[name]
        had[at // LINE : at // LINE + piece.lines] = piece.threads
    return found


@dataclass(frozen=True)
class _Moves:
    """Where buffers may go."""

    alignment: int
    peak: int
    alive_with: Mapping[Key, Sequence[_Piece]]
    """Buffer -> those that it may not meet."""

    def of(self, piece: _Piece, offsets: Mapping[Key, int], lines: Array) -> list[int]:
        """Where it is, and where a change of threads in it meets one in the arena, or it meets another buffer."""
        taken = [(offsets[one.buffer.name], one.buffer.bytes) for one in self.alive_with[piece.buffer.name]]
        size = piece.buffer.bytes
        candidates = {offsets[piece.buffer.name], 0, self.peak - size}
        for start, bytes_ in taken:
            candidates |= {start - size, start + bytes_ + self.alignment - 1}
        changes = _changes(lines)
        for change in _changes(piece.threads):
            candidates |= {(place - change) * LINE for place in changes}
        places = sorted({place // self.alignment * self.alignment for place in candidates})
        return [place for place in places if 0 <= place <= self.peak - size and not _meets(place, size, taken)]


def _meets(start: int, size: int, taken: Sequence[Span]) -> bool:
    return any(start < other + bytes_ and other < start + size for other, bytes_ in taken)


def _crossing(piece: _Piece, offset: int, lines: Array) -> int:
    before = lines[offset // LINE : offset // LINE + piece.lines]
    return int(np.count_nonzero((before != piece.threads) & (before != NOBODY)))


def _changes(threads: Array) -> list[int]:
    places: list[int] = (np.flatnonzero(np.diff(threads)) + 1).tolist()
    return places[:MOST_CHANGES]
