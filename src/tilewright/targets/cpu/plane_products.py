"""Convolutions whose filters are computed, and gradients of convolutions: factors times planes of an image."""

from __future__ import annotations

from tilewright.errors import instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._windows import Windowed
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.cpu.sizes import in_c
from tilewright.targets.generic.linear import FLOAT_CONV, channels_second

KINDS = (Conv, ConvInputGrad, ConvWeightGrad)


def _of_planes(op: Op, types: Types) -> str | None:
    """One channel of a group is no sum over channels."""
    if instance(op, Windowed).channels_last:
        return channels_second(op, types)
    fields = params_of(op, types)
    sizes = ("in_channels", "out_channels") if isinstance(op, Conv) else ("channels", "filters")
    is_alone = fields["groups"] != 1 and 1 in (fields[name] for name in sizes)
    return "a group has one channel" if is_alone else None


KERNELS = (
    Kernel(
        Conv, "conv_computed.c", FLOAT_CONV, {}, scratch=in_c("tw_conv_computed_scratch"),
        unsupported_reason=_of_planes, header="conv.h", activations=ACTIVATIONS,
    ),
    Kernel(
        ConvInputGrad, "conv_input_grad_planes.c", "G:float32 W:float32 -> Y:float32", {},
        scratch=in_c("tw_conv_input_grad_planes_scratch"), unsupported_reason=_of_planes, header="conv_gradient.h",
    ),
    Kernel(
        ConvWeightGrad, "conv_weight_grad_planes.c", "X:float32 G:float32 -> Y:float32", {},
        scratch=in_c("tw_conv_weight_grad_planes_scratch"), unsupported_reason=_of_planes, header="conv_gradient.h",
    ),
)  # fmt: skip


def is_taken(graph: Graph, node: Node) -> bool:
    """Whether these are the kernels of a node while its channels are second."""
    if not isinstance(node.op, KINDS) or any(graph.types[name].dtype != "float32" for name in node.inputs if name):
        return False
    return not isinstance(node.op, Conv) or node.operands()["W"] not in graph.constants
