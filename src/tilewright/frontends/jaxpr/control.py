"""Functions inside functions are opened, and so are loops of known length; what values decide on becomes loops and
branches of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright.frontends.jaxpr.emitter import Emitter, Tensor, Value
from tilewright.frontends.jaxpr.rules import Equation
from tilewright.records import dataclass

Inline: TypeAlias = "Callable[[Emitter, Any, Sequence[Value]], list[Value]]"
"""(emitter, closed jaxpr, operands) -> results."""

CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr",
    "checkpoint": "jaxpr", "remat2": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "call_jaxpr", "composite": "jaxpr",
}  # fmt: skip
"""Primitives that only call a function, and the parameter that holds it."""

LONGEST = 50_000
"""Equations that a loop may become; longer ones stay loops."""


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
        if count * len(body.jaxpr.eqns) > LONGEST:
            return self._long_scan(em, equation, *values)
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

    def _long_scan(self, em: Emitter, equation: Equation, *values: Value) -> list[Value]:
        """A loop of the model."""
        params = equation.params
        body, count, carried = params["jaxpr"], params["length"], params["num_carry"]
        constants, rest = list(values[: params["num_consts"]]), values[params["num_consts"] :]
        kinds = [_kind(var) for var in equation.outvars]
        state = [em.full(x, kind[0]) for x, kind in zip(rest[:carried], kinds, strict=False)]
        sequences = [em.full(x, (count, *x.shape[1:])) for x in rest[carried:]]
        elements = [(kind[0][1:], kind[1]) for kind in kinds[carried:]]

        def turn(given: list[Tensor]) -> list[Value]:
            found = self.inline(em, body, [*constants, *given])
            return [em.full(x, kind[0]) for x, kind in zip(found, [*kinds[:carried], *elements], strict=True)]

        graph = em.subgraph(em.free("scan"), [*kinds[:carried], *((x.shape[1:], x.dtype) for x in sequences)], turn)
        end = int(params["reverse"])
        return list(
            em.many(
                "Scan", *state, *sequences, results=kinds, body=graph, num_scan_inputs=len(sequences),
                scan_input_directions=[end] * len(sequences), scan_output_directions=[end] * len(elements),
            )
        )  # fmt: skip

    def loop(self, em: Emitter, equation: Equation, *values: Value) -> list[Value]:
        """As long as the condition can be computed now, turn by turn; then a loop of the model."""
        params = equation.params
        split, body_end = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        conditions, constants, state = values[:split], values[split:body_end], list(values[body_end:])
        steps = 0
        while True:
            (goes_on,) = self.inline(em, params["cond_jaxpr"], [*conditions, *state])
            is_long = steps * len(params["body_jaxpr"].jaxpr.eqns) > LONGEST
            if is_long or not isinstance(goes_on, np.ndarray):
                return self._open_loop(em, equation, goes_on, conditions, constants, state)
            if not bool(goes_on):
                return state
            steps += 1
            state = self.inline(em, params["body_jaxpr"], [*constants, *state])

    def _open_loop(
        self, em: Emitter, equation: Equation, first: Value, conditions: Sequence[Value], constants: Sequence[Value],
        state: Sequence[Value],
    ) -> list[Value]:  # fmt: skip
        """As often as values say when the network runs."""
        params, kinds = equation.params, [_kind(var) for var in equation.outvars]

        def turn(given: list[Tensor]) -> list[Value]:
            found = self.inline(em, params["body_jaxpr"], [*constants, *given[2:]])
            (goes_on,) = self.inline(em, params["cond_jaxpr"], [*conditions, *found])
            return [goes_on, *(em.full(x, kind[0]) for x, kind in zip(found, kinds, strict=True))]

        graph = em.subgraph(em.free("while"), [((), np.int64), ((), np.bool_), *kinds], turn)
        begun = [em.full(x, kind[0]) for x, kind in zip(state, kinds, strict=True)]
        return list(em.many("Loop", None, first, *begun, results=kinds, body=graph))

    def branch(self, em: Emitter, equation: Equation, which: Value, *values: Value) -> list[Value]:
        """The branch that is known to be taken, or a branch of the model."""
        branches = equation.params["branches"]
        if isinstance(which, np.ndarray):
            return self.inline(em, branches[int(np.clip(which, 0, len(branches) - 1))], values)
        kinds = [_kind(var) for var in equation.outvars]

        def run(number: int) -> list[Value]:
            found = self.inline(em, branches[number], values)
            return [em.full(x, kind[0]) for x, kind in zip(found, kinds, strict=True)]

        def choose(number: int) -> list[Value]:
            """Of this branch and the following ones. Numbers below 0 and above the last are moved to these."""
            if number == len(branches) - 1:
                return run(number)
            here = em.elementwise("LessOrEqual", which, np.asarray(number, which.dtype), dtype=np.bool_)
            graphs = {
                "then_branch": em.subgraph(em.free("branch"), [], lambda _: run(number)),
                "else_branch": em.subgraph(em.free("branch"), [], lambda _: choose(number + 1)),
            }
            return list(em.many("If", here, results=kinds, **graphs))

        return choose(0)


def _kind(var: Any) -> tuple[tuple[int, ...], Any]:
    return tuple(var.aval.shape), var.aval.dtype


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
