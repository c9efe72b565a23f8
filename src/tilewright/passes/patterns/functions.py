"""Functions of one tensor, element by element: activations as exporters write them out."""

from __future__ import annotations

import math

from tilewright.ir.op import Op
from tilewright.ops.gelu import Gelu
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.hardswish import HardSwish
from tilewright.ops.mish import Mish
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softplus import Softplus
from tilewright.ops.swish import Swish
from tilewright.passes.patterns.algebra import ONCE, Formula, Function, Group, X, alike, between, function

CUBIC = math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)
GELU = 0.5 * X * (1.0 + function("Erf", X * math.sqrt(0.5)))
GELU_TANH = 0.5 * X * (1.0 + function("Tanh", CUBIC))
SOFTPLUS = (
    function("Log", 1.0 + function("Exp", X)),
    function("Relu", X) + function("Log", 1.0 + function("Exp", -function("Abs", X))),
)
HARD_SWISH = X * between(X * (1 / 6) + 0.5, 0.0, 1.0)


def sigmoids(of: Formula) -> tuple[Formula, ...]:
    """The operator, and the ways to write it out."""
    return function("Sigmoid", of), (1.0 + function("Exp", -of)) ** -1.0


FIXED: tuple[tuple[Formula, Op], ...] = (
    (GELU, Gelu()),
    (GELU_TANH, Gelu("tanh")),
    *((X * sigmoid, Gelu("tanh")) for sigmoid in sigmoids(2.0 * CUBIC)),
    (HARD_SWISH, HardSwish()),
    *((softplus, Softplus()) for softplus in SOFTPLUS),
    *((X * function("Tanh", softplus), Mish()) for softplus in (function("Softplus", X), *SOFTPLUS)),
    (sigmoids(X)[1], Sigmoid()),
)


def recognised(formula: Formula) -> Op | None:
    """The operator that a formula is."""
    found = next((op for known, op in FIXED if alike(formula, known)), None)
    return found or _swish(formula) or _hard_sigmoid(formula)


def _swish(formula: Formula) -> Op | None:
    """x * sigmoid(alpha * x)"""
    alpha = _inner_factor(formula)
    if alpha is None or not any(alike(formula, X * sigmoid) for sigmoid in sigmoids(alpha * X)):
        return None
    return Swish(alpha)


def _inner_factor(formula: Formula) -> float | None:
    """What x is multiplied with inside a sigmoid."""
    for product, _ in formula.terms:
        for atom, _ in product:
            if isinstance(atom, Function) and atom.name == "Sigmoid":
                return dict(atom.of.terms).get(ONCE)
            if isinstance(atom, Group):
                return next((-factor for inner in _exponents(atom.of) for _, factor in inner.terms), None)
    return None


def _exponents(formula: Formula) -> list[Formula]:
    atoms = [atom for product, _ in formula.terms for atom, _ in product]
    return [atom.of for atom in atoms if isinstance(atom, Function) and atom.name == "Exp"]


def _hard_sigmoid(formula: Formula) -> Op | None:
    """clamp(alpha * x + beta, 0, 1)"""
    atoms = [atom for product, _ in formula.terms for atom, _ in product]
    if len(atoms) != 1 or not isinstance(atoms[0], Function) or atoms[0].name != "Unit":
        return None
    inner = atoms[0].of
    alpha, beta = dict(inner.terms).get(ONCE, 0.0), inner.constant
    expected = function("Unit", alpha * X + beta)
    return HardSigmoid(alpha, beta) if alpha and alike(formula, expected) else None
