"""Functions inside functions, loops and branches: all of them are opened, since their lengths are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.jaxpr.emitter import Emitter, Value
from tilewright.frontends.jaxpr.rules import Equation, refuse

Inline: TypeAlias = "Callable[[Emitter, Any, Sequence[Value]], list[Value]]"
"""(emitter, closed jaxpr, operands) -> results."""

CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr",
    "checkpoint": "jaxpr", "remat2": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "call_jaxpr", "composite": "jaxpr",
}  # fmt: skip
"""Primitives that only call a function, and the parameter that holds it."""

LONGEST = 50_000
"""Equations that loops may become."""


@dataclass(frozen=True)
class Control:
    """Rules that read other jaxprs, by means of whoever reads them."""

    inline: Inline

    def rule(self, name: str) -> Callable[..., list[Value]] | None:
        if name in CALLS:
            return self.call
        own: dict[str, Callable[..., list[Value]]] = {"scan": self.scan, "while": self.loop, "cond": self.branch}
        return own.get(name)

    def call(self, em: Emitter, equation: Equation, *values: Value) -> list[Value]:
        params = equation.params
        body = params.get(CALLS[equation.primitive.name], params.get("jaxpr", params.get("call_jaxpr")))
        return self.inline(em, body, values)

    def scan(self, em: Emitter, equation: Equation, *values: Value) -> list[Value]:
        """Step by step; slices of the sequences go in, results are put together."""
        params = equation.params
        body, count, carried = params["jaxpr"], params["length"], params["num_carry"]
        _refuse_long(count, len(body.jaxpr.eqns))
        constants, rest = list(values[: params["num_consts"]]), values[params["num_consts"] :]
        state, sequences = list(rest[:carried]), rest[carried:]
        sequences = tuple(em.full(x, (count, *x.shape[1:])) for x in sequences)
        made: list[list[Value]] = []
        for step in reversed(range(count)) if params["reverse"] else range(count):
            found = self.inline(em, body, [*constants, *state, *(_at(em, x, step) for x in sequences)])
            state, results = found[:carried], found[carried:]
            made.append(results)
        made = made[::-1] if params["reverse"] else made
        shapes = [tuple(var.aval.shape) for var in equation.outvars[carried:]]
        return [
            *state,
            *(_stacked(em, list(parts), shape) for parts, shape in zip(zip(*made, strict=True), shapes, strict=True)),
        ]

    def loop(self, em: Emitter, equation: Equation, *values: Value) -> list[Value]:
        """While the condition can be computed now: a loop with a counter that is known."""
        params = equation.params
        split, body_end = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        conditions, constants, state = values[:split], values[split:body_end], list(values[body_end:])
        steps = 0
        while self._goes_on(em, params["cond_jaxpr"], [*conditions, *state]):
            steps += 1
            _refuse_long(steps, len(params["body_jaxpr"].jaxpr.eqns))
            state = self.inline(em, params["body_jaxpr"], [*constants, *state])
        return state

    def _goes_on(self, em: Emitter, condition: Any, values: Sequence[Value]) -> bool:
        (found,) = self.inline(em, condition, values)
        if isinstance(found, np.ndarray):
            return bool(found)
        raise Refusal(
            "loops as long as values say, which are known only when the network runs",
            "loop a fixed number of times: lax.fori_loop or lax.scan",
        )

    def branch(self, em: Emitter, equation: Equation, which: Value, *values: Value) -> list[Value]:
        """The branch that is known to be taken; else all of them, and the results of one are kept."""
        branches = equation.params["branches"]
        if isinstance(which, np.ndarray):
            return self.inline(em, branches[int(np.clip(which, 0, len(branches) - 1))], values)
        results = [self.inline(em, branch, values) for branch in branches]
        return [_chosen(em, which, cases) for cases in zip(*results, strict=True)]


def _chosen(em: Emitter, which: Value, cases: Sequence[Value]) -> Value:
    found = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        bound = np.asarray(number, which.dtype)
        # Numbers of branches below 0 and above the last are moved to these.
        here = em.elementwise("LessOrEqual", which, bound, dtype=np.bool_)
        found = em.elementwise("Where", here, cases[number], found, dtype=found.dtype)
    return found


def _refuse_long(steps: int, equations: int) -> None:
    if steps * equations > LONGEST:
        raise refuse(
            f"{steps} steps of {equations} equations are more than the {LONGEST} that are written out",
            "compile one step, and call it in a loop",
        )


def _at(em: Emitter, x: Value, step: int) -> Value:
    return em.reshape(em.slice(x, [step], [step + 1], [0], [1]), x.shape[1:])


def _stacked(em: Emitter, parts: list[Value], shape: tuple[int, ...]) -> Value:
    whole = [em.reshape(em.full(part, shape[1:]), (1, *shape[1:])) for part in parts]
    if len(whole) == 1:
        return whole[0]
    known = [part for part in whole if isinstance(part, np.ndarray)]
    if len(known) == len(whole):
        return np.concatenate(known)
    return em.op("Concat", *whole, shape=shape, axis=0)
