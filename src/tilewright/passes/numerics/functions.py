"""Functions right behind layers: a byte for every few 16-bit numbers, instead of lines between 32-bit numbers; and
factors of the layer that 32 bits have room for with every total.

A table is as short as steps of a quarter allow. Factors are rounded to multiples of a power of two, where that moves no
result by more than an eighth: hardware with products of 32 bits leaves the zeros away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearfunction import LOWEST, X_BITS, QLinearFunction, fraction_bits
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.passes import Complaint, Numbers, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.numerics.layers import layer_totals
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.requant.lines import MOST_FACTOR, are_words
from tilewright.requant.spec import RequantSpec

SIZES = range(8, 13)
"""The logarithms of the tables' lengths that are tried."""
SPREAD = 1 / 4
"""Of a function, in units of the result, over the numbers that share a byte."""
MOVED = 1 / 8
"""How far a factor that is rounded may move a result, in the same units."""
ELEMENTS = 1 / 2
"""For each byte of a table: for less, it is not worth its transfer."""
OTHER = 1 / 2
"""Steps that the next integer is off, in the worst case: even a little that results move makes some of them another."""
NUMBERS = Numbers(steps_by_operator={"QLinearSteps": max(SPREAD / 2 + MOVED, OTHER)}, share=1 / 16)


@dataclass(frozen=True, eq=False)
class Steps:
    """What becomes of a function and of the layer before it."""

    table: Array
    mul: Array | None
    """The layer's factors; None where they stay."""


def run(graph: Graph) -> Graph:
    found = dict(_all_steps(graph))
    by_layer = {graph.producers[key].inputs[0]: steps for key, steps in found.items()}
    return rewrite(graph, partial(_replaced, found, by_layer))


def _replaced(
    found: Mapping[str, Steps], by_layer: Mapping[str, Steps], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if node.key in found:
        table = builder.constant(found[node.key].table, f"{node.name}_steps")
        builder.add(QLinearSteps(), [node.inputs[0], table], node.outputs, node.name)
        return {node.key: node.key}
    steps = by_layer.get(node.key)
    if steps is None or steps.mul is None:
        return None
    operands = node.operands()
    name = builder.constant(steps.mul, f"{node.name}_mul")
    inputs = [name if tensor == operands["mul"] else tensor for tensor in node.inputs]
    (moved,) = builder.add(node.op, inputs, name=node.name)  # other numbers have another name
    return {node.key: moved}


def _all_steps(graph: Graph) -> Iterator[tuple[str, Steps]]:
    for node in graph.nodes:
        steps = _steps(graph, node)
        if steps is not None:
            yield node.key, steps


def _steps(graph: Graph, node: Node) -> Steps | None:
    """Of a function of which nothing else reads the operand, a layer's result."""
    source = graph.producers.get(node.inputs[0]) if isinstance(node.op, QLinearFunction) else None
    if source is None or not isinstance(source.op, Conv | MatMul) or not is_only_reader(graph, node, source.key):
        return None
    table = graph.constants.get(node.inputs[1])
    values = None if table is None else _values(node.op, table)
    steps = None if values is None else _table(values, graph.types[node.key].dtype)
    if values is None or steps is None or graph.types[node.key].elements < ELEMENTS * len(steps):
        return None
    return Steps(steps, _short_factors(graph, source, source.op.requant, values))


def _values(op: object, table: Array) -> Array | None:
    """Of all 16-bit numbers, before they are rounded; None where results are no bytes."""
    requant = op.requant if isinstance(op, QLinearFunction) else None
    if requant is None or requant.dtype not in ("int8", "uint8"):
        return None
    bits, above = fraction_bits(table.shape), np.arange(2**X_BITS)
    at, rest = above >> bits, above & ((1 << bits) - 1)
    wide = table.astype(np.int64)
    total = (wide[at] << bits) + (wide[at + 1] - wide[at]) * rest
    return np.clip(total * 2.0**-requant.shift + requant.zero_point, requant.low, requant.high)


def _table(values: Array, dtype: str) -> Array | None:
    """The shortest one; None where the function changes too fast."""
    for size in SIZES:
        parts = values.reshape(2**size, -1)
        least, most = parts.min(axis=1), parts.max(axis=1)
        if (most - least).max() <= SPREAD:
            return np.floor((least + most) / 2 + 0.5).astype(dtype)
    return None


def _short_factors(graph: Graph, node: Node, requant: Requant | None, values: Array) -> Array | None:
    """The factors with as few zeros below as 32 bits allow; None where they stay, as they move results too far."""
    spec = layer_totals(graph, node)
    if spec is None or requant is None or not _is_whole(requant) or spec.add is not None or spec.mul.min() < 0:
        return None
    for zeros in range(requant.shift):
        factor = (spec.mul + (1 << zeros >> 1)) >> zeros
        if factor.max() <= MOST_FACTOR and _fit(spec, factor, requant.shift - zeros):
            mul = factor << zeros
            shape = graph.types[node.operands()["mul"]].shape
            kept = _farthest(spec, mul, values) <= MOVED
            return mul.astype(np.int32).reshape(*shape[:-1], -1) if kept and zeros else None
    return None


def _is_whole(requant: Requant) -> bool:
    return requant.rounding in UP and requant.dtype == "int16" and requant.clips_to_type


def _fit(spec: RequantSpec, factor: Array, shift: int) -> bool:
    """Whether no total leaves 32 bits, with one half and the zero point."""
    summand = ((1 << shift) >> 1) + (spec.requant.zero_point << shift)
    ends = np.stack([spec.low, spec.high, np.zeros_like(spec.low)]) * factor + summand
    return bool(np.all(are_words(ends)))


def _farthest(spec: RequantSpec, mul: Array, values: Array) -> float:
    """By how much results move at most, of the filter whose factor is off most."""
    apart = np.abs(np.arange(2**X_BITS) + LOWEST - spec.requant.zero_point)
    change = np.abs(np.diff(values, append=values[-1:])) * apart
    off = np.abs(mul - spec.mul) / np.maximum(spec.mul, 1)
    return float(change.max() * off.max())


def all_by_steps(graph: Graph) -> Iterator[Complaint]:
    for key, _ in _all_steps(graph):
        yield graph.producers[key].where, "is a function behind a layer that a table of bytes could hold"


FUNCTIONS_BY_STEPS = Pass("functions behind layers by steps", run, ensures=all_by_steps, numbers=NUMBERS)
