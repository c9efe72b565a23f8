"""What the cycles of portable sums of products grow with on clusters, one element at a time."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.target.in_c import WorkInC
from tilewright.targets.generic.sizes import in_c

WORK: Mapping[str, WorkInC] = {
    "conv_f32": in_c.work("tw_conv_planes_work"), "conv_int8": in_c.work("tw_conv_planes_work"),
    "conv_channels_last": in_c.work("tw_conv_channels_last_work"),
    "depthwise_f32": in_c.work("tw_depthwise_planes_work"), "depthwise_int8": in_c.work("tw_depthwise_planes_work"),
    "matmul_f32": in_c.work("tw_matmul_rows_work"), "matmul_int8": in_c.work("tw_matmul_rows_work"),
}  # fmt: skip
"""By the kernel's stem."""
