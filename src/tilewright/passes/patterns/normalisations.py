"""Normalisations and softmaxes: formulas with means and maxima along axes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax
from tilewright.passes.patterns.algebra import (
    ONCE,
    Atom,
    Formula,
    Function,
    Group,
    Product,
    Reduced,
    Vector,
    X,
    alike,
    at_least,
    function,
    maximum,
    mean,
)
from tilewright.records import dataclass

Found = tuple[Op, list[Array]]
"""An operator, and the constants that follow its first operand."""


@dataclass(frozen=True)
class Factors:
    """What normalised rows are multiplied with, or what is added to them: a number, or a number times a vector."""

    number: float
    vector: Vector | None

    @property
    def formula(self) -> Formula:
        product = frozenset({(self.vector, 1.0)}) if self.vector else frozenset()
        return Formula(frozenset({(product, self.number)} if self.number else ()))

    def array(self, graph: Graph) -> Array:
        values = graph.constants[self.vector.name] if self.vector else np.ones((), np.float32)
        return np.asarray(values * np.float32(self.number), np.float32)


# ---- softmaxes ----------------------------------------------------------------------------------------------------


def softmax(formula: Formula, shape: Shape) -> Op | None:
    for reduced in atoms(formula):
        if isinstance(reduced, Reduced) and len(reduced.axes) == 1:
            return _softmax_along(formula, reduced.axes, shape[reduced.axes[0]])
    return None


def _softmax_along(formula: Formula, axes: Shape, count: int) -> Op | None:
    for shifted in (X - maximum(X, axes), X):
        share = function("Exp", shifted)
        total = mean(share, axes) * count
        if alike(formula, share / total):
            return Softmax(axes[0])
        if alike(formula, shifted - function("Log", total)):
            return LogSoftmax(axes[0])
    return None


# ---- normalisations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Normalisation:
    centred: bool
    """Whether the mean is subtracted."""
    axes: Shape
    epsilon: float
    scale: Factors
    bias: Factors

    def operator(self, graph: Graph, shape: Shape) -> Found | None:
        """What computes it on a tensor of that shape, with its constants."""
        outer = self.axes[0]
        values = [self.scale.array(graph), self.bias.array(graph)]
        if self.axes == tuple(range(outer, len(shape))) and all(_is_row(value, shape, outer) for value in values):
            return self._on_rows([_row(value, shape[outer:]) for value in values])
        return self._on_channels(shape, values)

    def _on_rows(self, rows: list[Array]) -> Found:
        if not self.centred:
            return RMSNormalization(self.axes[0], self.epsilon), rows[:1]
        is_plain = self.scale == Factors(1.0, None) and self.bias == Factors(0.0, None)
        return LayerNormalization(self.axes[0], self.epsilon), [] if is_plain else rows

    def _on_channels(self, shape: Shape, values: list[Array]) -> Found | None:
        """Each channel of each image on its own."""
        rank = len(shape)
        if not self.centred or rank < 3 or self.axes != tuple(range(2, rank)):
            return None
        tables = [per_channel(value, shape) for value in values]
        given = [table for table in tables if table is not None]
        return (GroupNormalization(shape[1], self.epsilon), given) if len(given) == len(tables) else None


def per_channel(values: Array, shape: Shape) -> Array | None:
    """A constant that meets a tensor of that shape as one value for each channel, if it is so."""
    full = (1,) * (len(shape) - values.ndim) + values.shape
    if len(shape) < 2 or any(size != 1 for axis, size in enumerate(full) if axis != 1):
        return None
    return np.broadcast_to(values.reshape(-1), shape[1:2]).copy()


def _is_row(values: Array, shape: Shape, outer: int) -> bool:
    """Whether a constant is the same for all rows."""
    surplus = values.ndim - (len(shape) - outer)
    return surplus <= 0 or values.shape[:surplus] == (1,) * surplus


def _row(values: Array, row: Shape) -> Array:
    surplus = max(values.ndim - len(row), 0)
    return np.broadcast_to(values.reshape(values.shape[surplus:]), row).copy()


def normalisation(formula: Formula) -> Normalisation | None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, or x / sqrt(mean of squares + epsilon) * scale."""
    for spread in (atom for atom in atoms(formula) if isinstance(atom, Group)):
        for moment in (atom for atom in atoms(spread.of) if isinstance(atom, Reduced) and atom.how == "mean"):
            found = _centred(formula, spread, moment.axes) or _by_squares(formula, spread, moment.axes)
            if found is not None:
                return found
    return None


def _centred(formula: Formula, spread: Group, axes: Shape) -> Normalisation | None:
    average = mean(X, axes)
    variance = mean(X * X, axes) - average * average
    for second in (variance, at_least(variance, 0.0)):
        found = _around(formula, spread, X - average, second)
        if found is not None:
            return Normalisation(True, axes, *found)
    return None


def _by_squares(formula: Formula, spread: Group, axes: Shape) -> Normalisation | None:
    found = _around(formula, spread, X, mean(X * X, axes))
    return None if found is None or found[2].number else Normalisation(False, axes, *found)


def _around(
    formula: Formula, spread: Group, centred: Formula, second: Formula
) -> tuple[float, Factors, Factors] | None:
    """Epsilon, scale and bias of centred / sqrt(second + epsilon) * scale + bias."""
    size = spread.of.constant
    factor = _multiple(spread.of - size, second)
    root = frozenset({(spread, -0.5)})
    scale = _factors([(product - root - ONCE, c) for product, c in formula.terms if root | ONCE <= product])
    bias = _factors([(product, c) for product, c in formula.terms if spread not in dict(product)])
    if factor is None or factor <= 0 or size < 0 or scale is None or bias is None:
        return None
    if not alike(formula, centred * Formula(frozenset({(root, 1.0)})) * scale.formula + bias.formula):
        return None
    return size / factor, Factors(scale.number / math.sqrt(factor), scale.vector), bias


def _multiple(one: Formula, other: Formula) -> float | None:
    """By what a formula is multiplied in another."""
    there = dict(other.terms)
    factor = next((c / there[product] for product, c in one.terms if product in there), None)
    return factor if factor is not None and alike(one, other * factor) else None


def _factors(terms: list[tuple[Product, float]]) -> Factors | None:
    """At most one term, which is a number, or a number times a vector."""
    if not terms:
        return Factors(0.0, None)
    ((product, factor),) = terms[:1]
    if len(terms) > 1 or len(product) > 1:
        return None
    if not product:
        return Factors(factor, None)
    ((atom, power),) = product
    return Factors(factor, atom) if isinstance(atom, Vector) and power == 1.0 else None


def atoms(formula: Formula) -> Iterator[Atom]:
    """All of them, those inside others too."""
    for product, _ in formula.terms:
        for atom, _ in product:
            yield atom
            if isinstance(atom, Function | Reduced | Group):
                yield from atoms(atom.of)
