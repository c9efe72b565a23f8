"""Convolutions get channels as the second axis where that saves more than the Transposes for it cost.

For kernels that keep neighbouring pixels side by side: TensorFlow Lite's files have channels last. Pools go with the
convolutions around them.
"""

from __future__ import annotations

from functools import partial

from tilewright.ir.graph import Graph, Node
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.passes import Pass
from tilewright.passes.layout.channels_last import ChannelPosition, all_worth_it, with_layout

BLOCKED = frozenset({*NARROW, "float32"})
"""Elements whose convolutions are faster with channels second."""
MACS_PER_BYTE = 4
"""Multiplications whose savings pay for a byte that is transposed."""


def _worth(images: frozenset[str], graph: Graph, node: Node) -> int:
    if not isinstance(node.op, Conv):
        return 0
    x, w = (graph.types[name].dtype for name in node.inputs[:2])
    return graph.macs(node) // MACS_PER_BYTE if x in images and w in BLOCKED else 0


def channels_second(images: frozenset[str]) -> Pass:
    """For convolutions of images with these elements."""
    layout = ChannelPosition(channels_last=False, worth=partial(_worth, images))
    return Pass("channels second", partial(with_layout, layout), ensures=partial(all_worth_it, layout))


CHANNELS_SECOND = channels_second(BLOCKED)
