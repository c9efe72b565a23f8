"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter, Step
from tilewright.ops.fft import FFT


@rule(FFT)
def fft(to: NodeWriter, op: FFT) -> None:
    """Forward or inverse, as the roots of unity tell; ONNX divides an inverse one by the number of points."""
    roots, points = to.must_know("W"), to.shape("X")[-2]
    inverse = bool(roots[roots.shape[0] // 2, 1] > 0)
    factor = op.factor * (points if inverse else 1)
    axis = to.constant(np.asarray(-2, np.int64), "axis")
    steps = [Step("DFT", (to.operand("X"), "", axis), {"inverse": int(inverse)})]
    if factor != 1.0:
        steps.append(Step("Mul", (to.constant(np.asarray(factor, np.float32), "factor"),)))
    to.chain(*steps)
