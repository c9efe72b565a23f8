"""Tables, any function of one number of 8 or 16 bits, in Vela's streams.

A TensorFlow Lite file cannot hold such a table. It gets another function in its place, each with numbers of its own: of
bytes a leaky rectifier, of words an exponential. Vela writes the table of that among the constants, and it is replaced
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops._ethosu import WEIGHTS, EthosU
from tilewright.ops.lookup import ENTRIES
from tilewright.records import dataclass
from tilewright.sim.ethos_u.stream import Command, commands
from tilewright.targets.ethos_u.exponential import ENTRIES as WORDS

SLOPE = 1 / 16
"""Steps by which slopes of rectifiers differ: then bytes differ that are 16 from the zero point."""
NEAREST = 1
"""Steps that Vela's entries may be off; of words, a share of the entry besides."""
SHARE = 1 / 256
INSIDE = 0x100
"""Of the region that a transfer goes to: the shared buffer, which has the tables."""
REGION = 7
HALF = 16
"""Bits of an entry of words: a number, to which the slope to the next is added above it."""


@dataclass(frozen=True, eq=False)
class Table:
    entries: Array
    """The function, in the bytes that the NPU reads."""
    instead: Array
    """Numbers of what Vela writes in its place."""

    @property
    def bytes(self) -> int:
        return self.entries.size

    def is_at(self, found: Array) -> bool:
        """Whether these are its bytes, as Vela has written them."""
        off = np.abs(numbers_in(found) - self.instead)
        share = SHARE if len(self.instead) == WORDS else 0.0
        return bool(np.all(off <= NEAREST + share * np.abs(self.instead)))


def numbers_in(found: Array) -> Array:
    if found.size == ENTRIES:
        return found.view(np.int8).astype(np.int64)
    return found.view("<i2")[::2].astype(np.int64)


@dataclass(frozen=True)
class Rectifier:
    """A tensor's scale and zero point, the result's, and which of a file's tables it stands for."""

    x: tuple[float, int]
    y: tuple[float, int]
    number: int

    @property
    def alpha(self) -> float:
        """Below the zero point results rise, or fall where there is no room above; one step for the first slope."""
        direction = -1.0 if self.y[1] < 0 else 1.0
        return direction * (self.number + 1) * SLOPE * self.y[0] / self.x[0]

    def entries(self) -> Array:
        values = np.arange(-ENTRIES // 2, ENTRIES // 2) - self.x[1]
        real = values * self.x[0] * np.where(values < 0, self.alpha, 1.0) / self.y[0]
        return np.asarray(np.clip(np.rint(real) + self.y[1], -128, 127), np.int64)


def words_of(table: Array) -> Array:
    """The bytes of a table of 513 numbers, with lines between them."""
    slopes = np.diff(table)
    if len(slopes) != WORDS or np.abs(slopes).max() >= 1 << (HALF - 1) or np.abs(table).max() > 1 << (HALF - 1):
        raise Refusal("its table is not one of 512 numbers and slopes of 16 bits")
    entries = (slopes.astype(np.int64) << HALF) + table[:-1]
    return entries.astype("<i4").view(np.uint8)


def with_tables(graph: Graph, tables: Sequence[Table]) -> Graph:
    """Streams with their functions; a refusal where what stands for one of them is not there, or is not alone."""
    if not tables:
        return graph
    constants, missing = dict(graph.constants), list(tables)
    for node in graph.nodes:
        if not isinstance(node.op, EthosU):
            continue
        words = graph.constants[node.inputs[0]][node.op.first :].view(np.uint32)
        given = graph.constants[node.inputs[1]]
        values = given.copy()
        for at, size in sorted(set(table_places(words))):
            found = _one_of(given[at : at + size], [one for one in tables if one.bytes == size])
            if found is not None:
                values[at : at + size] = found.entries
                missing = [one for one in missing if one.entries.tobytes() != found.entries.tobytes()]
        constants[node.inputs[1]] = values
    if missing:
        raise Refusal("Vela's stream has no table of it")
    return replace(graph, constants=constants)


def table_places(words: Array) -> Iterator[tuple[int, int]]:
    """Of tables among the constants, and how long they are."""
    for one in commands(words):
        if one.name == "DMA_START" and _is_table(one):
            yield one.get("DMA0_SRC"), one.get("DMA0_LEN")


def _is_table(one: Command) -> bool:
    from_constants = one.get("DMA0_SRC_REGION") & REGION == WEIGHTS
    is_long = one.get("DMA0_LEN") in (ENTRIES, 4 * WORDS)
    return from_constants and bool(one.get("DMA0_DST_REGION") & INSIDE) and is_long


def _one_of(found: Array, tables: Sequence[Table]) -> Table | None:
    """The table that stands there; none where Vela has written a function of its own."""
    near = [one for one in tables if one.is_at(found)]
    if len({one.entries.tobytes() for one in near}) > 1:
        raise Refusal("Vela's stream has several tables that are alike")
    return near[0] if near else None
