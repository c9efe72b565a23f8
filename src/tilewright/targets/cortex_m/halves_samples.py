"""Layers of 16-bit elements or results to measure kernels with, in the forms that these take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.target import Offer

Sample = tuple[Op, list[Array | None]]
Form = Callable[[Graph, Node], Offer | None]

ONCE = full_range(0, "int16", 0, Rounding.SINGLE)
IN_64_BITS = full_range(20, "int16")
REQUANTS: tuple[Requant | None, ...] = (ONCE, replace(ONCE, low=0), IN_64_BITS, None)
"""By the upper word, to positive results, by both words, not at all."""
FROM_BYTES = full_range(30, "int16", 77, Rounding.HALF_EVEN)
"""Of layers of bytes, before a function of 16-bit elements."""
IMAGES = (
    # height, width, channels, filters, kernel, stride
    (8, 8, 3, 16, 3, 1), (8, 8, 16, 16, 3, 1), (6, 6, 32, 32, 3, 1), (9, 7, 24, 12, 3, 2), (8, 8, 64, 16, 1, 1),
    (16, 12, 16, 32, 1, 1), (4, 4, 64, 64, 1, 1), (12, 12, 16, 24, 1, 2), (12, 6, 1, 32, 5, 2), (10, 10, 12, 3, 3, 1),
    (3, 3, 20, 40, 2, 1), (16, 16, 16, 16, 3, 1), (25, 5, 32, 32, 1, 1), (20, 12, 1, 16, 5, 1), (7, 7, 9, 15, 3, 1),
)  # fmt: skip
PLANES = (
    # height, width, channels, kernel, stride
    (8, 8, 16, 3, 1), (4, 4, 64, 3, 1), (10, 6, 32, 3, 1), (12, 12, 16, 3, 2), (9, 9, 24, 5, 1), (2, 32, 16, 3, 1),
    (25, 5, 16, 3, 1), (13, 9, 6, 3, 2), (3, 3, 48, 3, 1), (48, 48, 2, 3, 1), (32, 32, 4, 3, 2), (16, 16, 8, 7, 1),
)  # fmt: skip
PRODUCTS = ((1, 64, 12), (1, 128, 128), (1, 640, 64), (4, 64, 32), (16, 48, 48), (7, 32, 20), (32, 16, 16), (2, 30, 9))


def _values(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-(1 << 15), 1 << 15, shape).astype(np.int16)


def _weights(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-128, 128, shape).astype(np.int8)


def _scales(requant: Requant | None, filters: int) -> list[Array]:
    if requant is None:
        return []
    if requant.has_exponents:
        return [np.full(filters, 24251 << 16, np.int32), np.full(filters, -7, np.int32)]
    return [np.full(filters, 1171, np.int32), np.full(filters, 1000, np.int32)]


def in_form(form: Form, op: Op, x: Array, *constants: Array) -> Iterator[Sample]:
    builder = Builder("sample")
    names = [builder.input("x", type_of(x)), *(builder.constant(array) for array in constants)]
    builder.output(builder.add(op, names)[0])
    graph = builder.build()
    offer = form(graph, graph.nodes[0])
    if offer is not None:
        yield offer.op, [x, *(offer.constants[name] for name in offer.inputs[1:])]


def conv_samples(form: Form) -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        for requant in REQUANTS:
            op = Conv((stride, stride), padding=(kernel // 2,) * 4, requant=requant)
            x, w = _values(1, channels, height, width), _weights(filters, channels, kernel, kernel)
            yield from in_form(form, op, x, w, np.full(filters, 321, np.int32), *_scales(requant, filters))


def depthwise_samples(form: Form) -> Iterator[Sample]:
    for height, width, channels, kernel, stride in PLANES:
        for requant in REQUANTS:
            op = Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels, requant=requant)
            x, w = _values(1, channels, height, width), _weights(channels, 1, kernel, kernel)
            yield from in_form(form, op, x, w, np.full(channels, 321, np.int32), *_scales(requant, channels))


def product_samples(form: Form) -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        for requant in REQUANTS:
            x, w = _values(rows, inner), _weights(columns, inner)
            constants = w, np.full(columns, 321, np.int32), *_scales(requant, columns)
            yield from in_form(form, MatMul(trans_b=True, requant=requant), x, *constants)


# ---- layers of bytes with 16-bit results ----------------------------------------------------------------------------


def _bytes(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-127, 128, shape).astype(np.int8)


def _large_factors(filters: int) -> Array:
    return np.full(filters, (1171 << 19) + 1, np.int32)


def conv_from_bytes(form: Form) -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        op = Conv((stride, stride), padding=(kernel // 2,) * 4, requant=FROM_BYTES)
        x, w = _bytes(1, channels, height, width), _bytes(filters, channels, kernel, kernel)
        yield from in_form(form, op, x, w, np.full(filters, 321, np.int32), _large_factors(filters))


def product_from_bytes(form: Form) -> Iterator[Sample]:
    for rows, inner, columns in PRODUCTS:
        x, w = _bytes(rows, inner), _bytes(columns, inner)
        constants = w, np.full(columns, 321, np.int32), _large_factors(columns)
        yield from in_form(form, MatMul(trans_b=True, requant=FROM_BYTES), x, *constants)
