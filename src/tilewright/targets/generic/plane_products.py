"""Gradients of convolutions as products of factors with planes of an image: in less time, with more working memory."""

from __future__ import annotations

from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.linear import channels_second
from tilewright.targets.generic.sizes import in_c

KERNELS = (
    Kernel(
        ConvInputGrad, "conv_input_grad_planes.c", "G:float32 W:float32 -> Y:float32", {},
        scratch=in_c("tw_conv_input_grad_planes_scratch"), unsupported_reason=channels_second, header="conv_gradient.h",
    ),
    Kernel(
        ConvWeightGrad, "conv_weight_grad_planes.c", "X:float32 G:float32 -> Y:float32", {},
        scratch=in_c("tw_conv_weight_grad_planes_scratch"), unsupported_reason=channels_second,
        header="conv_gradient.h",
    ),
)  # fmt: skip
