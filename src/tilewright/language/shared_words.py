"""Words that are looked up in the weights of the head, where a model has tied them: one array instead of two.

In floats the table is the head's weights, the other way round. In integers the head has a byte for each weight and a
factor for each word, and the quantiser may have moved factors of channels into it: a looked-up row is then the head's,
times the factor of its word and those of the channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, is_integer
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlineargather import QLinearGather
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

COLUMN_BITS = 22
"""Of the factor of a channel: times a byte, it fits 31 bits."""
ROUNDED = 0.5
"""Steps of the head's weights, root mean square, by which rows of one matrix may differ: rounding leaves 0.29 of it."""


@dataclass(frozen=True)
class _Shared:
    """One matrix that two nodes read."""

    lookup: Node
    head: Node
    columns: Array | None = None
    """Factors of the channels and their shift, where the matrix has integers."""
    shift: int = 0


def share_words(graph: Graph, has_fine_rows: bool = False) -> tuple[Graph, bool]:
    """The graph in which lookups of words read the head's weights, where those are the same; and whether they are.

    With `has_fine_rows` integers that are looked up keep the bits that the head does not have.
    """
    pairs = list(_pairs(graph))
    lookups, heads = {one.lookup.key: one for one in pairs}, {one.head.key: one for one in pairs}
    stored: dict[str, str] = {}

    def change(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if node.key in lookups:
            _look_up(graph, builder, lookups[node.key], stored)
        elif node.key in heads:
            weights = _rows(graph, builder, heads[node.key], stored)
            op = replace(node.op, trans_b=True)  # type: ignore[call-arg]
            builder.add(op, [node.inputs[0], weights, *node.inputs[2:]], node.outputs, node.name)
        else:
            return None
        return {name: name for name in node.outputs}

    if has_fine_rows and any(one.columns is not None for one in pairs):
        return graph, True
    return (rewrite(graph, change), True) if pairs else (graph, False)


def _pairs(graph: Graph) -> Iterator[_Shared]:
    """Each lookup and each product once."""
    taken: set[str] = set()
    for lookup in (node for node in graph.nodes if _is_lookup(graph, node)):
        shared = (_shared(graph, lookup, node) for node in graph.nodes if node.key not in taken)
        found = next(filter(None, shared), None)
        if found is not None:
            taken.add(found.head.key)
            yield found


def _is_lookup(graph: Graph, node: Node) -> bool:
    table = graph.constants.get(node.inputs[0])
    return isinstance(node.op, Gather) and node.op.axis == 0 and table is not None and table.ndim == 2


def _shared(graph: Graph, lookup: Node, head: Node) -> _Shared | None:
    if not isinstance(head.op, MatMul) or head.op.trans_b or head.op.perm_b or head.op.b_zero:
        return None
    table, weights = graph.constants[lookup.inputs[0]], graph.constants.get(head.inputs[1])
    if weights is None or weights.shape != table.shape[::-1]:
        return None
    if not is_integer(table.dtype.name):
        return _Shared(lookup, head) if np.array_equal(table, weights.T) else None
    mul = graph.constants.get(head.operands().get("mul", ""))
    if weights.dtype != np.int8 or table.dtype != np.int16 or mul is None or mul.shape != table.shape[:1]:
        return None
    return _fitted(lookup, head, table.astype(np.float64), weights.T * mul.reshape(-1, 1).astype(np.float64), mul)


def _fitted(lookup: Node, head: Node, table: Array, rows: Array, mul: Array) -> _Shared | None:
    """With the factors of channels that make one matrix of the other, if there are any."""
    squares = np.square(rows).sum(0)
    factors = (table * rows).sum(0) / np.where(squares == 0, 1, squares)
    steps = mul.reshape(-1, 1) * np.abs(factors)
    error = np.divide(table - rows * factors, steps, out=np.zeros_like(table), where=steps > 0)
    largest = np.abs(factors).max(initial=0.0)
    if largest == 0 or np.sqrt(np.mean(np.square(error))) > ROUNDED:
        return None
    shift = COLUMN_BITS - 1 - int(np.floor(np.log2(largest)))
    return _Shared(lookup, head, np.round(factors * 2.0**shift).astype(np.int32), shift)


def _look_up(graph: Graph, builder: Builder, one: _Shared, stored: dict[str, str]) -> None:
    node, table = one.lookup, _rows(graph, builder, one, stored)
    if one.columns is None:
        builder.add(node.op, [table, node.inputs[1]], node.outputs, node.name)
        return
    columns = builder.constant(one.columns, f"{node.name}_columns")
    op = QLinearGather(full_range(one.shift, graph.types[node.key].dtype))
    builder.add(op, [table, node.inputs[1], one.head.operands()["mul"], columns], node.outputs, node.name)


def _rows(graph: Graph, builder: Builder, one: _Shared, stored: dict[str, str]) -> str:
    """The head's weights with a row for each word."""
    name = one.head.inputs[1]
    if name not in stored:
        stored[name] = builder.constant(np.ascontiguousarray(graph.constants[name].T), name)
    return stored[name]
