"""Convolutions whose filters are computed, and gradients of convolutions: factors times planes of an image."""

from __future__ import annotations

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic import plane_products
from tilewright.targets.generic.linear import FLOAT_CONV, channels_second
from tilewright.targets.generic.sizes import in_c

KINDS = (Conv, ConvInputGrad, ConvWeightGrad)


def _of_channels(op: Op, types: Types) -> str | None:
    if instance(op, Conv).groups > 1 and types["W"].shape[1] == 1:
        return "a group has one channel"
    return channels_second(op, types)


KERNELS = (
    Kernel(
        Conv, "conv_computed.c", FLOAT_CONV, {}, scratch=in_c("tw_conv_computed_scratch"),
        unsupported_reason=_of_channels, header="conv.h", activations=ACTIVATIONS,
    ),
    *plane_products.KERNELS,
)  # fmt: skip


def is_taken(graph: Graph, node: Node) -> bool:
    """Whether these are the kernels of a node while its channels are second."""
    if not isinstance(node.op, KINDS) or any(graph.types[name].dtype != "float32" for name in node.inputs if name):
        return False
    return not isinstance(node.op, Conv) or node.operands()["W"] not in graph.constants
