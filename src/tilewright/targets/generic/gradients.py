"""Kernels of gradients: of convolutions and pools. Those of functions are with the functions."""

from __future__ import annotations

from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.maxpoolgrad import MaxPoolGrad
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.linear import channels_second

KERNELS = (
    Kernel(
        ConvInputGrad, "conv_input_grad.c", "G:float32 W:float32 -> Y:float32", {}, header="conv_gradient.h",
    ),
    Kernel(
        ConvWeightGrad, "conv_weight_grad.c", "X:float32 G:float32 -> Y:float32", {}, header="conv_gradient.h",
    ),
    Kernel(
        ConvWeightStep, "conv_weight_step.c", "X:float32 G:float32 W:float32 rate:float32 -> Y:float32", {},
        header="conv_gradient.h", unsupported_reason=channels_second,
    ),
    Kernel(MaxPoolGrad, "maxpool_grad.c", "G:float32 X:float32 -> Y:float32", {}, header="pool_gradient.h"),
)  # fmt: skip
