"""Tables of 256 bytes, any function of one byte, in Vela's streams.

A TensorFlow Lite file cannot hold such a table. It gets a leaky rectifier in its place, each with a slope of its own;
Vela writes the table of that among the constants, and it is replaced there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.ops._ethosu import WEIGHTS, EthosU
from tilewright.ops.lookup import ENTRIES
from tilewright.sim.ethos_u.stream import Command, commands

SLOPE = 1 / 16
"""Steps by which slopes of rectifiers differ: then bytes differ that are 16 from the zero point."""
NEAREST = 1
"""Steps that Vela's entries may be off."""
INSIDE = 0x100
"""Of the region that a transfer goes to: the shared buffer, which has the tables."""
REGION = 7


@dataclass(frozen=True, eq=False)
class Table:
    entries: Array
    """The function."""
    rectifier: Array
    """What Vela writes in its place."""


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
        return np.asarray(np.clip(np.rint(real) + self.y[1], -128, 127), np.int8)


def with_tables(graph: Graph, tables: Sequence[Table]) -> Graph:
    """Streams with functions instead of rectifiers; a refusal where one of these is not there, or is not alone."""
    if not tables:
        return graph
    constants, missing = dict(graph.constants), list(tables)
    for node in graph.nodes:
        if not isinstance(node.op, EthosU):
            continue
        words = graph.constants[node.inputs[0]][node.op.first :].view(np.uint32)
        values = constants[node.inputs[1]].copy()
        for at in sorted(set(_places(words))):
            found = _one_of(values[at : at + ENTRIES].view(np.int8), tables)
            if found is not None:
                values[at : at + ENTRIES] = found.entries.view(np.uint8)
                missing = [one for one in missing if one is not found]
        constants[node.inputs[1]] = values
    if missing:
        raise Refusal("Vela's stream has no table of it")
    return replace(graph, constants=constants)


def _places(words: Array) -> Iterator[int]:
    """Of tables among the constants."""
    for one in commands(words):
        if one.name == "DMA_START" and _is_table(one):
            yield one.get("DMA0_SRC")


def _is_table(one: Command) -> bool:
    from_constants = one.get("DMA0_SRC_REGION") & REGION == WEIGHTS
    return from_constants and bool(one.get("DMA0_DST_REGION") & INSIDE) and one.get("DMA0_LEN") == ENTRIES


def _one_of(found: Array, tables: Sequence[Table]) -> Table | None:
    """The table that stands there; none where Vela has written a function of its own."""
    near = [one for one in tables if np.abs(one.rectifier.astype(int) - found.astype(int)).max() <= NEAREST]
    if len({one.entries.tobytes() for one in near}) > 1:
        raise Refusal("Vela's stream has several tables that are alike")
    return near[0] if near else None
