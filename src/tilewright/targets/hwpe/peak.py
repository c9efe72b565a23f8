"""What N-EUREKA computes in a cycle at best, from its array and the words of weights that it is fed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.target.peak import Peak
from tilewright.targets.hwpe.conv import NeurekaConv
from tilewright.targets.hwpe.encoding import NARROW, TAPS, WIDE
from tilewright.targets.hwpe.jobs import DEPTHWISE, LANES, POINTWISE, SIDE
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.op import Neureka

PIXELS = SIDE * SIDE
WINDOW = TAPS * WIDE
"""Weights of a filter that the array takes at once, bit by bit; with one tap all bits of NARROW of them."""


def macs_per_cycle(op: Op, types: Mapping[str, TensorType], cores: int) -> float:
    if not isinstance(op, Neureka):
        return math.inf
    if type(op) in (NeurekaConv, NeurekaLinear):
        return _of_array(op, types)
    return PIXELS * max(float(NARROW), WINDOW / op.bits)


def _of_array(op: Neureka, types: Mapping[str, TensorType]) -> float:
    """Of pixels times filters of the array: pixels are loaded one in a cycle, for all filters at once, while a word of
    weights a cycle is multiplied with those that were loaded before; then results are stored, a pixel in a cycle."""
    channels, result = types["X"].shape[-1], types["Y"].shape
    pixels, filters = min(math.prod(result[:-1]), PIXELS), min(result[-1], LANES)
    mode, taps = (op.mode, math.prod(op.kernel)) if isinstance(op, NeurekaConv) else (POINTWISE, 1)
    if mode == DEPTHWISE:
        return pixels * taps * min(filters, WIDE) / (pixels + pixels)
    groups = -(-channels // (NARROW if mode == POINTWISE else WIDE))
    multiplying = filters * (1 if mode == POINTWISE else op.bits)
    return pixels * taps * channels * filters / (groups * max(pixels, multiplying) + pixels)


PEAK = Peak(
    macs_per_cycle,
    "N-EUREKA: 6 x 6 pixels and 32 filters; in a cycle a word of 32 weights with one tap, or of a bit of 252 weights "
    "with nine; a pixel loaded or stored in a cycle",
)
