"""Where rules are: one function per primitive of JAX, found by the primitive's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tilewright.errors import Refusal
from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.ir.types import Shape

Equation: TypeAlias = Any
"""A `jax.core.JaxprEqn`: JAX has no types for it outside its own package."""

Rule: TypeAlias = "Callable[..., Value | Sequence[Value]]"
"""(emitter, equation, *operands) -> the result, or all results in order."""

RULES: dict[str, Rule] = {}


def rule(*primitives: str) -> Callable[[Rule], Rule]:
    """Make a function the rule of these primitives."""

    def register(found: Rule) -> Rule:
        RULES.update(dict.fromkeys(primitives, found))
        return found

    return register


def shape_in(equation: Equation, position: int = 0) -> Shape:
    """The shape that JAX gives an operand."""
    return tuple(equation.invars[position].aval.shape)


def shape_out(equation: Equation, position: int = 0) -> Shape:
    return tuple(equation.outvars[position].aval.shape)


def whole(em: Emitter, equation: Equation, values: Sequence[Value]) -> list[Value]:
    """The operands in their whole shapes, for what does not broadcast."""
    return [em.full(value, shape_in(equation, i)) for i, value in enumerate(values)]


def refuse(what: str, hint: str = "") -> Refusal:
    return Refusal(what, hint or "write it with operations that JAX compiles to others, or leave it on the host")
