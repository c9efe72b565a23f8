"""Other forms of what N-EUREKA offers for rows times a matrix: weights in words of windows instead of words of one tap.

With fewer than 8 bits they take less memory, and for a single row often less time: N-EUREKA loads 36 pixels for every
32 channels of filters with one tap, however few there are. Which form is best depends on where its weights lie, and the
planner knows that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, TensorType
from tilewright.target.target import Offer
from tilewright.targets.hwpe.columns import SHARED, NeurekaColumns, run_of, shared_words
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.encoding import TAPS, WIDE
from tilewright.targets.hwpe.linear import NeurekaLinear, filter_bytes
from tilewright.targets.hwpe.offers import linear_sums
from tilewright.targets.hwpe.results import bare, named, results
from tilewright.targets.hwpe.row import NeurekaRow, RowCodes, RowImage
from tilewright.targets.hwpe.sums import Sums

BYTE_BITS = 8
MOST_BYTES, MOST_BYTES_OF_ONE = 1.25, 1.5
"""Of a filter in words of windows, for each in words of one tap; the second where a single row takes less time."""
MOST_ROWS = 8
"""Each is a job of its own, which reads all weights again."""
LEAST_SAVED = 1024
"""Cycles by which another form for one row has to be faster."""
MOST_REST = 16
"""Channels that are left to the cores, in whole words."""
FINISHED, REST = 17.0, 3.5
"""Cycles of one of the cores for a result, and for each word of the rest."""
BY_ROWS = (1, 0)
AnyLinear = TypeVar("AnyLinear", bound=NeurekaLinear)


def windowed_forms(graph: Graph, node: Node, cores: int) -> Sequence[Offer]:
    """Of a node that N-EUREKA takes, with so many cores that finish results."""
    rows = math.prod(graph.types[node.inputs[0]].shape[:-1])
    is_narrow = _is_narrow(graph, node)
    if rows > MOST_ROWS or not (is_narrow or rows == 1):
        return ()
    sums = linear_sums(graph, node)
    if sums is None:
        return ()
    forms = _Forms(graph, node, sums, cores)
    narrow = [forms.by_rows()] if is_narrow and forms.is_narrow() else []
    return (*narrow, *(forms.fastest(not narrow) if rows == 1 else ()))


def _is_narrow(graph: Graph, node: Node) -> bool:
    weights = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return weights is not None and weights.size > 0 and int(np.ptp(weights.astype(np.int32))) < 2 ** (BYTE_BITS - 1)


class _Forms:
    """Of one node."""

    def __init__(self, graph: Graph, node: Node, sums: Sums, cores: int) -> None:
        self.cores, self.graph, self.node, self.sums, self.codes = cores, graph, node, sums, RowCodes(sums)
        self.x, self.y = graph.types[node.inputs[0]], graph.types[node.key]
        self.channels = self.x.shape[-1]

    def is_narrow(self) -> bool:
        """Whether words of windows take hardly more memory than those of one tap."""
        if self.codes.bits >= BYTE_BITS or self.channels < TAPS:
            return False
        return RowImage(self.channels).words(self.codes.bits) <= MOST_BYTES * filter_bytes(self.channels)

    def by_rows(self) -> Offer:
        op = NeurekaRow(self.codes.bits, self.codes.offset, self.sums.dtype)
        made, constants = self._results(op)
        return named(self.node, self.node.inputs[0], made, {"W": self.codes.words(), **constants}, "neureka row")

    # ---- one row ----------------------------------------------------------------------------------------------------

    def fastest(self, with_rows: bool) -> Iterator[Offer]:
        """The form that takes least time, if that is much less than with words of one tap."""
        linear = self._job(NeurekaLinear(), len(self.sums.stored), filter_bytes(self.channels))
        found = {shape: self._cycles(*shape) for shape in self._shapes() if with_rows or shape != BY_ROWS}
        best = min(found, key=found.__getitem__, default=BY_ROWS)
        if linear - found.get(best, linear) < LEAST_SAVED:
            return
        if best == BY_ROWS:
            yield self.by_rows()
        elif made := self._by_columns(*best):
            yield made

    def _shapes(self) -> Iterator[tuple[int, int]]:
        """How many columns share a filter, and how many channels are left to the cores, where weights do not take much
        more memory."""
        for shared in SHARED:
            unit = WIDE * TAPS // shared
            rest = self.channels % unit
            rests = [0, rest] if 0 < rest <= MOST_REST and rest % 4 == 0 and self._has_signed_bytes else [0]
            for left in rests:
                read = self.channels - left
                if read >= TAPS // shared and self._bytes(shared, left) / shared <= self._most_bytes:
                    yield shared, left

    @property
    def _has_signed_bytes(self) -> bool:
        """Whether cores can multiply with weights as they are stored."""
        return self.sums.w_zero == 0 and self.sums.stored.dtype == np.int8

    @property
    def _most_bytes(self) -> float:
        return MOST_BYTES_OF_ONE * filter_bytes(self.channels)

    def _bytes(self, shared: int, rest: int) -> int:
        return RowImage(self.channels - rest, TAPS // shared).words(self.codes.bits)

    def _cycles(self, shared: int, rest: int) -> float:
        """Of N-EUREKA or of the cores, whoever takes longer."""
        columns = len(self.sums.stored)
        op = NeurekaColumns(self.codes.bits, columns=columns, shared=shared, rest=rest)
        cores = (FINISHED + REST * rest / 4) * columns / self.cores
        return max(float(self._job(op, math.ceil(columns / shared), self._bytes(shared, rest))), cores)

    def _job(self, op: NeurekaLinear, filters: int, words: int) -> int:
        types = {"X": self.x, "W": TensorType("uint8", (filters, words)), "Y": self.y}
        return sum(job_cycles(job) for job in op.jobs(types, resident=True))

    def _by_columns(self, shared: int, rest: int) -> Offer | None:
        """None where N-EUREKA would have to know what is a column's own: its filters are for several."""
        columns = len(self.sums.stored)
        op = NeurekaColumns(
            self.codes.bits, self.codes.offset, self.sums.dtype, columns=columns, shared=shared,
            run=run_of(columns, shared), rest=rest,
        )  # fmt: skip
        made, constants = self._results(op)
        if not made.bare:
            return None
        constants["W"] = shared_words(self.codes, shared, rest)
        if rest:
            constants["rest"] = self.sums.stored[:, -rest:, 0]
        return named(self.node, self.node.inputs[0], made, constants, "neureka columns")

    def _results(self, op: AnyLinear) -> tuple[AnyLinear, dict[str, Array]]:
        made, constants = results(self.sums, op, [self.sums.bias_without([])])
        return bare(made, constants) if math.prod(self.x.shape[:-1]) == 1 else (made, constants)
