"""A model whose dimensions have ranges: it is read at some sizes, and what differs between them becomes lengths.

What is left of a model when its dimensions are known is the same list of operators at every size but for numbers in
attributes, shapes, and constants of which a shorter one is the beginning of a longer one. Each number must be an
expression in the dimensions that holds at all sizes that were read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.ir.at_sizes import at_sizes, first_elements, is_sized, said
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.length import Form, Length, Sizes, as_size, constant, length
from tilewright.ir.types import Array, TensorType

Range = tuple[int, int]
Read = Callable[[Sizes], Graph]

REMAINDERS = range(2, 9)
"""Of divisions that strides and windows make."""


def read_sized(read: Read, ranges: Mapping[str, Range]) -> Graph:
    """A graph with lengths, from a reader that knows one size at a time."""
    lengths = {name: length(name, *limits) for name, limits in ranges.items()}
    fixed = {name: int(size) for name, size in lengths.items() if not isinstance(size, Length)}
    open_ranges = {name: limits for name, limits in ranges.items() if name not in fixed}
    if not open_ranges:
        return read(fixed)
    bound, *others = _samples(open_ranges)
    graphs = [(bound, read(fixed | bound)), *((sizes, _read_other(read, fixed | sizes, bound)) for sizes in others)]
    return merged(graphs, {name: lengths[name] for name in open_ranges})


def _read_other(read: Read, sizes: Sizes, bound: Sizes) -> Graph:
    """At other sizes than the bounds, at which the model can be read."""
    try:
        return read(sizes)
    except CompileError as error:
        raise _fix(error.where, f"with {said(sizes)}: {error.what}", bound) from None


def merged(graphs: Sequence[tuple[Mapping[str, int], Graph]], lengths: Mapping[str, int]) -> Graph:
    """One graph of several that were read at different sizes, the first at the bounds of these lengths."""
    return _Merge([sizes for sizes, _ in graphs], [graph for _, graph in graphs], lengths).run()


def _samples(ranges: Mapping[str, Range]) -> list[dict[str, int]]:
    """Sizes to read a model at, the bounds first. A size of 1 is like no other."""
    bound = {name: high for name, (_, high) in ranges.items()}
    found = [bound]
    for name, (low, high) in ranges.items():
        middle = (low + high) // 2
        others = (high - 1, high - 2, middle) if high - low > 4 and middle > 2 else (high + 1, high + 2, high + 5)
        found += [bound | {name: size} for size in others]
    names = list(ranges)
    found += [{name: high - 1 if ranges[name][1] > 4 else high + 1 for name, high in bound.items()} for _ in names[1:2]]
    return [sizes for number, sizes in enumerate(found) if sizes not in found[:number]]


@dataclass
class _Merge:
    """Graphs of one model at several sizes, the first of which are the bounds."""

    sizes: Sequence[Mapping[str, int]]
    graphs: Sequence[Graph]
    lengths: Mapping[str, int]
    known: list[Length] = field(default_factory=list)
    """Lengths that some axis has: what an attribute counts is mostly one of them, or some times one of them."""

    def run(self) -> Graph:
        first = self.graphs[0]
        self.known += [size for size in self.lengths.values() if isinstance(size, Length)]
        for sizes, graph in zip(self.sizes[1:], self.graphs[1:], strict=True):
            _check_alike(first, graph, sizes, self.sizes[0])
        builder = Builder(
            first.name, notes=list(first.notes), kept_floats=list(first.kept_floats),
            numerics_records=first.numerics_records, scales=first.scales,
        )  # fmt: skip
        for name in first.inputs:
            builder.input(name, self._type(name))
        for state in first.states:
            if is_sized(self._type(state.before)):
                raise _fix(f"state '{state.name}'", "its size is that of a dimension with a range", self.sizes[0])
            builder.state(state.name, state.initial, state.before, state.is_shared)
        read = {name for node in first.nodes for name in node.inputs} | set(first.sinks)
        for name in filter(read.__contains__, first.constants):
            builder.types[name], builder.constants[name] = self._constant(name), first.constants[name]
        builder.reserve(first.types)
        for number, node in enumerate(first.nodes):
            self._add(builder, number, node)
        builder.copy_outputs(first)
        merged = builder.build()
        for sizes, graph in zip(self.sizes, self.graphs, strict=True):
            _check_types(at_sizes(merged, sizes, graph.constants), graph, sizes)
        return merged

    def _add(self, builder: Builder, number: int, node: Node) -> None:
        ops = [graph.nodes[number].op for graph in self.graphs]
        if node.op.bodies and any(is_sized(builder.types[name]) for name in node.inputs if name):
            raise _fix(node.where, "its graphs cannot have dimensions with a range", self.sizes[0])
        try:
            op = node.op if node.op.bodies else self._merged(ops)
        except Refusal as refusal:
            raise _fix(node.where, refusal.what, self.sizes[0]) from None
        builder.add(op, node.inputs, node.outputs, node.name)
        for tensor in filter(None, node.outputs):
            self.known += [size for size in builder.types[tensor].shape if isinstance(size, Length)]
        self.known = list(dict.fromkeys(self.known))

    def _type(self, name: str) -> TensorType:
        kinds = [graph.types[name] for graph in self.graphs]
        sizes = [self._number(list(axis)) for axis in zip(*(kind.shape for kind in kinds), strict=True)]
        return TensorType(kinds[0].dtype, tuple(sizes))

    def _constant(self, name: str) -> TensorType:
        """The type of a constant, if at every size it is the beginning of the longest."""
        arrays = [graph.constants[name] for graph in self.graphs]
        readers = self.graphs[0].consumers.get(name, ())
        where = readers[0].where if readers else f"constant '{name}'"
        try:
            kind = self._type(name)
            equal = [_begins_with(name, arrays[0], other) for other in arrays[1:]]
        except Refusal as refusal:
            raise _fix(where, refusal.what, self.sizes[0]) from None
        if not all(equal):
            what = f"constant '{name}' has other values at {said(self.sizes[1 + equal.index(False)])}"
            raise _fix(where, what, self.sizes[0])
        return kind

    # ---- numbers ----------------------------------------------------------------------------------------------------

    def _merged(self, values: Sequence[Any]) -> Any:
        """Equal values, or lengths that have them at these sizes."""
        first = values[0]
        if all(one is first for one in values):
            return first
        if any(type(one) is not type(first) for one in values):
            raise Refusal(f"{first} at {said(self.sizes[0])} is another kind of thing at other sizes")
        if isinstance(first, bool):
            return self._equal(values)
        if isinstance(first, int):
            return self._number([int(one) for one in values])
        if isinstance(first, tuple) and len({len(one) for one in values}) == 1:
            return tuple(self._merged(parts) for parts in zip(*values, strict=True))
        if dataclasses.is_dataclass(first) and not isinstance(first, type):
            named = [one.name for one in dataclasses.fields(first) if one.init]
            parts = {name: self._merged([getattr(one, name) for one in values]) for name in named}
            changed = {name: part for name, part in parts.items() if part is not getattr(first, name)}
            return dataclasses.replace(first, **changed) if changed else first
        return self._equal(values)

    def _equal(self, values: Sequence[Any]) -> Any:
        for sizes, one in zip(self.sizes, values, strict=True):
            same = np.array_equal(one, values[0]) if isinstance(one, np.ndarray) else one == values[0]
            if not same:
                raise Refusal(f"has {values[0]} at {said(self.sizes[0])}, but {one} at {said(sizes)}")
        return values[0]

    def _number(self, values: Sequence[int]) -> int:
        if len(set(values)) == 1:
            return values[0]
        found = self._known_length(values) or self._polynomial(values) or self._remainder(values)
        if found is None:
            listed = ", ".join(f"{value} at {said(sizes)}" for sizes, value in zip(self.sizes, values, strict=True))
            raise Refusal(f"a size is {listed}, which is no expression of them that is known")
        return found

    def _known_length(self, values: Sequence[int]) -> int | None:
        """Some times a length, and something more."""
        for one in self.known:
            at = [one.form.at(sizes) for sizes in self.sizes]
            other = next((i for i, value in enumerate(at) if value != at[0]), None)
            if other is None:
                continue
            factor = Fraction(values[other] - values[0], at[other] - at[0])
            more = values[0] - factor * at[0]
            if factor.denominator == more.denominator == 1:
                found = int(factor) * one + int(more)
                if isinstance(found, Length) and self._holds(found.form, values):
                    return found
        return None

    def _polynomial(self, values: Sequence[int]) -> int | None:
        """Of products of two dimensions at most."""
        symbols = [size for size in self.lengths.values() if isinstance(size, Length)]
        monomials = [1, *symbols, *(one * other for one, other in combinations_with_replacement(symbols, 2))]
        forms = [one.form if isinstance(one, Length) else constant(one) for one in monomials]
        rows = np.array([[form.at(sizes) for form in forms] for sizes in self.sizes], np.float64)
        factors = np.rint(np.linalg.lstsq(rows, np.array(values, np.float64), rcond=None)[0]).astype(int)
        total = constant(0)
        for form, factor in zip(forms, factors.tolist(), strict=True):
            total = total.plus(form, factor)
        return as_size(total) if self._holds(total, values) else None

    def _remainder(self, values: Sequence[int]) -> int | None:
        """What rounding up leaves over, as padding that fills the last window: a remainder, and something more."""
        least, step = min(values), max(values) - min(values) + 1
        if step not in REMAINDERS:
            return None
        for one, divisor in product(self.known, range(step, REMAINDERS.stop)):
            for shift in range(divisor):
                for found in ((one + shift) % divisor + least, divisor - 1 - (one + shift) % divisor + least):
                    if isinstance(found, Length) and self._holds(found.form, values):
                        return found
        return None

    def _holds(self, form: Form, values: Sequence[int]) -> bool:
        return all(form.at(sizes) == value for sizes, value in zip(self.sizes, values, strict=True))


def _begins_with(name: str, longest: Array, other: Array) -> bool:
    if longest is other:
        return True
    if longest.shape == other.shape:
        return longest.dtype == other.dtype and longest.tobytes() == other.tobytes()
    common = tuple(min(pair) for pair in zip(longest.shape, other.shape, strict=True))
    one, another = first_elements(name, longest, common), first_elements(name, other, common)
    return np.array_equal(one, another, equal_nan=other.dtype.kind == "f")


def _check_alike(first: Graph, other: Graph, sizes: Sizes, bound: Sizes) -> None:
    """Both have the same nodes."""
    for one, another in zip(first.nodes, other.nodes, strict=False):
        same = (one.inputs, one.outputs, type(one.op)) == (another.inputs, another.outputs, type(another.op))
        if not same:
            raise _fix(one.where, f"with {said(sizes)} there is {another.where} in its place", bound)
    if len(first.nodes) != len(other.nodes):
        longer = first if len(first.nodes) > len(other.nodes) else other
        node = longer.nodes[min(len(first.nodes), len(other.nodes))]
        raise _fix(node.where, f"is not there at all sizes: with {said(sizes)} the model has other operators", bound)
    if (first.inputs, first.outputs) != (other.inputs, other.outputs):
        raise _fix(f"network '{first.name}'", f"with {said(sizes)} it has other inputs or outputs", bound)


def _check_types(found: Graph, graph: Graph, sizes: Sizes) -> None:
    for name, kind in graph.types.items():
        if name in found.types and found.types[name] != kind:
            node = graph.producers.get(name)
            where = node.where if node is not None else f"tensor '{name}'"
            raise _fix(where, f"with {said(sizes)} it gives {kind}, where {found.types[name]} was expected", sizes)


def _fix(where: str, what: str, sizes: Sizes) -> CompileError:
    """What cannot be for a range can be for one size."""
    hint = " ".join(f"--dim {name}={int(size)}" for name, size in sizes.items())
    return CompileError(where, what, f"fix the size: {hint}")
