"""Operators that JAX writes out in several primitives and that ONNX has whole, found again by what made their operands.

Nodes that nobody reads any more are dropped when the model is imported.
"""

from __future__ import annotations

from math import isclose, pi, sqrt

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value


def softmax(em: Emitter, exponentials: Value, total: Value) -> Value | None:
    """exp(x - c) / sum(exp(x - c)) for any c that is the same along the axis: softmax(x)."""
    summed = _operands(em, _kept(em, total), "ReduceSum")
    shifted = _operands(em, exponentials, "Exp")
    if summed is None or shifted is None or not _is(summed[0], exponentials):
        return None
    parts, axes = _operands(em, shifted[0], "Sub"), summed[1]
    if parts is None or not isinstance(axes, np.ndarray) or axes.size != 1:
        return None
    (x, offset), axis = parts, int(axes[0])
    if not isinstance(x, Tensor) or x.shape != exponentials.shape or not _is_same_along(offset, total, axis):
        return None
    return em.op("Softmax", x, shape=x.shape, axis=axis)


def _is_same_along(offset: Value | None, total: Value, axis: int) -> bool:
    shapes = [value.shape for value in (offset, total) if value is not None]
    return len(shapes) == 2 and all(len(shape) > axis and shape[axis] == 1 for shape in shapes)


def gelu(em: Emitter, x: Value, y: Value) -> Value | None:
    """x * (1 + tanh(...)) / 2 and x / 2 * erfc(-x / sqrt(2))."""
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Tensor) and _is_tanh_gate(em, one, other):
            return em.op("Gelu", one, shape=one.shape, approximate="tanh")
        halved = _with_number(em, one, "Mul", 0.5)
        if isinstance(halved, Tensor) and _is_erf_gate(em, halved, other):
            return em.op("Gelu", halved, shape=halved.shape)
    return None


def _is_tanh_gate(em: Emitter, x: Tensor, gate: Value) -> bool:
    inside = _operands(em, _with_number(em, _with_number(em, gate, "Mul", 0.5), "Add", 1.0), "Tanh")
    sum_ = _with_number(em, inside[0], "Mul", sqrt(2 / pi)) if inside else None
    terms = _operands(em, sum_, "Add")
    if terms is None or not any(_is(term, x) for term in terms):
        return False
    cubic = terms[1] if _is(terms[0], x) else terms[0]
    cube = _operands(em, _with_number(em, cubic, "Mul", 0.044715), "Mul")
    square = _operands(em, cube[0], "Mul") if cube else None
    return cube is not None and square is not None and all(_is(part, x) for part in (*square, cube[1]))


def _is_erf_gate(em: Emitter, x: Tensor, gate: Value) -> bool:
    """1 - erf(-x / sqrt(2))"""
    parts = _operands(em, gate, "Sub")
    if parts is None or not _is_number(parts[0], 1.0):
        return False
    inside = _operands(em, parts[1], "Erf")
    negated = _operands(em, _with_number(em, inside[0], "Mul", sqrt(0.5)) if inside else None, "Neg")
    return negated is not None and _is(negated[0], x)


def _operands(em: Emitter, value: Value | None, kind: str) -> tuple[Value | None, ...] | None:
    """What a tensor was made from, if by an operator of that kind."""
    made = em.made.get(value.name) if isinstance(value, Tensor) else None
    return made.operands if made is not None and made.kind == kind else None


def _with_number(em: Emitter, value: Value | None, kind: str, number: float) -> Value | None:
    """The other operand of a sum or a product with that number."""
    parts = _operands(em, value, kind)
    if parts is None:
        return None
    x, y = parts[:2]
    return y if _is_number(x, number) else x if _is_number(y, number) else None


def _is_number(value: Value | None, number: float) -> bool:
    return isinstance(value, np.ndarray) and value.size == 1 and isclose(float(value.flat[0]), number, rel_tol=1e-5)


def _is(value: Value | None, tensor: Value | None) -> bool:
    return isinstance(value, Tensor) and isinstance(tensor, Tensor) and value.name == tensor.name


def _kept(em: Emitter, value: Value) -> Value | None:
    """What a tensor was before an axis of size 1 was put in."""
    parts = _operands(em, value, "Reshape")
    return value if parts is None else parts[0]
