"""From a layer's own requantisation to ITA's, if that is the same for every total; or the reason why it is not.

The layer wants  clamp(round((total * mul + add) / 2**shift) + zero_point, low, high),  total being sum + bias;
ITA gives        clip(((sum + b) * m + half) >> s, then + a)   with 0 <= m < 256, b of 24 bits for each column, a of 8.

`m` and `s` are for all columns alike, so that only one factor will do, and only one whose odd part is below 256: it and
the shift lose their common powers of two. What `add` holds beyond them is never reached. The rest r of it has to be
m * b + z * 2**s with an integer b for each column and one z for all, which joins the zero point: m being odd, for one r
there always is such a pair with z in the range of a, and columns agree where their r are alike modulo m.
"""

from __future__ import annotations

import numpy as np

from tilewright.ir.requant import Requant
from tilewright.ir.rounding import UP
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Form
from tilewright.requant.spec import RequantSpec
from tilewright.targets.ita.arithmetic import RELU, Activation, Scale

MOST_FACTOR = 255
BIAS = (-(1 << 23), (1 << 23) - 1)
BYTE = (-128, 127)
FORM = Form(
    "ita", frozenset({Arithmetic.ONCE, Arithmetic.SUMMED}), {"int8": None}, UP, factors=(0, MOST_FACTOR),
    one_factor=True, reduced=0,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fitted:
    """A requantisation as ITA does it."""

    scale: Scale
    activation: Activation
    bias: Array
    """For each column."""


def fitted(requant: Requant, mul: Array, add: Array | None, bias: Array) -> Fitted | str:
    """`mul` and `add` have one value, or one for each column; `bias` has one for each. A text says why ITA cannot."""
    factors, adds = mul.astype(np.int64).reshape(-1), None if add is None else add.astype(np.int64).reshape(-1)
    wide = np.zeros(np.broadcast(factors, 0 if adds is None else adds).shape, np.int64)
    # Whatever totals are: the form has no limit that depends on them.
    spec = RequantSpec(requant, wide + factors, None if adds is None else wide + adds, wide, wide)
    unsupported_reason = FORM.unsupported_reason(spec)
    if unsupported_reason:
        return unsupported_reason
    small, _ = FORM.without_zeros(spec)
    rest = np.zeros(1, np.int64) if small.add is None else small.add
    return _with_rest(requant, Scale(int(small.mul[0]), small.requant.shift), rest, bias.astype(np.int64))


def _with_rest(requant: Requant, scale: Scale, rest: Array, bias: Array) -> Fitted | str:
    """With what is added to products: as biases, and as a summand behind the shift."""
    kind = _kind(requant)
    if kind is None:
        return f"results are clipped to {requant.low} and {requant.high}"
    zero = 0 if kind == RELU else requant.zero_point
    step = _step(scale, rest, (BYTE[0] - zero, BYTE[1] - zero) if kind != RELU else (0, 0))
    if step is None:
        return "what is added to its products is no multiple of the factor, or not alike for all columns"
    more = (rest - (step << scale.shift)) // scale.multiplier if scale.multiplier else 0 * rest
    total = bias + more
    if total.min() < BIAS[0] or total.max() > BIAS[1]:
        return f"its biases reach {int(np.abs(total).max())}, and ITA's have 24 bits"
    activation = Activation(RELU, Scale(add=requant.zero_point)) if kind == RELU else Activation()
    return Fitted(Scale(scale.multiplier, scale.shift, zero + step), activation, np.broadcast_to(total, bias.shape))


def _kind(requant: Requant) -> str | None:
    """How results are clipped: to all of a byte, or from the zero point on."""
    if (requant.low, requant.high) == BYTE:
        return "identity"
    is_relu = requant.high == BYTE[1] and requant.low == requant.zero_point >= 0
    return RELU if is_relu else None


def _step(scale: Scale, rest: Array, allowed: tuple[int, int]) -> int | None:
    """z, with rest - z * 2**s a multiple of m for all columns; of those that are allowed the smallest in size."""
    if scale.multiplier == 0:
        return 0 if not rest.any() else None
    candidates = np.arange(allowed[0], allowed[1] + 1, dtype=np.int64)
    unit = (1 << scale.shift) % scale.multiplier
    fits = np.ones(len(candidates), bool)
    for value in np.unique(rest % scale.multiplier):
        fits &= (value - candidates * unit) % scale.multiplier == 0
    found = candidates[fits]
    return int(found[np.argmin(np.abs(found))]) if len(found) else None


def nearest(scale: float) -> Scale:
    """The one with a factor of 8 bits that is nearest to a scale: it is off by at most 1 part in 511."""
    if not scale > 0:
        return Scale(0)
    shift = 0
    while scale * 2 ** (shift + 1) <= MOST_FACTOR:
        shift += 1
    return Scale(min(round(scale * 2**shift), MOST_FACTOR), shift)
