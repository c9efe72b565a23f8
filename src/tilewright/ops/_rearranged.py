"""Base of convolutions whose constants lie as a kernel wants them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import Box, Span, axis_loops, loops, whole
from tilewright.ir.graph import Graph
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops._packing import pack_rows, pack_values, unpack_rows, unpack_values
from tilewright.ops.conv import Conv
from tilewright.records import dataclass


class Rearranged(Op):
    """All but some constants is that of another operator: geometry and types."""

    @property
    @abstractmethod
    def plain(self) -> Op:
        """That operator."""

    @abstractmethod
    def of(self, plain: Op) -> Op:
        """This operator around another plain one, which computes a part."""

    @abstractmethod
    def plain_shapes(self, shapes: Shapes) -> Shapes:
        """As that operator has them."""

    @abstractmethod
    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """As that operator has them."""

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        return self.plain.padding_of(self.plain_shapes(shapes))

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return self.plain.extents(self.plain_shapes(shapes))

    def at(self, shapes: Shapes, box: Box) -> Op:
        return self.of(self.plain.at(self.plain_shapes(shapes), box))

    def macs(self, shapes: Shapes) -> int:
        return self.plain.macs(self.plain_shapes(shapes))

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return self.plain.result_shapes(self.plain_shapes(shapes))

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.plain.check(self.plain_types(types))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.plain.result_dtypes(dtypes)


class RearrangedConv(Rearranged, Internal):
    """Of a convolution. It is cut along its results only, with all of the constants."""

    images: ClassVar[frozenset[str]] = NARROW
    """Element types of X that it takes."""
    conv: Conv

    @property
    def plain(self) -> Conv:
        return self.conv

    def of(self, plain: Op) -> Op:
        return replace(self, conv=instance(plain, Conv))  # type: ignore[call-arg]  # every subclass has that field

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset({"g", "f", "c"})

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["X"].dtype not in self.images or types["W"].dtype != "int8":
            taken = ", ".join(sorted(self.images))
            raise Refusal(f"X is {types['X'].dtype} and W {types['W'].dtype}; {taken} and int8 are expected")
        super().check(types)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes({"X": dtypes["X"], "W": "int8"})


IMAGES = ("X", "R", "Y")
"""What has rows, or pixels: of all operands, R is what is added to results."""
MADE = ("B", "mul", "add")
"""Operands with a value for each filter."""


def folded_zero(x_zero: int, dtype: str) -> int:
    """What a bias has been freed of for each weight: unsigned bytes are multiplied as signed ones, with 128 less."""
    return x_zero - (128 if dtype == "uint8" else 0)


def one_or_per_filter(graph: Graph, tensor: str, filters: int) -> Array | None:
    """The values of a constant: one, or one for each filter; None where it is computed, or differs from row to row."""
    values = graph.constants.get(tensor)
    if values is None or not (values.size == 1 or (values.size == filters and values.shape[-1] == filters)):
        return None
    return values.reshape(-1)


def value_per_filter(graph: Graph, tensor: str | None, filters: int, dtype: type = np.int64) -> Array | None:
    """Zero where there is no constant."""
    values = np.zeros(1) if tensor is None else one_or_per_filter(graph, tensor, filters)
    return None if values is None else np.broadcast_to(values, filters).astype(dtype)


@dataclass(frozen=True)
class FoldedConv(RearrangedConv):
    """Channels last, zero points in the bias. Padding has the value `conv.x_zero`, which is not subtracted."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B", "mul?", "add?")
    multiplies: ClassVar[bool] = True
    filters: int = 1
    """Of all groups."""
    kernel: Shape = (1, 1)
    conv: Conv = field(default_factory=lambda: Conv(channels_last=True))

    @property
    def values_order(self) -> str:
        """Of values that each filter has."""
        return "(g f)"

    def order(self, channels: int) -> str:
        """Of weights: the number of channels that a filter reads."""
        raise NotImplementedError(type(self).__name__)

    def packed_weights(self, rows: Array) -> Array:
        """Of rows that have a filter each."""
        return pack_rows(self.order(rows.shape[1] // math.prod(self.kernel)), rows, self.conv.groups).astype(np.int8)

    def plain_weights(self, W: Array, channels: int) -> Array:
        """Rows as the convolution has them."""
        groups = self.conv.groups
        return unpack_rows(self.order(channels), W, groups, self.filters // groups, math.prod(self.kernel) * channels)

    def packed_values(self, values: Array) -> Array:
        return pack_values(self.values_order, values, self.conv.groups).astype(np.int32)

    def plain_values(self, values: Array) -> Array:
        """One for each filter."""
        return unpack_values(self.values_order, values, self.conv.groups, self.filters // self.conv.groups)

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        weights = (self.filters, *self.kernel, shapes["X"][-1] // self.conv.groups)
        made = {name: (self.filters,) for name in MADE if name in shapes}
        return {**shapes, "W": weights, **made}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        shapes = self.plain_shapes({name: kind.shape for name, kind in types.items()})
        return {name: TensorType(kind.dtype, shapes[name]) for name, kind in types.items()}

    def index(self, shapes: Shapes) -> Index:
        own = {name: tuple(map(whole, shapes[name])) for name in ("W", *MADE) if name in shapes}
        return {**self.conv.index(self.plain_shapes(shapes)), **own}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.conv.result_dtypes({**dtypes, "W": "int8"})

    def numpy(self, X: Array, W: Array, B: Array, *rest: Array | None, **named: Array) -> Array:
        channels = X.shape[-1] // self.conv.groups
        rows = self.plain_weights(W, channels)
        shift = folded_zero(self.conv.x_zero, X.dtype.name)
        bias = self.plain_values(B).astype(np.int64) + shift * rows.astype(np.int64).sum(1)
        plain = [None if values is None else self.plain_values(values) for values in rest]
        more = {name: self.plain_values(values) for name, values in named.items()}
        weights = rows.reshape(self.filters, *self.kernel, channels)
        return self.conv.numpy(X, weights, bias.astype(np.int32), *plain, **more)


class RowsProduct(Internal):
    """Rows, which are the first operand, times a constant matrix that is packed: nothing is cut."""

    @abstractmethod
    def columns_of(self, shapes: Shapes) -> int:
        """Of the result."""

    @property
    def rows(self) -> str:
        return self.operands[0]

    def index(self, shapes: Shapes) -> Index:
        n, k = loops("n k")
        rows = axis_loops(len(shapes[self.rows]) - 1)
        own = {name: tuple(map(whole, shape)) for name, shape in shapes.items() if name not in IMAGES}
        added = {"R": (*rows, n)} if "R" in shapes else {}
        return {**own, self.rows: (*rows, k), **added, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        *outer, inner = shapes[self.rows]
        return {**{f"d{axis}": size for axis, size in enumerate(outer)}, "n": self.columns_of(shapes), "k": inner}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return frozenset(self.extents(shapes))

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes[self.rows]) * self.columns_of(shapes)

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return ((*shapes[self.rows][:-1], self.columns_of(shapes)),)


class FoldedProduct(RowsProduct):
    """A convolution of one tap with as many pixels as there are rows."""

    operands: ClassVar[tuple[str, ...]] = FoldedConv.operands
    multiplies: ClassVar[bool] = True

    form: FoldedConv

    def columns_of(self, shapes: Shapes) -> int:
        return self.form.filters

    def check(self, types: Mapping[str, TensorType]) -> None:
        self.form.check(self.as_image(types))

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return self.form.result_dtypes(dtypes)

    def numpy(self, X: Array, *rest: Array | None, **named: Array) -> Array:
        given: dict[str, Array] = {**self.bind((X, *rest)), **named}
        given |= {name: given[name].reshape(1, 1, -1, given[name].shape[-1]) for name in IMAGES if name in given}
        return self.form.numpy(**given).reshape(*X.shape[:-1], self.form.filters)

    def as_image(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        """The rows as pixels of a row."""
        ends = {name: kind for name, kind in types.items() if name in IMAGES}
        flat = {name: (1, 1, math.prod(kind.shape[:-1]), kind.shape[-1]) for name, kind in ends.items()}
        return {**types, **{name: TensorType(kind.dtype, flat[name]) for name, kind in ends.items()}}
