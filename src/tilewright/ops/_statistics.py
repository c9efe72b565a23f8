"""Mean and variance of a batch."""

from __future__ import annotations

import math

import numpy as np

from tilewright.ops._compose import Compose
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesumsquare import ReduceSumSquare


def of_channels(make: Compose, x: str) -> tuple[str, str]:
    """Mean and variance of each channel, the second axis. Squares of what is centred are added up as they are made."""
    shape = make.shape(x)
    axes, count = tuple(axis for axis in range(len(shape)) if axis != 1), math.prod(shape) // max(shape[1], 1)
    mean = make(ReduceMean(axes, False), x)
    ones = make.constant(np.ones(make.shape(mean), np.float32), "ones")
    centred = make(BatchNormalization(), x, ones, make.scaled(mean, -1.0))
    return mean, make.scaled(make(ReduceSumSquare(axes, False), centred), 1.0 / max(count, 1))
