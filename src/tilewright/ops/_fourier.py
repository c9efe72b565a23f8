"""Discrete Fourier transforms written down in terms of operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops.fft import FFT
from tilewright.ops.pad import Pad

SHORTEST_FAST = 16
"""Below, a product with a matrix is no slower than the fast transform."""

MOST_ELEMENTS = 2**24
"""Of a matrix that stands for a transform."""


def transformed(make: Compose, x: str, length: int, inverse: bool, onesided: bool) -> str:
    """x[..., n, 1 or 2] along its last axis but one, cut or filled up with zeros to `length`."""
    if length < 1 or make.shape(x)[-1] not in (1, 2):
        raise Refusal(f"a transform of {length} points of shape {make.shape(x)}", "the last axis holds 1 or 2 parts")
    refuse_large("the table of a transform", length)
    given = length // 2 + 1 if inverse and onesided else length
    x = fitted(make, x, given)
    if length < SHORTEST_FAST or length & (length - 1):
        return _by_matrix(make, x, length, inverse, onesided)
    if inverse and onesided:
        x = _mirrored(make, x, length)
    table = make.constant(twiddles(length, inverse), "twiddles")
    y = make(FFT(1.0 / length if inverse else 1.0), x, table)
    if not onesided:
        return y
    return make.part(y, -1, 0, 1) if inverse else make.part(y, -2, 0, length // 2 + 1)


def twiddles(length: int, inverse: bool) -> Array:
    """The roots of unity that the fast transform multiplies with: [length / 2, real and imaginary part]."""
    turns = np.exp((2j if inverse else -2j) * np.pi * np.arange(length // 2) / length)
    return np.stack([turns.real, turns.imag], axis=-1).astype(np.float32)


def fitted(make: Compose, x: str, length: int) -> str:
    shape = make.shape(x)
    if shape[-2] >= length:
        return make.part(x, -2, 0, length)
    after = [0] * len(shape)
    after[-2] = length - shape[-2]
    return make(Pad((*(0,) * len(shape), *after)), x)


def _mirrored(make: Compose, x: str, length: int) -> str:
    """Half of a spectrum of real values, completed: the other half is its mirror image, conjugated."""
    if make.shape(x)[-1] == 1:
        return make.join(-2, x, make.part(x, -2, length // 2 - 1, 0, -1))
    back = make.mul(make.part(x, -2, length // 2 - 1, 0, -1), make.constant(np.array([1, -1], np.float32), "conjugate"))
    return make.join(-2, x, back)


def _by_matrix(make: Compose, x: str, length: int, inverse: bool, onesided: bool) -> str:
    *outer, points, parts = make.shape(x)
    matrix = _matrix(points, parts, _function(length, inverse, onesided))
    flat = make.reshape(x, (*outer, points * parts))
    product = make.matmul(flat, make.constant(matrix, "transform"))
    last = 1 if inverse and onesided else 2
    return make.reshape(product, (*outer, matrix.shape[1] // last, last))


def _function(length: int, inverse: bool, onesided: bool) -> Callable[[Array], Array]:
    if inverse:
        return lambda x: np.fft.irfft(x, length) if onesided else np.fft.ifft(x)
    return lambda x: np.fft.fft(x)[..., : length // 2 + 1] if onesided else np.fft.fft(x)


def _matrix(points: int, parts: int, function: Callable[[Array], Array]) -> Array:
    """Each row is the transform of one part of one point."""
    if (points * parts) ** 2 > MOST_ELEMENTS:
        raise Refusal(f"a transform of {points} points is not supported", "use a power of two: it needs no matrix")
    points_alone = np.eye(points)
    units = points_alone if parts == 1 else np.stack([points_alone, 1j * points_alone], axis=1).reshape(-1, points)
    found = function(units)
    whole = np.stack([found.real, found.imag], axis=-1) if np.iscomplexobj(found) else found[..., None]
    return whole.reshape(len(units), -1).astype(np.float32)
