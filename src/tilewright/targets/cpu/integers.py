"""Kernels of bytes: what they take, and the forms of constants that they want."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import Layout, all_worth_it, with_layout
from tilewright.target.kernel import Kernel, Types
from tilewright.target.processors import Vectors
from tilewright.target.target import Offer
from tilewright.targets.cpu.packed_forms import (
    WHOLE_WINDOW,
    PackedConvolution,
    PackedDepthwise,
    PackedProduct,
    tap_fours,
    up,
)
from tilewright.targets.cpu.packed_offers import offers
from tilewright.targets.generic.linear import FLOAT, TOTALS

MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""
STRIP_PIXELS = 64
"""Pixels that meet a block of filters while it is in the nearest cache."""
MOST_ROWS = 8
"""TW_ROWS in C at the most."""
POINTER = 8


def _worth(of: frozenset[str], graph: Graph, node: Node) -> int:
    types = [graph.types[name].dtype for name in node.inputs[:2]]
    return graph.macs(node) // MACS_PER_BYTE if isinstance(node.op, Conv) and of.issuperset(types) else 0


OF_BYTES, OF_FLOATS = partial(_worth, NARROW), partial(_worth, FLOAT)
LAST = Layout(channels_last=True, worth=OF_BYTES, keeps=OF_FLOATS)
LAYOUTS: tuple[Pass, ...] = (
    Pass("channels last of bytes", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST)),
)


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    return offers(vectors.bytes // 2, graph, node)


def conv_of(op: Op, types: Types) -> tuple[PackedConvolution, Types]:
    """A product as the convolution that it is."""
    if isinstance(op, PackedProduct):
        return op.form, op.as_image(types)
    return instance(op, PackedConvolution), types


def window_bytes(op: PackedConvolution, types: Types) -> int:
    """Of a window that is gathered; 0 where windows are read where they are."""
    channels = types["X"].shape[-1] // op.conv.groups
    return up(math.prod(op.kernel) * channels, WHOLE_WINDOW) if op.gathers(channels) else 0


def strip_pixels(types: Types) -> int:
    return min(STRIP_PIXELS, max(1, math.prod(types["Y"].shape[1:-1])))


def conv_params(op: Op, types: Types) -> Params:
    form, image = conv_of(op, types)
    return {**form.params(image), "strip": strip_pixels(image), "window": window_bytes(form, image)}


def conv_scratch(op: Op, types: Types) -> int:
    """Where the taps of a strip are, and its windows or a pixel outside."""
    form, image = conv_of(op, types)
    window, pixels = window_bytes(form, image), up(strip_pixels(image), MOST_ROWS)
    taps = 1 if window else math.prod(form.kernel)
    return POINTER * pixels * taps + (pixels * window if window else image["X"].shape[-1])


def depthwise_params(op: Op, types: Types) -> Params:
    return {**op.params(types), "strip": 0, "window": 0}


def depthwise_scratch(op: Op, types: Types) -> int:
    """Where the taps of a pixel are, and a pixel outside."""
    form = instance(op, PackedDepthwise)
    return POINTER * tap_fours(form.kernel).size + form.filters


SIGNATURE = "X W:int8 B:int32 mul:int32 add:int32 -> Y"
TYPES = {"X": NARROW, "Y": TOTALS}
PACKED = (
    Kernel(PackedConvolution, "conv_dot.c", SIGNATURE, TYPES, conv_params, conv_scratch, header="conv_dot.h"),
    Kernel(PackedProduct, "conv_dot.c", SIGNATURE, TYPES, conv_params, conv_scratch, header="conv_dot.h"),
    Kernel(
        PackedDepthwise, "depthwise_dot.c", SIGNATURE, TYPES, depthwise_params, depthwise_scratch, header="conv_dot.h"
    ),
)


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    return PACKED
