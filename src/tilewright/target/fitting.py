"""Least squares with coefficients that are not negative: time is never given back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.ir.types import Array


def fit(
    features: Sequence[Sequence[float]], measured: Sequence[float], weights: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Coefficients that predict the measurements with the least relative error, by their weights."""
    weight = np.ones(len(measured)) if weights is None else np.asarray(weights, np.float64)
    wanted = np.asarray(measured, np.float64)
    rows = np.asarray(features, np.float64) * (weight / wanted)[:, None]
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    return tuple(float(value) for value in _not_negative(rows / scale, weight) / scale)


def _not_negative(matrix: Array, wanted: Array) -> Array:
    """Lawson and Hanson's active sets: columns join while they help, and leave when they would turn negative."""
    count = matrix.shape[1]
    solution, used = np.zeros(count), np.zeros(count, bool)
    for _ in range(10 * count):
        gradient = np.where(used, -np.inf, matrix.T @ (wanted - matrix @ solution))
        if used.all() or gradient.max() < 1e-9:
            break
        used[gradient.argmax()] = True
        solution = _inside(matrix, wanted, solution, used)
    return solution


def _inside(matrix: Array, wanted: Array, start: Array, used: Array) -> Array:
    """From a solution toward the best one in the used columns, as far as nothing turns negative."""
    solution = start
    while True:
        best = np.zeros_like(solution)
        best[used] = np.linalg.lstsq(matrix[:, used], wanted, rcond=None)[0]
        short = used & (best <= 0)
        if not short.any():
            return best
        steps = solution[short] / np.maximum(solution[short] - best[short], 1e-300)
        solution = solution + min(1.0, float(steps.min())) * (best - solution)
        used &= solution > 1e-12
        solution[~used] = 0.0
