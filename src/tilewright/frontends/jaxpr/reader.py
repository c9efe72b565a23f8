"""Reading a jaxpr: equations whose operands are known are computed now, all others by their primitive's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import CompileError, InternalError, Refusal, raise_all
from tilewright.frontends.jaxpr import bits, elementwise, indexing, linear, movement, reductions
from tilewright.frontends.jaxpr.complex_numbers import COMPLEX, Complex
from tilewright.frontends.jaxpr.control import CALLS, Control
from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value
from tilewright.frontends.jaxpr.rules import RULES, Equation
from tilewright.frontends.python_errors import described
from tilewright.records import dataclass

LOADED = (bits, elementwise, indexing, linear, movement, reductions)
"""Modules that have given RULES their entries."""

MAX_FOLDED = 2**26
"""Elements of what is computed now."""

BROADCASTS = frozenset({"broadcast_in_dim"})
"""Not computed now: a bias would become as large as what it is added to."""


@dataclass(frozen=True)
class Made:
    """A result of an equation that is not inside another."""

    var: Any
    tensor: Tensor
    place: str


def read(em: Emitter, closed: Any, operands: Sequence[Value]) -> tuple[list[Value], list[Made]]:
    """The results of a jaxpr on these operands and what its equations make, or everything that stands in the way."""
    reader = _Reader()
    try:
        found = reader.inline(em, closed, operands)
    except _Unknown:
        raise_all(list(reader.errors.values()))
        raise
    if any(isinstance(value, Complex) or value.dtype.kind == "c" for value in found):
        raise CompileError("result", "is complex", "return jnp.real and jnp.imag of it, or jnp.abs")
    return found, reader.made


class _Unknown(Exception):
    """An operand whose equation was refused: one error is enough."""


class _Reader:
    def __init__(self) -> None:
        self.errors: dict[str, CompileError] = {}
        self.control = Control(self.inline)
        self.around: list[Equation] = []
        """The equations whose functions are being read, the innermost last."""
        self.made: list[Made] = []

    def inline(self, em: Emitter, closed: Any, operands: Sequence[Value]) -> list[Value]:
        """The results of a closed jaxpr, its equations in order."""
        jaxpr, constants = (closed.jaxpr, closed.consts) if hasattr(closed, "consts") else (closed, ())
        values: dict[Any, Value] = {}
        values.update(zip(jaxpr.constvars, map(_known, constants), strict=True))
        values.update(zip(jaxpr.invars, operands, strict=True))
        for equation in _needed(jaxpr):
            self._convert(em, equation, values)
        return [self._operand(var, values) for var in jaxpr.outvars]

    def _operand(self, var: Any, values: Mapping[Any, Value]) -> Value:
        if hasattr(var, "val"):  # a literal
            return np.asarray(var.val, var.aval.dtype)
        if var not in values:
            raise _Unknown
        return values[var]

    def _convert(self, em: Emitter, equation: Equation, values: dict[Any, Value]) -> None:
        """Results of one equation; a refusal is kept, so that all are told at once."""
        outer, depth = em.scope, len(self.around)
        em.scope = "/".join(filter(None, (outer, str(equation.source_info.name_stack))))
        try:
            operands = [self._operand(var, values) for var in equation.invars]
            self.around.append(equation)
            found = self._results(em, equation, operands)
            values.update(zip(equation.outvars, found, strict=True))
            if depth == 0:
                place, pairs = _place([equation]), zip(equation.outvars, found, strict=True)
                self.made += [Made(var, value, place) for var, value in pairs if isinstance(value, Tensor)]
        except _Unknown:
            pass
        except Refusal as refusal:
            error = refusal.at(_place(self.around), "write this line with other functions of jax.numpy")
            self.errors.setdefault(str(error), error)
        finally:
            em.scope = outer
            del self.around[depth:]

    def _results(self, em: Emitter, equation: Equation, operands: list[Value]) -> Sequence[Any]:
        name = equation.primitive.name
        if name not in BROADCASTS and name not in CALLS and not any(isinstance(x, Tensor | Complex) for x in operands):
            return _computed(equation, operands)
        of_reals: Any = self.control.rule(name) or RULES.get(name)
        rule = COMPLEX.get(name) if name not in CALLS and _is_complex(equation) else of_reals
        if rule is None:
            kind = " of complex numbers" if of_reals is not None else ""
            raise Refusal(f"primitive {name}{kind} is not supported", _hint(name))
        made: Any = rule(em, equation, *operands)
        return [made] if isinstance(made, Tensor | np.ndarray | Complex) else made


def _is_complex(equation: Equation) -> bool:
    types = (getattr(var.aval, "dtype", None) for var in (*equation.invars, *equation.outvars))
    return any(getattr(dtype, "kind", "") == "c" for dtype in types)


def _needed(jaxpr: Any) -> list[Equation]:
    """Equations that the results depend on."""
    needed, kept = set(map(id, jaxpr.outvars)), []
    for equation in reversed(jaxpr.eqns):
        if any(id(var) in needed for var in equation.outvars):
            kept.append(equation)
            needed.update(map(id, equation.invars))
    return kept[::-1]


def _computed(equation: Equation, operands: Sequence[Value]) -> list[Any]:
    """By JAX itself, as all operands are known."""
    if any(prod(getattr(var.aval, "shape", ())) > MAX_FOLDED for var in equation.outvars):
        raise Refusal("gives a constant of more than 64 Mi elements", "compute it in the network, or make it smaller")
    shaped = [_shaped(value, var.aval) for value, var in zip(operands, equation.invars, strict=True)]
    found = equation.primitive.bind(*shaped, **equation.params)
    return [_known(value) for value in (found if equation.primitive.multiple_results else [found])]


def _shaped(value: Any, aval: Any) -> Any:
    return np.broadcast_to(value, aval.shape) if isinstance(value, np.ndarray) else value


def _known(value: Any) -> Any:
    """A constant as an array; keys of random numbers stay what they are."""
    try:
        return np.asarray(value)
    except TypeError:
        return value


def _hint(name: str) -> str:
    if name.startswith(("random_", "rng_", "threefry")):
        return "random numbers come from outside: give them as an input, or switch dropout off"
    return "write it with other operations; docs/jax.md lists the primitives"


def _place(equations: Sequence[Equation]) -> str:
    """The innermost primitive and the user's line that it comes from, or that what it is part of comes from."""
    line = next(filter(None, map(_line, reversed(equations))), "")
    return f"{equations[-1].primitive.name}{f' at {line}' if line else ''}"


def _line(equation: Equation) -> str:
    try:
        from jax._src import source_info_util

        frame = source_info_util.user_frame(equation.source_info.traceback)
    except InternalError:
        raise
    except Exception:  # JAX's own module: where it has changed, errors have no line
        return ""
    if frame is None:
        return ""
    return described(frame.file_name, frame.start_line, "")
