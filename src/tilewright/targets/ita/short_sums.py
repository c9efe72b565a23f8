"""A sum of two tensors of int8 with factors that ITA has: 7 bits for each of them, and 8 bits for both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.ir.numerics_record import NumericsRecord
from tilewright.ir.rounding import Rounding
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.requant.spec import NEAR
from tilewright.targets.ita.requantising import nearest
from tilewright.targets.ita.sums import MOST_WEIGHT

VALUES = np.arange(-128, 128).astype(np.int8)


def compared(exact: QLinearAdd, ours: QLinearAdd, tensor: str, layer: str) -> NumericsRecord:
    """For how many of all sums the result is another one; it is not taken where one is two apart."""
    wanted, got = (op.numpy(VALUES[:, None], VALUES[None, :]).astype(np.int64) for op in (exact, ours))
    apart = np.abs(wanted - got)
    inside = (wanted > exact.requant.low) & (wanted < exact.requant.high)
    weights = np.exp(-np.abs(wanted - exact.requant.zero_point) * NEAR / 256) * inside
    shares = [float((apart * one).sum() / max(one.sum(), 1e-9)) for one in (inside, weights)]
    return NumericsRecord(tensor, layer, bool(apart.max() <= 1), *shares)


def short_sum(op: QLinearAdd) -> QLinearAdd:
    """The nearest of those that ITA has."""
    unit = 2.0**-op.requant.shift
    slopes = op.mul_a * unit, op.mul_b * unit
    candidates = [_short(op, slopes, most) for most in range(MOST_WEIGHT // 2, MOST_WEIGHT + 1)]
    return min(candidates, key=lambda new: _error(new, slopes))


def _short(op: QLinearAdd, slopes: tuple[float, float], most: int) -> QLinearAdd:
    first, second = (max(1, round(most * slope / max(slopes))) for slope in slopes)
    scale = nearest(max(slopes) / most)
    mul, shift = scale.multiplier, scale.shift
    offset = round(op.offset * 2.0 ** (shift - op.requant.shift) / mul) * mul
    return QLinearAdd(first * mul, second * mul, offset, replace(op.requant, shift=shift, rounding=Rounding.HALF_UP))


def _error(new: QLinearAdd, slopes: tuple[float, float]) -> float:
    unit = 2.0**-new.requant.shift
    return max(abs(new.mul_a * unit - slopes[0]), abs(new.mul_b * unit - slopes[1]))
