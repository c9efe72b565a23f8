"""Kernels of nodes whose sizes a caller says: one kernel for all sizes, with parameters that are expressions of them.

What a kernel takes, and its parameters, follow from shapes in Python. They are computed with lengths, which gives
expressions, and held to what they are with numbers, at many sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.ir.at_sizes import is_sized, said, symbols_of
from tilewright.ir.graph import Graph, Node
from tilewright.ir.length import Form, Least, Length, Symbol, as_size, constant, lengths_in, numbers_of
from tilewright.ir.op import Params
from tilewright.ir.tried_sizes import Call
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Choice, Mapped, Refused, unsupported

MOST_DIVISOR = 64


def for_all_sizes(mapped: Mapped) -> Mapped:
    """With kernels that take their nodes at every size, as far as the graph has dimensions with a range."""
    symbols = symbols_of(mapped.graph)
    if not symbols:
        return mapped
    chosen, others, refusals = dict[str, Choice](), dict[str, tuple[Choice, ...]](), dict(mapped.refusals)
    for node in mapped.graph.nodes:
        wrong = _wrong_at(Call.of(mapped.graph, node, symbols))
        if wrong is not None:
            raise fixed_sizes(node.where, f"does not follow the sizes of its dimensions: {wrong}", symbols)
        if node.key not in mapped.choices:
            continue
        found = [(choice, _refused_at(mapped.graph, choice, symbols)) for choice in mapped.all_choices(node)]
        kept = [choice for choice, reason in found if reason is None]
        refused = [Refused(one.engine.name, one.kernel.stem, reason) for one, reason in found if reason is not None]
        if not kept:
            what = f"no kernel of target {mapped.target.name} takes it at every size"
            raise fixed_sizes(node.where, f"{what} ({refused[-1].kernel}: {refused[-1].reason})", symbols)
        chosen[node.key], others[node.key] = kept[0], tuple(kept[1:])
        refusals[node.key] = (*refusals.get(node.key, ()), *refused)
    return replace(mapped, choices=chosen, alternatives=others, refusals=refusals)


def fixed_sizes(where: str, what: str, symbols: Sequence[Symbol]) -> CompileError:
    """The error for what can be done at one size only."""
    return CompileError(where, what, f"fix the size: {' '.join(f'--dim {one.name}={one.high}' for one in symbols)}")


@lru_cache(maxsize=2**12)
def _wrong_at(call: Call) -> str | None:
    return call.check()


def _refused_at(graph: Graph, choice: Choice, symbols: tuple[Symbol, ...]) -> str | None:
    """Why a kernel does not do for all sizes."""
    call = Call.of(graph, choice.node, symbols)
    return _wrong_at(call) or _unsupported_at(choice.kernel, call)


@lru_cache(maxsize=2**12)
def _unsupported_at(kernel: Kernel, call: Call) -> str | None:
    for sizes, op, types in call.at_each():
        refusal = unsupported(kernel, op, tuple(types.items()))
        if refusal is not None:
            return f"with {said(sizes)} {refusal.what}"
    return None


# ---- parameters --------------------------------------------------------------------------------------------------


def sized_params(graph: Graph, kernel: Kernel, node: Node) -> Params:
    """What a kernel is given, with lengths for what sizes change."""
    symbols = symbols_of(graph)
    try:
        return _params(kernel, Call.of(graph, node, symbols))
    except Refusal as refusal:
        raise fixed_sizes(node.where, f"kernel {kernel.stem}: {refusal.what}", symbols) from None


@lru_cache(maxsize=2**12)
def _params(kernel: Kernel, call: Call) -> Params:
    traced = kernel.params(call.op, dict(call.types))
    seen = [(sizes, numbers_of(kernel.params(op, types))) for sizes, op, types in call.with_lengths_at_each()]
    known = dict.fromkeys(one.form for one in lengths_in(traced))
    fit = _Fit(tuple(Form.of({(symbol,): 1}) for symbol in call.symbols), tuple(known))
    return {name: fit.of(name, value, [(at, one[name]) for at, one in seen]) for name, value in traced.items()}


def most_scratch_at(graph: Graph, kernel: Kernel, node: Node) -> int:
    """Bytes of working memory that no size exceeds."""
    if kernel.scratch is None:
        return 0
    types = graph.all_types(node)
    if not any(map(is_sized, types.values())):
        return kernel.scratch_bytes(node.op, types)
    return _scratch(kernel, Call.of(graph, node, symbols_of(graph)))


@lru_cache(maxsize=2**12)
def _scratch(kernel: Kernel, call: Call) -> int:
    return max(int(kernel.scratch_bytes(op, types)) for _, op, types in call.at_each(every=True))


Seen = Sequence[tuple[Mapping[str, int], Any]]


Numbers = Sequence[tuple[Mapping[str, int], int]]


@dataclass(frozen=True)
class _Fit:
    """Expressions of symbols for numbers that were seen at some sizes."""

    symbols: tuple[Form, ...]
    known: tuple[Form, ...]
    """Lengths that other parameters are."""

    def of(self, name: str, traced: Any, seen: Seen) -> Any:
        """A value that is what was seen at every size; `traced` is what Python computed with lengths."""
        values = [value for _, value in seen]
        if isinstance(traced, Mapping):
            return {key: self.of(key, one, [(at, value[key]) for at, value in seen]) for key, one in traced.items()}
        if isinstance(traced, tuple | list):
            if any(len(value) != len(traced) for value in values):
                raise Refusal(f"its parameter '{name}' has another length at other sizes")
            return type(traced)(
                self.of(name, one, [(at, value[i]) for at, value in seen]) for i, one in enumerate(traced)
            )
        if all(value == values[0] and type(value) is type(values[0]) for value in values):
            return values[0]
        if any(isinstance(value, float) for value in values):
            raise Refusal(f"its parameter '{name}' is a float that depends on the size")
        form = next((form for form in self._forms(traced, seen) if _holds(form, seen)), None)
        if form is None:
            listed = ", ".join(f"{value} with {said(sizes)}" for sizes, value in seen[:4])
            raise Refusal(f"its parameter '{name}' follows no expression that is known: {listed}, ...")
        return as_size(form)

    def _forms(self, traced: Any, seen: Numbers) -> Iterator[Form]:
        """What a parameter may be: computed with lengths; a polynomial; one that stops growing, or another parameter
        that does; a quotient."""
        if isinstance(traced, Length):
            yield traced.form
        yield self._polynomial(seen)
        most = max(value for _, value in seen)
        if isinstance(traced, Length):
            yield Form.of({(Least(traced.form, constant(most)),): 1})
        if below := [one for one in seen if one[1] < most]:
            yield Form.of({(Least(self._polynomial(below), constant(most)),): 1})
        yield from (Form.of({(Least(form, constant(most)),): 1}) for form in self.known)
        yield from self._quotients(seen)

    def _polynomial(self, seen: Numbers) -> Form:
        """Of degree two at most, with the nearest whole factors."""
        products = (one.times(other) for one, other in combinations_with_replacement(self.symbols, 2))
        forms = [constant(1), *self.symbols, *products]
        rows = np.array([[form.at(sizes) for form in forms] for sizes, _ in seen], np.float64)
        factors = np.linalg.lstsq(rows, np.array([value for _, value in seen], np.float64), rcond=None)[0]
        total = constant(0)
        for form, factor in zip(forms, np.rint(factors).astype(int).tolist(), strict=True):
            total = total.plus(form, factor)
        return total

    def _quotients(self, seen: Numbers) -> Iterator[Form]:
        """Of one dimension, rounded down or up, some times."""
        if len(self.symbols) != 1:
            return
        (sizes, value), *_ = seen
        unit = min({abs(one - other) for _, one in seen for _, other in seen} - {0})
        for divisor in range(2, MOST_DIVISOR + 1):
            for more in range(divisor):
                form = self.symbols[0].plus(constant(more)).divided(constant(divisor))
                yield constant(value - unit * form.at(sizes)).plus(form, unit)


def _holds(form: Form, seen: Numbers) -> bool:
    return all(form.at(sizes) == value for sizes, value in seen)
