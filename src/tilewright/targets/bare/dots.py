"""Kernels for instructions that a user adds to cores of a cluster (`kernels/patterns.h`): convolutions of bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.target import Engine
from tilewright.targets.bare.sizes import in_c
from tilewright.targets.generic.linear import TOTALS

DOT4, UNSIGNED_DOT4 = "dot4_s8", "dot4_u8s8"
DOTS = frozenset({DOT4, UNSIGNED_DOT4})
AT_ONCE = 4
"""Products of bytes in a cycle."""
CALL, TAP, WORD, BLOCK, RESULT = 600, 5, 30, 120, 40
"""Cycles, roughly: of a call; of a tap that is gathered; of a word of four filters on four pixels; of such a block; of
a result."""
STACK = 352


def _unsupported(op: Op, types: Types, channels_last: bool) -> str | None:
    conv = cast(Conv, op)
    if conv.channels_last != channels_last:
        return f"channels are {'second' if channels_last else 'last'}"
    if conv.groups > 1 or conv.w_zero or types["W"].shape[0] < AT_ONCE:
        return f"it has groups, fewer than {AT_ONCE} filters, or weights with a zero point"
    return None


def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    taps = math.prod(extents[loop] for loop in "crs")
    pixels, filters = extents["n"] * extents["y"] * extents["x"], extents["f"]
    blocks = -(-pixels // 4) * -(-filters // 4)
    products = blocks * (WORD * -(-taps // 4) + BLOCK) + filters * taps
    return CycleEstimate(cores=CALL + TAP * taps * pixels + products + RESULT * pixels * filters)


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
