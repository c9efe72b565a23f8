"""Rounding that looks at what a layer makes of it: an error in one weight is made up for by those after it.

The squared error of a layer's results is a quadratic form of the errors of its weights, with the second moments of its
inputs as the matrix. Weights are rounded column by column; what a column is wrong by is spread over the columns that
are still free, in the way that changes the results least.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

DAMPING = 0.01
"""Of the mean moment: what samples say nothing about stays close to the nearest level."""


def learned(rows: Array, scales: Array, bits: int, moments: Array) -> Array:
    """The levels of [channels, columns] weights, given the second moments [columns, columns] of what they multiply."""
    top = 2 ** (bits - 1) - 1
    order = np.argsort(-np.diag(moments), kind="stable")
    factor = _inverse_factor(moments[np.ix_(order, order)])
    if factor is None:
        return np.clip(np.rint(rows / scales[:, None]), -top, top).astype(np.int8)
    left = rows[:, order].astype(np.float64)
    levels = np.zeros(rows.shape, np.int8)
    unit = scales.astype(np.float64)
    for at in range(left.shape[1]):
        level = np.clip(np.rint(left[:, at] / unit), -top, top)
        levels[:, order[at]] = level
        error = (left[:, at] - level * unit) / factor[at, at]
        left[:, at + 1 :] -= np.outer(error, factor[at, at + 1 :])
    return levels


def _inverse_factor(moments: Array) -> Array | None:
    """The upper Cholesky factor of the inverse of the damped moments."""
    mean = float(np.mean(np.diag(moments)))
    if not mean > 0:
        return None
    damped = moments + DAMPING * mean * np.eye(len(moments))
    try:
        return np.asarray(np.linalg.cholesky(np.linalg.inv(damped)).T)
    except np.linalg.LinAlgError:
        return None


def error_of(rows: Array, levels: Array, scales: Array, moments: Array) -> float:
    """The squared error of the results."""
    wrong = rows - levels * scales[:, None].astype(np.float64)
    return float(np.sum((wrong @ moments) * wrong))
