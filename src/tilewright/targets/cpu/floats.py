"""Kernels of float32: what they take, and the forms of constants that they want."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tilewright.ir.graph import Graph, Node
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops.conv import Conv
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout
from tilewright.target.kernel import Kernel
from tilewright.target.processors import Vectors
from tilewright.target.target import Offer
from tilewright.targets.cpu import float_offers, float_products, movement, plane_products
from tilewright.targets.cpu.concat_slices import READ_SLICES
from tilewright.targets.cpu.costing import float_samples
from tilewright.targets.cpu.deep_groups import WIDEN_GROUPS
from tilewright.targets.cpu.float_forms import PanelConv, PanelProduct, TapConv
from tilewright.targets.cpu.read_transposed import READ_TRANSPOSED
from tilewright.targets.cpu.sizes import in_c
from tilewright.targets.cpu.winograd import RESULTS, WinogradConv

FLOAT_BYTES = 4
MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""


def _worth(graph: Graph, node: Node) -> int:
    """Of a convolution whose weights can be put into panels."""
    types = [graph.types[name].dtype for name in node.inputs[:2]]
    is_constant = isinstance(node.op, Conv) and node.operands()["W"] in graph.constants
    return graph.macs(node) // MACS_PER_BYTE if is_constant and set(types) == {"float32"} else 0


def _keeps(graph: Graph, node: Node) -> int:
    return graph.macs(node) // MACS_PER_BYTE if plane_products.is_taken(graph, node) else 0


LAST = ChannelPosition(channels_last=True, worth=_worth, keeps=_keeps)
LAYOUTS: tuple[Pass, ...] = (
    WIDEN_GROUPS,
    Pass("channels last of floats", partial(with_layout, LAST), ensures=partial(all_worth_it, LAST)),
    READ_TRANSPOSED,
    READ_SLICES,
)

SIGNATURE = "X:float32 W:float32 B:float32 -> Y:float32"
KERNELS = (
    Kernel(
        PanelConv, "conv_panels.c", SIGNATURE, {}, scratch=in_c("tw_conv_panels_scratch"), header="conv_panels.h",
        activations=ACTIVATIONS, work=in_c.work("tw_conv_panels_work"),
    ),
    Kernel(
        PanelProduct, "conv_panels.c", SIGNATURE, {}, scratch=in_c("tw_conv_panels_scratch"), header="conv_panels.h",
        activations=ACTIVATIONS, work=in_c.work("tw_conv_panels_work"),
    ),
    Kernel(
        WinogradConv, "winograd.c", SIGNATURE, {}, scratch=in_c("tw_winograd_scratch"), header="winograd.h",
        activations=ACTIVATIONS, work=in_c.work("tw_winograd_work"), at_once={"y": RESULTS},
    ),
    *movement.KERNELS,
)  # fmt: skip


def forms(vectors: Vectors, graph: Graph, node: Node) -> Sequence[Offer]:
    return float_offers.forms(vectors, graph, node)


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    first, *others = KERNELS
    deep = Kernel(
        TapConv, "depthwise_channels.c", SIGNATURE, {},
        scratch=in_c("tw_depthwise_channels_scratch", vectors.bytes // FLOAT_BYTES), header="depthwise_channels.h",
        activations=ACTIVATIONS,
    )  # fmt: skip
    panels = replace(first, samples=partial(float_samples, vectors))
    return (panels, deep, *others, *plane_products.KERNELS, *float_products.kernels(vectors))
