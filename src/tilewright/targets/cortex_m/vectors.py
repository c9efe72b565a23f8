"""Kernels for vectors of 16 bytes (MVE): channels last, products of bytes."""

from __future__ import annotations

import math
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import Layout, all_worth_it, with_layout
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.cortex_m.vector_forms import VECTOR, VectorConv, VectorDepthwise, VectorProduct
from tilewright.targets.generic.linear import TOTALS

STRIP_BYTES, STRIP_PIXELS = 2048, 8
"""Of windows that are gathered at a time: at least one."""
MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""


def _bytes_worth(graph: Graph, node: Node) -> int:
    types = [graph.types[name].dtype for name in node.inputs[:2]]
    return graph.macs(node) // MACS_PER_BYTE if isinstance(node.op, Conv) and NARROW.issuperset(types) else 0


LAST = Layout(channels_last=True, worth=_bytes_worth)
BYTES_LAST = Pass("channels last of bytes", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST))


def is_flat(op: VectorConv) -> bool:
    """One tap on neighbouring pixels: they are multiplied where they are."""
    return math.prod(op.kernel) == 1 and set(op.conv.strides) == {1} and not any(op.conv.padding)


def window_bytes(op: VectorConv, types: Types) -> int:
    """Of one pixel, as whole vectors."""
    taps = math.prod(op.kernel) * types["X"].shape[-1] // op.conv.groups
    return -(-taps // VECTOR) * VECTOR


def strip_pixels(op: VectorConv, types: Types) -> int:
    return 0 if is_flat(op) else max(1, min(STRIP_PIXELS, STRIP_BYTES // window_bytes(op, types)))


def conv_params(op: Op, types: Types) -> Params:
    return {**op.params(types), "strip": strip_pixels(instance(op, VectorConv), types)}


def conv_scratch(op: Op, types: Types) -> int:
    """Windows, and what is written behind the last one."""
    conv = instance(op, VectorConv)
    return 0 if is_flat(conv) else strip_pixels(conv, types) * window_bytes(conv, types) + VECTOR


def nothing(op: Op, types: Types) -> int:
    """The function has the argument all the same: rows are multiplied where they are."""
    return 0


def depthwise_scratch(op: Op, types: Types) -> int:
    """Where the taps are, inside and at a border, and a row of zeros."""
    found = instance(op, VectorDepthwise)
    taps = math.prod(found.kernel)
    return 4 * 2 * (taps + taps % 2) + -(-found.filters // VECTOR) * VECTOR


SIGNATURE = "X W:int8 B:int32 mul:int32 add:int32 -> Y"
TYPES = {"X": NARROW, "Y": TOTALS}

KERNELS = (
    Kernel(
        VectorConv, "conv_mve.c", SIGNATURE, TYPES, conv_params, conv_scratch, header="conv_mve.h",
    ),
    Kernel(VectorProduct, "conv_mve.c", SIGNATURE, TYPES, scratch=nothing, header="conv_mve.h"),
    Kernel(VectorDepthwise, "depthwise_mve.c", SIGNATURE, TYPES, scratch=depthwise_scratch, header="conv_mve.h"),
)  # fmt: skip
