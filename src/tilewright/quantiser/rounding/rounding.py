"""Rounding that looks at what a layer makes of it: an error in one weight is made up for by those after it.

The squared error of a layer's results is a quadratic form of the errors of its weights, with the second moments of its
inputs as the matrix. Weights are rounded column by column; what a column is wrong by is spread over the columns that
are still free, in the way that changes the results least. Then single weights are moved to other levels as long as that
helps, and each channel takes the scale that suits its levels.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array

PARTS = (1.0, 0.93, 0.86, 0.79, 0.72)
"""Of the scales that are given: a finer one may do better once errors are made up for."""
SWEEPS = 3
"""Over all columns, for single weights."""


def learned_scales(rows: Array, scales: Array, bits: int, moments: Array) -> tuple[Array, Array]:
    """Levels as `learned`, and the scales that go best with them, channel by channel."""
    best = np.full(len(rows), np.inf)
    levels, found = np.zeros(rows.shape, np.int8), scales.astype(np.float64)
    for part in PARTS:
        tried = scales.astype(np.float64) * part
        made = improved(rows, tried, bits, moments, learned(rows, tried, bits, moments))
        fitting = _fitted(rows, made, moments, tried)
        errors = errors_of(rows, made, fitting, moments)
        better = errors < best
        best = np.where(better, errors, best)
        levels, found = np.where(better[:, None], made, levels), np.where(better, fitting, found)
    return improved(rows, found, bits, moments, levels), found.astype(np.float32)


def improved(rows: Array, scales: Array, bits: int, moments: Array, levels: Array) -> Array:
    """With single weights on other levels where that makes the error smaller."""
    top = 2 ** (bits - 1) - 1
    units, made = scales.astype(np.float64), levels.astype(np.float64)
    slopes = (rows - made * units[:, None]) @ moments
    for column in [*range(rows.shape[1])] * SWEEPS:
        if not moments[column, column] > 0:
            continue
        wanted = np.rint(made[:, column] + slopes[:, column] / (moments[column, column] * units))
        change = np.clip(wanted, -top, top) - made[:, column]
        made[:, column] += change
        slopes -= np.outer(change * units, moments[column])
    return made.astype(np.int8)


def _fitted(rows: Array, levels: Array, moments: Array, otherwise: Array) -> Array:
    """The scale of each channel with the least error for its levels."""
    weighted = levels.astype(np.float64) @ moments
    size = np.sum(weighted * levels, axis=1)
    scales = np.sum(weighted * rows, axis=1) / np.where(size > 0, size, 1.0)
    return np.where((size > 0) & (scales > 0), scales, otherwise)


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


def damped(moments: Array, part: float) -> Array:
    """Moments to which every column alone adds a part of their mean."""
    return np.asarray(moments + part * np.mean(np.diag(moments)) * np.eye(len(moments)))


def _inverse_factor(moments: Array) -> Array | None:
    """The upper Cholesky factor of the inverse of the moments, if they have one."""
    if not np.any(np.diag(moments) > 0):
        return None
    try:
        return np.asarray(np.linalg.cholesky(np.linalg.inv(moments)).T)
    except np.linalg.LinAlgError:
        return None


def errors_of(rows: Array, levels: Array, scales: Array, moments: Array) -> Array:
    """The squared error of the results, for each channel."""
    wrong = rows - levels * scales[:, None].astype(np.float64)
    return np.asarray(np.sum((wrong @ moments) * wrong, axis=1))
