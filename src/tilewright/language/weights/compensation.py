"""Rounding in which later columns make up for the errors of earlier ones, as far as inputs go together.

What counts is the error of products with the inputs of a text, not that of weights. With the sum of the inputs' outer
products the best change of all columns that are not rounded yet is known for each that is (Frantar et al., GPTQ).
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.types import Array
from tilewright.language.weights.formats import Format
from tilewright.language.weights.steps import inverse

DAMPING = 0.01
"""Of the mean importance of columns, added to each: a text does not show all that inputs may be."""

AT_ONCE = 2**23
"""Weights that are rounded together."""


def compensated(value: Array, products: Array, form: Format) -> Array:
    """Bytes [rows, bytes of a row] of a matrix [rows, columns], from the sum of inputs' outer products."""
    influence, count = _influence(products), max(1, AT_ONCE // len(products))
    return np.concatenate(
        [_rounded(value[start : start + count], influence, form) for start in range(0, len(value), count)]
    )


def _rounded(rows: Array, influence: Array, form: Format) -> Array:
    """Rows do not know of each other: some of them at a time."""
    size, parts = form.block.elements, []
    waiting = rows.T.astype(np.float32, order="C", copy=True)
    for start in range(0, len(waiting), size):
        end = start + size
        own = influence[start:end, start:end]
        fitted = form.fit(np.ascontiguousarray(waiting[start:end].T), (1 / np.diag(own) ** 2)[None])
        scale, minimum = (np.broadcast_to(one, (len(rows), size)).T for one in (fitted.grid.scale, fitted.grid.minimum))
        levels, errors = _columns(waiting[start:end], own, scale, minimum, form)
        waiting[end:] -= influence[start:end, end:].T @ errors
        parts.append(form.pack(fitted, np.ascontiguousarray(levels.T)))
    return np.concatenate(parts, axis=1)


def _columns(waiting: Array, own: Array, scale: Array, minimum: Array, form: Format) -> tuple[Array, Array]:
    """Levels of the columns of a block, one after another, and the errors that columns behind it are to make up for."""
    levels, errors = np.empty_like(waiting), np.empty_like(waiting)
    over = inverse(scale)
    for column in range(len(waiting)):
        wanted = waiting[column]
        found = np.clip(np.rint((wanted + minimum[column]) * over[column]), form.low, form.high)
        levels[column] = found
        errors[column] = (wanted - (found * scale[column] - minimum[column])) / own[column, column]
        waiting[column + 1 :] -= own[column, column + 1 :, None] * errors[column]
    return levels, errors


def _influence(products: Array) -> Array:
    """How an error of a column changes those behind it: the upper root of the inverse, U with inverse = U^T U."""
    columns = len(products)
    padded = products.astype(np.float64)
    padded[np.diag_indices(columns)] += DAMPING * np.trace(padded) / columns + np.finfo(np.float32).tiny
    return np.linalg.cholesky(np.linalg.inv(padded)).T.astype(np.float32)
