"""Other forms of what N-EUREKA offers for a node, for weights of fewer than 8 bits: which one is best depends on where
its weights lie, and the planner knows that."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.target.target import Offer
from tilewright.targets.siracusa.neureka.encoding import TAPS
from tilewright.targets.siracusa.neureka.linear import filter_bytes
from tilewright.targets.siracusa.neureka.offers import linear_sums
from tilewright.targets.siracusa.neureka.results import bare, named, results
from tilewright.targets.siracusa.neureka.row import NeurekaRow, RowCodes, RowImage
from tilewright.targets.siracusa.neureka.sums import Sums

BYTE_BITS = 8
MOST_BYTES = 1.25
"""Of a filter in words of windows, for each in words of one tap."""
MOST_ROWS = 8
"""Each is a job of its own, which reads all weights again."""


def narrow_forms(graph: Graph, node: Node) -> Sequence[Offer]:
    """Of a node that N-EUREKA takes."""
    if not _is_narrow(graph, node):
        return ()
    sums = linear_sums(graph, node)
    if sums is None or sums.bits >= BYTE_BITS:
        return ()
    return _row_forms(graph, node, sums)


def _is_narrow(graph: Graph, node: Node) -> bool:
    weights = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return weights is not None and weights.size > 0 and int(np.ptp(weights.astype(np.int32))) < 2 ** (BYTE_BITS - 1)


def _row_forms(graph: Graph, node: Node, sums: Sums) -> Sequence[Offer]:
    """Where there are few rows, and words of windows take hardly more memory than those of one tap."""
    *rows, channels = graph.types[node.inputs[0]].shape
    codes = RowCodes(sums)
    if math.prod(rows) > MOST_ROWS or channels < TAPS or codes.bits >= BYTE_BITS:
        return ()
    if RowImage(channels).words(codes.bits) > MOST_BYTES * filter_bytes(channels):
        return ()
    op, constants = results(sums, NeurekaRow(codes.bits, codes.offset, sums.dtype), [sums.bias_without([])])
    if math.prod(rows) == 1:
        op, constants = bare(op, constants)
    return (named(node, node.inputs[0], op, {"W": codes.words(), **constants}, "neureka row"),)
