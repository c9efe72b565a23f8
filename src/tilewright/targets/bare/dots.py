"""Kernels for instructions that a user adds to cores of a cluster (`kernels/patterns.h`): convolutions of bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.records import dataclass
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.target import Engine
from tilewright.targets.bare.sizes import in_c
from tilewright.targets.generic.linear import TOTALS

DOT4, UNSIGNED_DOT4 = "dot4_s8", "dot4_u8s8"
DOTS = frozenset({DOT4, UNSIGNED_DOT4})
AT_ONCE = 4
"""Products of bytes in a cycle."""


@dataclass(frozen=True)
class Cycles:
    """Of one core, fitted to 116 layers on a cluster of four: 2 % off in the median, at most 20 %."""

    call: float = 990
    filter: float = 46
    word: float = 27
    """Of weights, where a filter has whole words of them."""
    loose_word: float = 44
    """Where it has not."""
    near_tap: float = 8
    """Gathered of windows with code of their own: points, and 3 x 3 neighbours that lie inside; channels second."""
    tap: float = 30
    """Of other windows."""
    pixel: float = 45
    """Of an image, for a window; channels last."""
    pixel_word: float = 26
    loose_pixel_tap: float = 12
    """Where a pixel does not have whole words."""
    block: float = 90
    """Four filters on four windows."""
    block_word: float = 19.4
    row: float = 98
    """A filter's results of four windows."""
    requantised_row: float = 191
    result: float = 13


OF = Cycles()
STACK = 352


def _unsupported(op: Op, types: Types, channels_last: bool) -> str | None:
    conv = cast(Conv, op)
    if conv.channels_last != channels_last:
        return f"channels are {'second' if channels_last else 'last'}"
    if conv.groups > 1 or conv.w_zero or types["W"].shape[0] < AT_ONCE:
        return f"it has groups, fewer than {AT_ONCE} filters, or weights with a zero point"
    return None


def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    conv = cast(Conv, op)
    taps = math.prod(extents.get(loop, 1) for loop in "crs")
    words, filters = -(-taps // 4), extents["f"]
    windows = math.prod(extents.get(loop, 1) for loop in "nyx")
    fours, blocks = -(-windows // 4), -(-filters // 4)
    weights = filters * OF.filter + 4 * blocks * words * (OF.loose_word if taps % 4 else OF.word)
    products = fours * blocks * (OF.block + OF.block_word * words)
    rows = fours * filters * (OF.row if conv.requant is None else OF.requantised_row) + windows * filters * OF.result
    return CycleEstimate(cores=OF.call + weights + windows * _gathering(conv, types, taps, words) + products + rows)


def _gathering(conv: Conv, types: Types, taps: int, words: int) -> float:
    """Cycles of a window, in the mean of the layer's."""
    kernel = conv.spatial(types["W"].shape)
    if conv.channels_last:
        loose = conv.channels(types["X"].shape) % 4
        return math.prod(kernel) * OF.pixel + (taps * OF.loose_pixel_tap if loose else words * OF.pixel_word)
    has_own_code = set(kernel) == {1} or (kernel == (3, 3) and max(conv.dilations) == 1)
    near = math.prod(_inside(conv, types)) if has_own_code else 0.0
    return taps * (near * OF.near_tap + (1 - near) * OF.tap)


def _inside(conv: Conv, types: Types) -> Iterator[float]:
    """The share of windows that lie in the image, of rows and of columns."""
    images, kernels, results = (conv.spatial(types[name].shape) for name in "XWY")
    before = conv.padding[: len(images)]
    for size, taps, outs, stride, pad in zip(images, kernels, results, conv.strides, before, strict=True):
        yield sum(0 <= at * stride - pad <= size - taps for at in range(outs)) / outs


KERNELS = tuple(
    Kernel(
        Conv, source, "X W:int8 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=in_c("tw_conv_words_scratch"), unsupported_reason=partial(_unsupported, channels_last=is_last),
        unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 4, "x": 4}, header="conv.h", stack=STACK,
        cycles=cycles,
    )
    for source, is_last in (("conv_words_last.c", True), ("conv_words_second.c", False))
)  # fmt: skip


def extended(engine: Engine, patterns: frozenset[str]) -> Engine:
    """The engine with those that instructions are for before its own."""
    if not patterns & DOTS:
        return engine
    return replace(engine, kernels=(*KERNELS, *engine.kernels), peak=with_products(engine.peak, patterns & DOTS))


def with_products(peak: Peak | None, patterns: frozenset[str]) -> Peak | None:
    """With as many products of bytes in a cycle as an instruction of one of these patterns has."""
    if peak is None or not isinstance(peak.macs, CoreMacs) or not patterns:
        return peak
    widths = tuple((bits, max(rate, AT_ONCE) if bits == 8 else rate) for bits, rate in peak.macs.widths)
    source = f"{peak.source}; {', '.join(sorted(patterns))}: four products of bytes"
    return replace(peak, macs=replace(peak.macs, widths=widths), source=source)
