"""Layers with channels last to measure kernels for vectors with, in the forms that these take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.halves_samples import IMAGES, PLANES, Sample, in_form
from tilewright.targets.cortex_m.vector_forms import VectorConv, VectorDepthwise
from tilewright.targets.cortex_m.vector_offers import forms

TWICE, IN_64_BITS = Rounding.DOUBLE, Rounding.HALF_UP
FACTOR, EXPONENT, SHIFT = 24251 << 16, -7, 20
LARGEST = 127
"""Of weights: products of two taps with them fit 16 bits."""


def conv_samples() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        conv = Conv((stride, stride), padding=(kernel // 2,) * 4, channels_last=True)
        yield from _samples(conv, (1, height, width, channels), (filters, kernel, kernel, channels), VectorConv)


def depthwise_samples() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in PLANES:
        conv = Conv((stride, stride), padding=(kernel // 2,) * 4, channels_last=True, groups=channels)
        yield from _samples(conv, (1, height, width, channels), (channels, kernel, kernel, 1), VectorDepthwise)


def _samples(conv: Conv, image: tuple[int, ...], shape: tuple[int, ...], kind: type) -> Iterator[Sample]:
    draws = np.random.default_rng(sum(image))
    w = draws.integers(-LARGEST, LARGEST + 1, shape).astype(np.int8)
    bias = np.full(shape[0], 321, np.int32)

    def form(graph: Graph, node: Node) -> Offer | None:
        return next((offer for offer in forms(graph, node) if isinstance(offer.op, kind)), None)

    for dtype in ("int8", "int16"):
        x = draws.integers(*_limits(dtype), image, dtype, True)
        for requant, scales in _requants(dtype, shape[0]):
            op = Conv(conv.strides, padding=conv.padding, channels_last=True, groups=conv.groups, requant=requant)
            yield from in_form(form, op, x, w, bias, *scales)


def _limits(dtype: str) -> tuple[int, int]:
    kind = np.iinfo(dtype)
    return int(kind.min), int(kind.max)


def _requants(dtype: str, filters: int) -> Iterator[tuple[Requant | None, list[Array]]]:
    """By the upper word, in 64 bits, not at all."""
    factors = [np.full(filters, one, np.int32) for one in (FACTOR, EXPONENT)]
    yield full_range(0, dtype, 0, TWICE), factors
    yield full_range(SHIFT, dtype, 0, IN_64_BITS), [np.full(filters, one, np.int32) for one in (1171, 1000)]
    yield None, []
