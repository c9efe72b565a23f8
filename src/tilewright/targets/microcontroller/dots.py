"""Kernels for instructions that a user adds: products of bytes, and the larger ones of bytes (`kernels/patterns.h`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops._windows import pair
from tilewright.ops.conv import Conv
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.relu import Relu
from tilewright.target.in_c import InC
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Engine, Offer
from tilewright.targets.bare.dots import DOT4, DOTS, UNSIGNED_DOT4, with_products
from tilewright.targets.generic.linear import (
    INTEGER_CONV,
    NARROW_CONV,
    TOTALS,
    channels_second,
    in_place_of_planes,
    not_depthwise,
)
from tilewright.targets.microcontroller import linear
from tilewright.targets.microcontroller.blocked import (
    BitsConv,
    BlockedConv,
    DottedConv,
    UnsignedDottedConv,
    blocked_conv,
)
from tilewright.targets.microcontroller.blocked_product import (
    BitsMatMul,
    BlockedMatMul,
    DottedMatMul,
    UnsignedDottedMatMul,
    blocked_product,
)
from tilewright.targets.microcontroller.sizes import in_c

BITS = "bits2_s2"
PRODUCTS = DOTS | {BITS}
"""Four products of bytes in a cycle; bit by bit, of sixteen weights in four cycles."""
LARGER = frozenset({"max4_s8", "max4_u8"})
STRIDES = (1, 2)

Forms = tuple[type[BlockedConv], type[BlockedMatMul]]


def _unsupported_windows(op: Op, types: Types) -> str | None:
    """Why windows are none that it slides over words."""
    reason, conv = not_depthwise(op, types), cast(Conv, op)
    if reason is not None:
        return reason
    if max(conv.dilations) > 1:
        return "windows have dilations"
    window, strides = pair(types["W"].shape[2:]), pair(conv.strides)
    if window[1] < 2 or strides[1] not in STRIDES:
        return f"windows are {window[0]} x {window[1]}, {strides[1]} apart: it takes 2 columns or more, 1 or 2 apart"
    if types["W"].dtype != "int8" or conv.w_zero:
        return "weights are not signed bytes with the zero point 0"
    return None


def _forms_for(patterns: frozenset[str], dtype: str) -> Iterator[Forms]:
    """Of bytes of a type, the best first; dotted_bytes.h chooses in the same way."""
    if BITS in patterns:
        yield BitsConv, BitsMatMul
    own, other = (DOT4, UNSIGNED_DOT4) if dtype == "int8" else (UNSIGNED_DOT4, DOT4)
    for pattern in (own, other):
        if pattern in patterns:
            yield (DottedConv, DottedMatMul) if pattern == DOT4 else (UnsignedDottedConv, UnsignedDottedMatMul)
            return


def forms(graph: Graph, node: Node, patterns: frozenset[str]) -> list[Offer]:
    """Weights as words of four taps, or of the bits of sixteen."""
    for conv, product in _forms_for(patterns, graph.types[node.inputs[0]].dtype):
        found = blocked_conv(graph, node, conv) or blocked_product(graph, node, product)
        if found is not None:
            return [found]
    return []


def _conv(op: type[BlockedConv], source: str, scratch: InC) -> Kernel:
    return Kernel(
        op, source, "X W:int32 B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "Y": TOTALS}, scratch=scratch,
        header="conv.h",
    )  # fmt: skip


def _product(op: type[BlockedMatMul], source: str, scratch: InC) -> Kernel:
    return Kernel(
        op, source, "A W:int32 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": TOTALS}, scratch=scratch,
        header="matmul_blocked.h",
    )  # fmt: skip


DOT_KERNELS = (
    *(_conv(op, "conv_dots.c", in_c("tw_conv_dots_scratch")) for op in (DottedConv, UnsignedDottedConv)),
    *(_product(op, "matmul_dots.c", in_c("tw_matmul_dots_scratch")) for op in (DottedMatMul, UnsignedDottedMatMul)),
    Kernel(
        Conv, "depthwise_dots.c", INTEGER_CONV, NARROW_CONV, linear.depthwise_params,
        in_c("tw_depthwise_dots_scratch"), _unsupported_windows, header="conv.h",
        in_place=lambda op, types: in_place_of_planes(linear.depthwise_rows(types), types),
    ),
)  # fmt: skip
BITS_KERNELS = (
    _conv(BitsConv, "conv_bits.c", in_c("tw_conv_bits_scratch")),
    _product(BitsMatMul, "matmul_bits.c", in_c("tw_matmul_bits_scratch")),
)
LARGER_KERNELS = (
    Kernel(
        MaxPool, "maxpool_max4.c", "X -> Y", {"X": NARROW, "Y": NARROW}, scratch=in_c("tw_maxpool_max4_scratch"),
        unsupported_reason=channels_second, header="pool.h",
    ),
    Kernel(Relu, "relu_max4.c", "X:int8 -> Y:int8", {}, header="unary.h"),
)  # fmt: skip
KERNELS = (*DOT_KERNELS, *BITS_KERNELS, *LARGER_KERNELS)


def extended(engine: Engine, patterns: frozenset[str]) -> Engine:
    """The engine with those that instructions are for before its own."""
    has_dots, has_bits = bool(patterns & DOTS), BITS in patterns
    own = (
        *(DOT_KERNELS if has_dots else ()), *(BITS_KERNELS if has_bits else ()),
        *(LARGER_KERNELS if patterns & LARGER else ()),
    )  # fmt: skip
    found = replace(engine, kernels=(*own, *engine.kernels), peak=with_products(engine.peak, patterns & PRODUCTS))
    if not has_dots and not has_bits:
        return found
    plain = engine.forms
    return replace(
        found, forms=lambda graph, node: forms(graph, node, patterns) or (list(plain(graph, node)) if plain else [])
    )
