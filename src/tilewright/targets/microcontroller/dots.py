"""Kernels of sums of products by an instruction that a user adds: dot products of four bytes (`kernels/patterns.h`)."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair
from tilewright.ops.conv import Conv
from tilewright.target.kernel import Kernel, Types
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.target import Engine, Offer
from tilewright.targets.generic.linear import INTEGER_CONV, NARROW_CONV, TOTALS, in_place_of_planes, not_depthwise
from tilewright.targets.microcontroller import linear
from tilewright.targets.microcontroller.blocked import DottedConv, blocked_conv
from tilewright.targets.microcontroller.blocked_product import DottedMatMul, blocked_product
from tilewright.targets.microcontroller.sizes import in_c

DOT4 = "dot4_s8"
DOT4_MACS = 4
STRIDES = (1, 2)


def _not_3x3(op: Op, types: Types) -> str | None:
    """Why windows are none that it slides over words."""
    reason, conv = not_depthwise(op, types), cast(Conv, op)
    if reason is not None:
        return reason
    window, strides = pair(types["W"].shape[2:]), pair(conv.strides)
    if window != (3, 3) or strides[1] not in STRIDES or max(conv.dilations) > 1:
        return f"windows are {window[0]} x {window[1]}, {strides[1]} apart: it takes 3 x 3, 1 or 2 apart"
    if types["W"].dtype != "int8" or conv.w_zero:
        return "weights are not signed bytes with the zero point 0"
    return None


def forms(graph: Graph, node: Node) -> list[Offer]:
    """Weights as words of four taps."""
    found = blocked_conv(graph, node, DottedConv) or blocked_product(graph, node, DottedMatMul)
    return [] if found is None else [found]


KERNELS = (
    Kernel(
        DottedConv, "conv_dots.c", "X W:int32 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS},
        scratch=in_c("tw_conv_dots_scratch"), header="conv.h",
    ),
    Kernel(
        DottedMatMul, "matmul_dots.c", "A W:int32 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS},
        scratch=in_c("tw_matmul_dots_scratch"), header="matmul_blocked.h",
    ),
    Kernel(
        Conv, "depthwise_dots.c", INTEGER_CONV, NARROW_CONV, linear.depthwise_params,
        in_c("tw_depthwise_dots_scratch"), _not_3x3, header="conv.h",
        in_place=lambda op, types: in_place_of_planes(linear.depthwise_rows(types), types),
    ),
)  # fmt: skip


def extended(engine: Engine, patterns: frozenset[str]) -> Engine:
    """The engine with these kernels before its own, where an instruction multiplies four bytes."""
    if DOT4 not in patterns:
        return engine
    return replace(engine, kernels=(*KERNELS, *engine.kernels), forms=forms, peak=_with_dots(engine.peak))


def _with_dots(peak: Peak | None) -> Peak | None:
    """With four products of bytes in a cycle."""
    if peak is None or not isinstance(peak.macs, CoreMacs):
        return peak
    widths = tuple((bits, max(rate, DOT4_MACS) if bits == 8 else rate) for bits, rate in peak.macs.widths)
    return replace(
        peak, macs=replace(peak.macs, widths=widths), source=f"{peak.source}; {DOT4}: four products of bytes"
    )
