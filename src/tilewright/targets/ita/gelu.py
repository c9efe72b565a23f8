"""GELU on ITA: which tables of bytes stand for it, ITA's polynomial in their place, and that as part of a product."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops.lookup import Lookup
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ita.arithmetic import GELU, GELU_A, GELU_B, IDENTITY, Activation
from tilewright.targets.ita.linear import ItaLinear
from tilewright.targets.ita.requantising import nearest
from tilewright.targets.ita.tiling import ItaRows

BYTES = np.arange(-128, 128)
STEPS = np.geomspace(2.0**-6, 2.0**-4, 121)
"""Of inputs, of which the one that fits a table best is taken. With smaller ones the polynomial's numbers do not fit 16
bits, with larger ones a table is no more GELU than a relu."""
NEAR = 1.5
"""How far an entry may be from GELU: the table is rounded, and steps lie apart."""


@dataclass(frozen=True)
class ItaGelu(Internal):
    """A function of bytes as ITA computes it: minus GELU, by a polynomial."""

    curve: Activation = field(default_factory=Activation)

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        return {"X": axes, "Y": axes}

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype != "int8" or self.curve.kind != GELU:
            raise Refusal(f"X is {types['X']} and the function {self.curve.kind}; int8 and {GELU} are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return ("int8",)

    def numpy(self, X: Array) -> Array:
        return self.curve(X)


@dataclass(frozen=True)
class Fit:
    """table[x] is about gelu((x - zero) * step) / result + result_zero."""

    step: float
    result: float
    result_zero: int


def gelu_fit(table: Array, zero: int, result_zero: int) -> Fit | None:
    """What a table of int8 stands for, if that is GELU of bytes with these zero points."""
    values = table.astype(np.float64)
    inside = (values > -128) & (values < 127)
    if inside.sum() <= len(BYTES) // 4:
        return None
    fits = [_fit(values[inside], (BYTES - zero)[inside], float(step), result_zero) for step in STEPS]
    errors = [_table(one, zero) - values for one in fits]
    best = int(np.argmin([float((error**2).mean()) for error in errors]))
    return fits[best] if np.abs(errors[best]).max() <= NEAR else None


def _fit(values: Array, x: Array, step: float, result_zero: int) -> Fit:
    """The step of results that leaves least."""
    gelu = _gelu(x * step)
    slope = float((gelu * (values - result_zero)).sum() / max((gelu * gelu).sum(), 1e-9))
    return Fit(step, 1 / max(slope, 1e-9), result_zero)


def _table(fit: Fit, zero: int) -> Array:
    return np.asarray(np.clip(np.rint(_gelu((BYTES - zero) * fit.step) / fit.result) + fit.result_zero, -128, 127))


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def curve_of(fit: Fit, wider: float) -> Activation:
    """ITA's polynomial of bytes around zero, in steps `wider` times as large; results mirrored in their zero point."""
    scaled = fit.step * wider / math.sqrt(2)
    scale = nearest(-GELU_A * scaled * scaled / 2 * fit.step * wider / fit.result)
    b, c = round(GELU_B / scaled), round(1 / (GELU_A * scaled * scaled))
    return Activation(GELU, replace(scale, add=mirrored(fit.result_zero)), b, c)


def mirrored(zero: int) -> int:
    """The zero point of bytes that are read from the other end."""
    return -1 - zero


# ---- rewriting ----


def fuse(graph: Graph) -> Graph:
    return rewrite(graph, partial(_fused, graph))


def _fused(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """Rows of a product with the function are those of the product that applies it."""
    found = _before_gelu(graph, node)
    if found is None:
        return None
    (tiles,) = builder.add(replace(found.product, curve=found.gelu.curve), found.inputs, name=found.name)
    builder.add(found.rows, [tiles], node.outputs, node.name)
    return {node.key: node.key}


@dataclass(frozen=True)
class _BeforeGelu:
    """A product whose rows nobody reads but GELU."""

    gelu: ItaGelu
    rows: ItaRows
    product: ItaLinear
    inputs: Sequence[str]
    name: str
    """Of the product."""


def _before_gelu(graph: Graph, node: Node) -> _BeforeGelu | None:
    rows = graph.producers.get(node.inputs[0]) if isinstance(node.op, ItaGelu) else None
    made = graph.producers.get(rows.inputs[0]) if rows is not None and isinstance(rows.op, ItaRows) else None
    if rows is None or made is None or not isinstance(node.op, ItaGelu) or not isinstance(rows.op, ItaRows):
        return None
    if not isinstance(made.op, ItaLinear) or made.op.curve.kind != IDENTITY or rows.op.flips:
        return None
    if not (is_only_reader(graph, node, rows.key) and is_only_reader(graph, rows, made.key)):
        return None
    return _BeforeGelu(node.op, rows.op, made.op, made.inputs, made.name)


def none_behind_products(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        found = _before_gelu(graph, node)
        if found is not None:
            yield node.where, f"is GELU of a product on ITA, '{found.name}', which could apply it"


def tabulate(graph: Graph) -> Graph:
    def table(node: Node, builder: Builder) -> Mapping[str, str] | None:
        if not isinstance(node.op, ItaGelu):
            return None
        entries = builder.constant(node.op.numpy(BYTES.astype(np.int8)), f"{node.name}_table")
        builder.add(Lookup(), [node.inputs[0], entries], node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, table)


def no_gelu(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if isinstance(node.op, ItaGelu):
            yield node.where, "is ITA's GELU outside of a product"


GELU_IN_PRODUCTS = Pass("GELU in products on ITA", fuse, ensures=none_behind_products)
GELU_BY_TABLES = Pass("ITA's GELU by tables", tabulate, ensures=no_gelu)
"""Where cores compute it."""
