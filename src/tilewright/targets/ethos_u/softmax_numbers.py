"""Softmax in numbers of 32 bits, as an Ethos-U has them: a table of exponentials and a numerator with fewer bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.types import Array, Shape
from tilewright.ops.qlinearsoftmax import QLinearSoftmax

TABLE_BITS, NUMERATOR_BITS, SUM_BITS = 16, 30, 30
"""The largest exponential is 2**TABLE_BITS; the numerator and a row's sum are below the other two powers. Results are
within a tenth of a step of those with more bits, before they are rounded."""
MOST_SHIFT = 31
FEWEST_ELEMENTS = 1024
"""Smaller ones take an NPU longer than the core's vectors."""


def softmax_of_words(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """The same softmax with fewer bits; None where it is too small for an NPU, or is computed otherwise."""
    op, table = node.op, graph.constants.get(node.inputs[1])
    if not isinstance(op, QLinearSoftmax) or table is None or op.requant.rounding not in PLAIN:
        return None
    kind = graph.types[node.inputs[0]]
    if kind.dtype != "int8" or kind.elements < FEWEST_ELEMENTS or not _are_rows(op, kind.shape):
        return None
    made = _coarser(op, table, kind.shape[op.axis])
    if made is None:
        return None
    name = builder.constant(made[1], f"{node.name}_exponentials")
    return {node.key: builder.add(made[0], [node.inputs[0], name], node.outputs, node.name)[0]}


def _are_rows(op: QLinearSoftmax, shape: Shape) -> bool:
    return prod(shape[op.axis + 1 :]) == 1


def _coarser(op: QLinearSoftmax, table: Array, count: int) -> tuple[QLinearSoftmax, Array] | None:
    less = int(table[0]).bit_length() - 1 - TABLE_BITS
    numerator_less = op.numerator.bit_length() - NUMERATOR_BITS
    if less < 0 or numerator_less < 0 or table.max() != table[0]:
        return None
    entries = np.rint(table * 2.0**-less).astype(np.int32)
    numerator = min(round(op.numerator / 2**numerator_less), 2**NUMERATOR_BITS - 1)
    requant = replace(op.requant, shift=op.requant.shift - numerator_less, rounding=Rounding.HALF_UP)
    made = replace(op, numerator=numerator, requant=requant)
    return (made, entries) if _fits(made, entries, count) else None


def why_not_words(graph: Graph, node: Node, op: QLinearSoftmax) -> str:
    """Why an NPU does not compute a softmax as it is; nothing where it does."""
    kind, table = graph.types[node.inputs[0]], graph.constants.get(node.inputs[1])
    if kind.dtype != "int8":
        return f"its input is {kind.dtype}; only int8 goes to the NPU"
    if not _are_rows(op, kind.shape):
        return "its rows do not lie side by side"
    if kind.elements < FEWEST_ELEMENTS:
        return f"has {kind.elements} elements; the core is faster below {FEWEST_ELEMENTS}"
    is_right = table is not None and _fits(op, table, kind.shape[op.axis])
    return "" if is_right else f"its rows of {kind.shape[op.axis]} elements need numbers of more than 32 bits"


def _fits(op: QLinearSoftmax, table: Array, count: int) -> bool:
    """Quotients have 15 bits at the most; sums and products leave the sign of 32 bits alone."""
    halves = 1 << (NUMERATOR_BITS - 1)
    return (
        _is_plain(op.requant)
        and halves <= op.numerator < 2 * halves
        and table.min() >= 0
        and table.max() == table[0] >= 1 << TABLE_BITS
        and int(table[0]) * count <= 1 << SUM_BITS
    )


def _is_plain(requant: Requant) -> bool:
    is_shifted = 0 < requant.shift <= MOST_SHIFT and requant.rounding == Rounding.HALF_UP
    return is_shifted and requant.dtype == "int8" and requant.clips_to_type
