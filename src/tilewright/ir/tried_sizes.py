"""A graph at many of the sizes that its dimensions may have: what holds at all of these is taken to hold at every
other one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any

from tilewright.errors import CompileError, Refusal
from tilewright.ir.at_sizes import said
from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import infer
from tilewright.ir.length import Symbol, pinned_length, resolved
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.records import dataclass

EDGE = 9
"""Sizes next to the least that are all tried."""
BY_CHANCE = 12
"""Combinations of the sizes of several dimensions that are tried besides."""
ONE_BY_ONE = 512
"""Sizes of a dimension, from the least on, that are all tried where there may be more in between than at the ends."""


@lru_cache
def tried_sizes(symbols: tuple[Symbol, ...]) -> list[dict[str, int]]:
    """Sizes that everything is held to: both ends, what is next to them and to powers of two, and some between."""
    each = {symbol.name: _tried(symbol) for symbol in symbols}
    found = [{name: choose(sizes) for name, sizes in each.items()} for choose in (max, min)]
    for name, sizes in each.items():
        found += [base | {name: size} for base in found[:2] for size in sizes]
    chance = random.Random(7)
    if len(each) > 1:
        found += [{name: chance.choice(sizes) for name, sizes in each.items()} for _ in range(BY_CHANCE)]
    return [dict(one) for one in dict.fromkeys(tuple(sizes.items()) for sizes in found)]


def _tried(symbol: Symbol) -> list[int]:
    low, high = symbol.low, symbol.high
    ends = {*range(low, low + EDGE), *range(high - EDGE // 2, high + 1)}
    powers = {2**power + more for power in range(4, high.bit_length()) for more in (-1, 0, 1)}
    return sorted(size for size in (*ends, *powers, (low + high) // 2) if low <= size <= high)


@lru_cache
def all_tried_sizes(symbols: tuple[Symbol, ...]) -> list[dict[str, int]]:
    """Those, and one size after another: what is cut into parts of about the same size is not largest at the end."""
    least = {symbol.name: symbol.low for symbol in symbols}
    found = [
        least | {symbol.name: size}
        for symbol in symbols
        for size in range(symbol.low, min(symbol.high + 1, symbol.low + ONE_BY_ONE))
    ]
    return [dict(one) for one in dict.fromkeys(tuple(sizes.items()) for sizes in (*tried_sizes(symbols), *found))]


def checked_sizes(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """A few sizes to compare outputs at: the least, the one above, some between, the most."""
    found = [{one.name: one.low for one in symbols}, {one.name: min(one.low + 1, one.high) for one in symbols}]
    found += [{one.name: round(one.low + (one.high - one.low) * part) for one in symbols} for part in (0.3, 0.62, 1)]
    if len(symbols) > 1:
        found += [{one.name: one.high if one is longest else one.low for one in symbols} for longest in symbols]
    return [dict(one) for one in dict.fromkeys(tuple(sizes.items()) for sizes in found)]


def checked_dims(dims: Mapping[str, Any]) -> dict[str, int | tuple[int, int]]:
    """Sizes of dimensions, or ranges of them, as a user says them."""
    return {name: _checked_dim(name, given) for name, given in dims.items()}


def _checked_dim(name: str, given: Any) -> int | tuple[int, int]:
    listed = list(given) if isinstance(given, tuple | list) else [given]
    shown = "..".join(map(str, listed))
    if not isinstance(name, str) or any(isinstance(one, bool) or not isinstance(one, Integral) for one in listed):
        what = "is no name and a whole number, or two of these as a range"
        raise CompileError(f"--dim {name}={shown}", what, 'for example {"batch": 4} or {"batch": (1, 8)}')
    sizes = [int(one) for one in listed]
    if isinstance(given, tuple | list) and (len(sizes) != 2 or not 0 <= sizes[0] <= sizes[1]):
        raise CompileError(f"--dim {name}={shown}", "is no range", f"for example --dim {name}=1..8")
    return sizes[0] if sizes[0] == sizes[-1] else (sizes[0], sizes[1])


Types = tuple[tuple[str, TensorType], ...]
"""Of operands and results, by their names in an operator."""


@dataclass(frozen=True)
class Call:
    """What a kernel computes, with lengths: at each size that is tried it has other numbers."""

    op: Op
    types: Types
    results: tuple[str, ...]
    symbols: tuple[Symbol, ...]

    @staticmethod
    def of(graph: Graph, node: Node, symbols: tuple[Symbol, ...]) -> Call:
        """A node of the graph, or what an engine offers for it."""
        results = node.results()
        types = {name: graph.types[tensor] for name, tensor in {**node.operands(), **results}.items()}
        return Call(node.op, tuple(types.items()), tuple(results), symbols)

    def at_each(self, every: bool = False) -> Iterator[tuple[dict[str, int], Op, dict[str, TensorType]]]:
        """The same with numbers; with `every` at one size after another."""
        for sizes in (all_tried_sizes if every else tried_sizes)(self.symbols):
            yield sizes, resolved(self.op, sizes), resolved(dict(self.types), sizes)

    def with_lengths_at_each(self) -> Iterator[tuple[dict[str, int], Op, dict[str, TensorType]]]:
        """The same with lengths that are these numbers, and equal none: what is decided by whether a size is 1, or
        equal to another, is decided as for all sizes."""
        for sizes in tried_sizes(self.symbols):
            pinned = {symbol.name: pinned_length(symbol, sizes[symbol.name]) for symbol in self.symbols}
            yield sizes, resolved(self.op, pinned), resolved(dict(self.types), pinned)

    def check(self) -> str | None:
        """Why its results are not what they should be at some size."""
        for sizes, op, types in self.at_each():
            try:
                found = infer(op, {name: kind for name, kind in types.items() if name not in self.results})
            except Refusal as refusal:
                return f"with {said(sizes)} {refusal.what}"
            made = dict(zip(op.result_names(len(found)), found, strict=True))
            if any(made[name] != types[name] for name in self.results):
                return f"with {said(sizes)} its results have other shapes"
        return None
