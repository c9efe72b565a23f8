"""Boxes of columns (time) and heights (bytes), and packings of them under a ceiling by a search in C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.records import dataclass
from tilewright.toolchain.compiler import find_compiler
from tilewright.toolchain.shared_library import library_of

SOURCE = Path(__file__).with_name("packing.c")

RULES = 4
"""Ways of choosing the next box, as `packing.c` counts them."""
_FOUND, _IMPOSSIBLE = 1, 0


class Box(NamedTuple):
    """Columns `first` to `last`, both included."""

    first: int
    last: int
    height: int


@dataclass(frozen=True)
class Packing:
    """An offset for each box. There is nothing to gain below the floor: no packing is lower, neither of these boxes nor
    of others that share the memory."""

    offsets: tuple[int, ...]
    peak: int
    floor: int

    @property
    def optimal(self) -> bool:
        return self.peak <= self.floor


def packing(boxes: Sequence[Box], offsets: tuple[int, ...], floor: int) -> Packing:
    peak = max((offset + box.height for box, offset in zip(boxes, offsets, strict=True)), default=0)
    return Packing(offsets, peak, floor)


def live_heights(boxes: Sequence[Box], columns: int) -> list[int]:
    """The sum of the heights of the boxes in each column."""
    change = [0] * (columns + 1)
    for first, last, height in boxes:
        change[first] += height
        change[last + 1] -= height
    total = 0
    return [total := total + step for step in change[:columns]]


@dataclass(frozen=True)
class Outcome:
    offsets: tuple[int, ...] | None
    work: int
    impossible: bool
    """The whole tree was searched: no packing stays under the ceiling."""


class _CBox(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in Box._fields]


class Search:
    """Packs the same boxes again and again, under other ceilings and with other ranks."""

    def __init__(self, boxes: Sequence[Box], columns: int) -> None:
        self.count, self.columns = len(boxes), columns
        self.boxes = (_CBox * self.count)(*(_CBox(*box) for box in boxes))
        self.by_first = (ctypes.c_int32 * self.count)(*sorted(range(self.count), key=lambda index: boxes[index].first))

    def run(self, ceiling: int, rule: int, order: Sequence[int], budget: int, failures: list[float]) -> Outcome:
        """A packing under the ceiling, or nothing after that much work. Boxes are tried in the order; `failures` of
        columns, in which boxes did not fit, are added to."""
        rank = (ctypes.c_int32 * self.count)()
        for place, index in enumerate(order):
            rank[index] = place
        offsets, work = (ctypes.c_int64 * self.count)(), ctypes.c_int64(budget)
        counted = (ctypes.c_double * self.columns)(*failures)
        said = _pack()(
            *(self.boxes, self.by_first, rank, self.count, self.columns, rule, ceiling),
            *(counted, ctypes.byref(work), offsets),
        )
        failures[:] = counted
        return Outcome(tuple(offsets) if said == _FOUND else None, work.value, said == _IMPOSSIBLE)


@cache
def _pack() -> Any:
    library = library_of({SOURCE.name: SOURCE.read_text(encoding="utf-8")}, "memory", find_compiler())
    found = ctypes.CDLL(str(library)).tw_pack
    pointer, number, long = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    found.argtypes = [pointer, pointer, pointer, number, number, number, long, pointer, pointer, pointer]
    found.restype = number
    return found
