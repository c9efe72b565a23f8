"""Sums of products in one normal form, in which two ways of writing a formula are the same.

`0.5 * x * (1 + erf(x / 1.4142))` and `x * (erf(x * 0.7071) / 2 + 0.5)` have the same terms: products are multiplied
out, division is a negative power, means are taken term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from tilewright.ir.types import Shape
from tilewright.records import dataclass

CLOSE = 5e-6
"""How far constants may be off, as a part of them: exporters write sqrt(2) with six digits."""

MOST_TERMS = 24

T = TypeVar("T")


class NoForm(Exception):
    """What is written is no sum of products, or too long a one."""


@dataclass(frozen=True)
class Tensor:
    """The tensor that a formula is about."""


@dataclass(frozen=True)
class Vector:
    """A constant with several values, by its name; `axes` are those of the tensor along which it differs."""

    name: str
    axes: Shape


@dataclass(frozen=True)
class Function:
    """Element by element."""

    name: str
    of: Formula


@dataclass(frozen=True)
class Reduced:
    """The mean or the maximum along some axes, which stay as axes of size 1."""

    how: str
    of: Formula
    axes: Shape


@dataclass(frozen=True)
class Group:
    """A sum that is not multiplied out, for it stands under a power."""

    of: Formula


Atom = Tensor | Vector | Function | Reduced | Group
Product = frozenset[tuple[Atom, float]]
"""Atoms and their powers."""


@dataclass(frozen=True)
class Formula:
    """A sum of products, each times a number."""

    terms: frozenset[tuple[Product, float]]

    def __add__(self, other: Formula | float) -> Formula:
        return _summed([*self.terms, *_formula(other).terms])

    def __neg__(self) -> Formula:
        return self * -1.0

    def __sub__(self, other: Formula | float) -> Formula:
        return self + -_formula(other)

    def __mul__(self, other: Formula | float) -> Formula:
        pairs = [(a, b) for a in self.terms for b in _formula(other).terms]
        return _summed((_joined(p, q), c * d) for (p, c), (q, d) in pairs)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Formula:
        return _formula(other) - self

    def __truediv__(self, other: Formula | float) -> Formula:
        return self * _formula(other) ** -1.0

    def __pow__(self, power: float) -> Formula:
        if power in (2.0, 3.0, 4.0) and len(self.terms) > 1:
            return math.prod([self] * int(power), start=number(1.0))
        if len(self.terms) != 1:
            return _of(Group(self), power)
        ((product, factor),) = self.terms
        # (x^2)^0.5 is no x: only what is a power of something positive has its powers multiplied.
        whole = float(power).is_integer() or all(not float(there).is_integer() for _, there in product)
        if not whole or (factor <= 0 and not float(power).is_integer()) or factor == 0:
            return _of(Group(self), power) if product else number(_power(factor, power))
        raised = frozenset((atom, there * power) for atom, there in product)
        return Formula(frozenset({(raised, _power(factor, power))}))

    @property
    def constant(self) -> float:
        """The term without a tensor."""
        return dict(self.terms).get(frozenset(), 0.0)


def number(value: float) -> Formula:
    return Formula(frozenset({(frozenset(), float(value))} if value else set()))


def function(name: str, of: Formula) -> Formula:
    """An odd function of something negative is minus that of something positive."""
    if name in ("Erf", "Tanh") and of.terms and all(factor < 0 for _, factor in of.terms):
        return -_of(Function(name, -of))
    return _of(Function(name, of))


def vector(name: str, axes: Shape) -> Formula:
    return _of(Vector(name, axes))


def at_least(of: Formula, low: float) -> Formula:
    return function("Relu", of - low) + low


def between(of: Formula, low: float, high: float) -> Formula:
    """As a clamp to the range from 0 to 1."""
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        raise NoForm
    return function("Unit", (of - low) * (1.0 / (high - low))) * (high - low) + low


def at_most(of: Formula, high: float) -> Formula:
    """Of what has a lower bound already."""
    low = of.constant
    (rest,) = (of - low).terms or {(frozenset(), 0.0)}
    atoms = [atom for atom, power in rest[0] if power == 1.0]
    if rest[1] != 1.0 or len(rest[0]) != 1 or not atoms or not isinstance(atoms[0], Function):
        raise NoForm
    if atoms[0].name != "Relu":
        raise NoForm
    return between(atoms[0].of + low, low, high)


def mean(of: Formula, axes: Shape) -> Formula:
    """Term by term; what is the same along the axes is a factor."""
    total = number(0.0)
    for product, factor in of.terms:
        inside = frozenset((atom, power) for atom, power in product if varies(atom, axes))
        average = _of(Reduced("mean", Formula(frozenset({(inside, 1.0)})), axes)) if inside else number(1.0)
        total += average * Formula(frozenset({(product - inside, factor)}))
    return total


def maximum(of: Formula, axes: Shape) -> Formula:
    return _of(Reduced("max", of, axes))


def varies(atom: Atom, axes: Shape) -> bool:
    """Whether something differs along axes; NoForm where it does along some of them only."""
    if isinstance(atom, Tensor):
        return True
    if isinstance(atom, Vector):
        return not set(axes).isdisjoint(atom.axes)
    if isinstance(atom, Reduced):
        if set(axes) != set(atom.axes):
            raise NoForm
        return False
    return any(varies(inner, axes) for product, _ in atom.of.terms for inner, _ in product)


ONCE: Product = frozenset({(Tensor(), 1.0)})
X = Formula(frozenset({(ONCE, 1.0)}))
"""The tensor itself."""


# ---- comparing ----------------------------------------------------------------------------------------------------


def alike(one: Formula, other: Formula) -> bool:
    """Whether two formulas are the same but for the last digits of their constants."""
    return _pairs(one.terms, other.terms, lambda p, q: _close(p[1], q[1]) and _alike_products(p[0], q[0]))


def _alike_products(one: Product, other: Product) -> bool:
    return _pairs(one, other, lambda p, q: p[1] == q[1] and _alike_atoms(p[0], q[0]))


def _alike_atoms(one: Atom, other: Atom) -> bool:
    if isinstance(one, Function) and isinstance(other, Function):
        return one.name == other.name and alike(one.of, other.of)
    if isinstance(one, Reduced) and isinstance(other, Reduced):
        return (one.how, one.axes) == (other.how, other.axes) and alike(one.of, other.of)
    if isinstance(one, Group) and isinstance(other, Group):
        return alike(one.of, other.of)
    return one == other


def _pairs(some: Iterable[T], others: Iterable[T], is_same: Callable[[T, T], bool]) -> bool:
    """Whether each has its like among the others."""
    left = list(others)
    for item in some:
        found = next((at for at, other in enumerate(left) if is_same(item, other)), None)
        if found is None:
            return False
        left.pop(found)
    return not left


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE)


# ---- making -------------------------------------------------------------------------------------------------------


def _formula(value: Formula | float) -> Formula:
    return value if isinstance(value, Formula) else number(value)


def _of(atom: Atom, power: float = 1.0) -> Formula:
    return Formula(frozenset({(frozenset({(atom, float(power))}), 1.0)}))


def _power(factor: float, power: float) -> float:
    try:
        return math.pow(factor, power)
    except (ValueError, OverflowError):
        raise NoForm from None


def _summed(terms: Iterable[tuple[Product, float]]) -> Formula:
    total: dict[Product, float] = {}
    for product, factor in terms:
        total[product] = total.get(product, 0.0) + factor
    if len(total) > MOST_TERMS or not all(map(math.isfinite, total.values())):
        raise NoForm
    return Formula(frozenset((product, factor) for product, factor in total.items() if factor))


def _joined(one: Product, other: Product) -> Product:
    joined = dict(one)
    for atom, power in other:
        before = joined.get(atom)
        if before is not None and before * power < 0:
            raise NoForm  # x / x is no 1 where x is 0
        joined[atom] = power if before is None else before + power
    return frozenset(joined.items())
