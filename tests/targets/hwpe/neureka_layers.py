"""Random layers for N-EUREKA: a graph with one node, what the engine offers for it, and operands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.targets.pulp.machine import NEUREKA
from tests.targets.pulp.random_cases import Draw
from tilewright.errors import Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, limits, type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case
from tilewright.target.target import Offer


@dataclass(frozen=True, eq=False)
class Layer:
    graph: Graph
    image: Array

    @property
    def node(self) -> Node:
        return self.graph.nodes[0]

    @property
    def expected(self) -> Array:
        constants = [self.graph.constants[name] if name else None for name in self.node.inputs[1:]]
        return np.asarray(self.node.op.numpy(self.image, *constants))

    @property
    def offer(self) -> Offer:
        assert NEUREKA.offer is not None
        return NEUREKA.offer(self.graph, self.node)

    def cases(self, skew: int = 0) -> list[Case]:
        """The offer with each kernel that takes it."""
        offer = self.offer
        arrays = operands(offer, self.image)
        tried = [Case(kernel, offer.op, arrays, skew) for kernel in NEUREKA.kernels if kernel.op is type(offer.op)]
        return [case for case in tried if case.kernel.unsupported_reason(case.op, case.types) is None]


def operands(offer: Offer, image: Array) -> list[Array | None]:
    return [image, *(offer.constants[name] if name else None for name in offer.inputs[1:])]


def layer(op: Op, image: Array, *constants: Array | None) -> Layer:
    builder = Builder("layer")
    x = builder.input("x", type_of(image))
    names = ["" if array is None else builder.constant(array, f"c{i}") for i, array in enumerate(constants)]
    builder.output(*builder(op, [x, *names], ["y"]))
    return Layer(builder.build(), image)


def weights(draw: Draw, dtype: str, *shape: int) -> Array:
    """Sometimes of fewer bits than the type has."""
    array = draw.array(dtype, *shape)
    return array >> draw.size(6) if draw.flag() else array


def simple_requant(draw: Draw, products: int, filters: int) -> tuple[Requant, list[Array | None]]:
    """One that fits the 32 bits of N-EUREKA more often than not."""
    dtype = draw.byte()
    shift = draw.size(20)
    largest = max(1, (1 << 29) // (products * 128 * 255))
    shape = draw.one_of((1,), (filters,))
    mul = draw.between(0, min(largest, int(draw.one_of(200, 5000, 1 << 20))), *shape)  # type: ignore[misc, call-overload]
    add = draw.between(-(1 << 28), 1 << 28, *shape) if draw.flag() else None  # type: ignore[misc]
    zero_point = draw.size(100) - 50 if draw.flag() else 0
    return full_range(shift, dtype, zero_point), [mul, add]


def halves_requant(draw: Draw, products: int, filters: int) -> tuple[Requant, list[Array | None]]:
    """To 16 bits, with factors that end with zeros: without them, products fit 32 bits more often than not."""
    shift, zeros = draw.size(14), draw.size(17) - 1
    largest = max(1, min(1 << 13, (1 << 29) // (products * 128 * 255)))
    mul = draw.between(0, largest, *draw.one_of((1,), (filters,))) << zeros  # type: ignore[misc]
    return full_range(shift + zeros, "int16", draw.size(9000) - 4500), [mul, None]


def requant(draw: Draw, products: int, filters: int) -> tuple[Requant | None, list[Array | None]]:
    kind = draw.size(7)
    if kind == 1:
        return None, []
    if kind < 4:
        return simple_requant(draw, products, filters)
    if kind < 6:
        return halves_requant(draw, products, filters)
    return draw.requant(draw.byte(), products, (1,), (filters,))


def matmul_layer(seed: int) -> Layer:
    draw = Draw(seed)
    channels, filters = draw.size(100), draw.size(70)
    rows = [draw.size(12) for _ in range(draw.size(3))] if draw.flag() else [draw.size(130)]
    trans_b = draw.flag()
    w_type = draw.byte()
    w = weights(draw, w_type, *((filters, channels) if trans_b else (channels, filters)))
    x = draw.array(draw.byte(), *rows, channels)
    bias = draw.between(-20000, 20000, *draw.one_of((1,), (filters,))) if draw.flag() else None  # type: ignore[misc]
    found, rest = requant(draw, channels, filters)
    zeros = draw.zero(x.dtype.name), draw.zero(w_type) if draw.flag() else 0
    op = MatMul(trans_b=trans_b, a_zero=zeros[0], b_zero=zeros[1], requant=found)
    return layer(op, x, w, bias, *rest)


def wide_layer(seed: int) -> Layer:
    """A matrix product with results of 16 bits."""
    draw = Draw(seed)
    channels, filters = draw.size(100), draw.size(70)
    x, w = draw.array(draw.byte(), draw.size(60), channels), weights(draw, "int8", filters, channels)
    bias = draw.between(-20000, 20000, filters) if draw.flag() else None
    shift = 26 + draw.size(12)
    requant = full_range(shift, "int16", draw.zero("int16"), draw.one_of("half_even", "half_up"))  # type: ignore[arg-type]
    mul = draw.between(1, 1 << 30, *draw.one_of((1,), (filters,)))  # type: ignore[misc]
    return layer(MatMul(trans_b=True, a_zero=draw.zero(x.dtype.name), requant=requant), x, w, bias, mul)


def row_layer(seed: int) -> Layer:
    """One row times a matrix, with results that the cores make of bare totals, for the most part."""
    draw = Draw(seed)
    channels, filters = draw.size(100), draw.size(200)
    x, w = draw.array(draw.byte(), 1, channels), weights(draw, "int8", filters, channels)
    bias = draw.between(-20000, 20000, filters) if draw.flag() else None
    dtype, rounding = draw.one_of("int8", "int16"), draw.one_of("half_even", "half_up")
    requant = full_range(26 + draw.size(16), dtype, draw.zero(dtype), rounding)  # type: ignore[arg-type]
    zeros = 14 * draw.flag()  # With many of them in factors there may be ties.
    mul = draw.between(1, 1 << (30 - zeros), *draw.one_of((1,), (filters,))) << zeros  # type: ignore[misc]
    add = draw.between(-(1 << 28), 1 << 28, filters) if draw.size(5) == 1 else None
    zero = draw.zero(x.dtype.name) if draw.flag() else 0
    return layer(MatMul(trans_b=True, a_zero=zero, requant=requant), x, w, bias, mul, add)


def heads_layer(seed: int) -> Layer:
    """A matrix for each head, and requantisations that N-EUREKA can do, for the most part."""
    draw = Draw(seed)
    heads, channels, columns = 1 + draw.size(9), draw.size(80), draw.size(20)
    ones = (1,) * (draw.size(3) - 1)
    trans_b = draw.flag()
    w = weights(draw, "int8", heads, *((columns, channels) if trans_b else (channels, columns)))
    x = draw.array(draw.byte(), *ones, draw.size(90), channels)
    shape = draw.one_of((1,), (columns,), (heads, 1, columns), (heads, 1, 1))
    bias = draw.between(-20000, 20000, *shape) if draw.flag() else None  # type: ignore[misc]
    found, rest = simple_requant(draw, channels, columns) if draw.size(5) > 1 else (None, [])
    return layer(MatMul(trans_b=trans_b, a_zero=draw.zero(x.dtype.name), requant=found), x, w, bias, *rest)


def extreme_layer(seed: int) -> Layer:
    """A matrix product with the rows that give the largest and the smallest totals of its columns."""
    drawn = matmul_layer(seed)
    op = drawn.node.op
    assert isinstance(op, MatMul)
    stored = drawn.graph.constants[drawn.node.inputs[1]]
    signs = (stored if op.trans_b else stored.T).astype(int) >= op.b_zero
    low, high = limits(drawn.image.dtype.name)
    rows = np.concatenate([np.where(signs, high, low), np.where(signs, low, high)]).astype(drawn.image.dtype)
    constants = [drawn.graph.constants[name] if name else None for name in drawn.node.inputs[1:]]
    return layer(op, rows, *constants)


def conv_layer(seed: int, depthwise: bool = False) -> Layer:
    draw = Draw(seed)
    rank = 1 if draw.size(4) == 1 else 2
    side = draw.one_of(1, 3, 3, 3, 2)
    kernel = (side,) * rank if draw.flag() else tuple(draw.size(3) for _ in range(rank))
    strides = (1,) * rank if draw.flag() else tuple(draw.size(2) for _ in range(rank))
    padding = tuple(draw.size(2) - 1 if taps > 1 else 0 for _ in range(2) for taps in kernel)  # type: ignore[operator]
    spatial = [taps + draw.size(14) - 1 for taps in kernel]  # type: ignore[operator]
    channels, filters = draw.size(70), draw.size(70)
    groups = 1
    if depthwise:
        groups, filters, taken = channels, channels, 1
    else:
        taken = channels
    w_type = draw.byte()
    x = draw.array(draw.byte(), draw.size(2), *spatial, channels)
    w = weights(draw, w_type, filters, *kernel, taken)  # type: ignore[arg-type]
    bias = draw.between(-20000, 20000, *draw.one_of((1,), (filters,))) if draw.flag() else None  # type: ignore[misc]
    found, rest = requant(draw, w[0].size, filters)
    zeros = draw.zero(x.dtype.name), draw.zero(w_type) if draw.flag() else 0
    op = Conv(strides, (1,) * rank, padding, groups, *zeros, found, channels_last=True)
    return layer(op, x, w, bias, *rest)


def gathered_layer(seed: int) -> Layer:
    """Windows, strides and padding that the array has not."""
    draw = Draw(seed)
    rank = 1 + draw.flag()
    kernel = (draw.size(5) + (rank == 1) * 3, *(3 + draw.size(4) for _ in range(rank - 1)))
    strides = tuple(draw.size(3) for _ in range(rank))
    padding = tuple(draw.size(4) - 1 for _ in range(2 * rank))
    pads = [padding[axis] + padding[rank + axis] for axis in range(rank)]
    spatial = [max(1, taps - pad) + draw.size(9) - 1 for taps, pad in zip(kernel, pads, strict=True)]
    channels, filters = draw.size(5), draw.size(40)
    w_type = draw.byte()
    x = draw.array(draw.byte(), draw.size(2), *spatial, channels)
    w = weights(draw, w_type, filters, *kernel, channels)
    found, rest = requant(draw, w[0].size, filters)
    zeros = draw.zero(x.dtype.name), draw.zero(w_type) if draw.flag() else 0
    op = Conv(strides, (1,) * rank, padding, 1, *zeros, found, channels_last=True)
    return layer(op, x, w, None, *rest)


def grouped_layer(seed: int) -> Layer:
    """Some channels and filters in each of some groups, with windows that the array has or that are gathered."""
    draw = Draw(seed)
    groups, channels, filters = 1 + draw.size(4), 1 + draw.size(5), draw.size(6)
    side = draw.one_of(1, 1, 3, 3, 4)
    stride, pad = draw.size(2), draw.size(side) - 1 if side < 4 else 1
    x = draw.array(draw.byte(), draw.size(2), *(side + draw.size(8) for _ in range(2)), groups * channels)
    w_type = draw.byte()
    w = weights(draw, w_type, groups * filters, side, side, channels)
    bias = draw.between(-20000, 20000, groups * filters) if draw.flag() else None
    found, rest = requant(draw, w[0].size, groups * filters)
    zeros = draw.zero(x.dtype.name), draw.zero(w_type) if draw.flag() else 0
    op = Conv((stride,) * 2, (1, 1), (min(pad, 1),) * 4, groups, *zeros, found, channels_last=True)
    return layer(op, x, w, bias, *rest)


def parts_layer(seed: int) -> Layer:
    """Depthwise, with windows and padding that the array has not; results of 8, 16 or 32 bits."""
    draw = Draw(seed)
    rank = 1 + draw.flag()
    kernel = (3 + draw.size(6), *(draw.size(9) for _ in range(rank - 1)))[::-1]
    strides = tuple(draw.size(2) for _ in range(rank))
    padding = tuple(draw.size(5) - 1 for _ in range(2 * rank))
    pads = [padding[axis] + padding[rank + axis] for axis in range(rank)]
    spatial = [max(1, taps - pad) + draw.size(9) - 1 for taps, pad in zip(kernel, pads, strict=True)]
    channels = 1 + draw.size(70)
    x = draw.array(draw.byte(), draw.size(2), *spatial, channels)
    w = weights(draw, "int8", channels, *kernel, 1)
    bias = draw.between(-20000, 20000, channels) if draw.flag() else None
    found, rest = requant(draw, w[0].size, channels)
    if draw.flag():
        found = full_range(26 + draw.size(12), "int16", draw.zero("int16"), draw.one_of("half_even", "half_up"))  # type: ignore[arg-type]
        rest = [draw.between(1, 1 << 30, channels)]
    op = Conv(strides, (1,) * rank, padding, channels, draw.zero(x.dtype.name), 0, found, channels_last=True)
    return layer(op, x, w, bias, *rest)


def offered(layers: list[Layer]) -> list[Layer]:
    """Those that the engine takes."""
    return [layer for layer in layers if _is_offered(layer)]


def _is_offered(layer: Layer) -> bool:
    try:
        return bool(layer.offer.inputs)
    except Refusal:
        return False
