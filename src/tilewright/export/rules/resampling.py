"""Interpolation along one axis: ONNX's Resize where it has one that reads the same elements with the same weights."""

from __future__ import annotations

from itertools import product

import numpy as np

from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter
from tilewright.ir.types import Array
from tilewright.ops._resampling import Resampling
from tilewright.ops.resize import Resize

MODES = ("linear", "cubic")
COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
CUBIC = (-0.75, -0.5)
"""The coefficients that frameworks use."""


@rule(Resize)
def resize(to: NodeWriter, op: Resize) -> None:
    taps, weights = to.value("taps"), to.value("weight")
    how = None if taps is None or weights is None else found(taps, weights, to.shape("X")[op.axis])
    if how is None:
        _gathered(to, op)
        return
    sizes = to.integers(to.result_type().shape, "sizes")
    to.end(
        "Resize", [to.operand("X"), "", "", sizes], mode=how.mode, coordinate_transformation_mode=how.coordinates,
        cubic_coeff_a=how.cubic_a, exclude_outside=int(how.exclude_outside), antialias=int(how.antialias),
    )  # fmt: skip


def found(taps: Array, weights: Array, size: int) -> Resampling | None:
    """What gives these elements and these weights."""
    result = taps.shape[0]
    for mode, coordinates, cubic, outside, antialias in product(
        MODES, COORDINATES, CUBIC, (False, True), (False, True)
    ):
        how = Resampling(mode, coordinates, cubic_a=cubic, exclude_outside=outside, antialias=antialias)
        elements, shares = how.taps(size, result, result / size)
        if elements.shape == taps.shape and np.array_equal(elements, taps) and np.array_equal(shares, weights):
            return how
    return None


def _gathered(to: NodeWriter, op: Resize) -> None:
    """All elements that a result is made of along a new axis, times their weights, summed."""
    rows, taps = to.shape("taps")
    after = len(to.shape("X")) - op.axis - 1
    parts = to.add("Gather", [to.operand("X"), to.operand("taps")], axis=op.axis)
    shape = to.integers((rows, taps, *(1,) * after), "shape")
    weights = to.add("Reshape", [to.operand("weight"), shape])
    scaled = to.add("Mul", [parts, weights])
    to.end("ReduceSum", [scaled, to.integers((op.axis + 1,), "axes")], keepdims=0)
