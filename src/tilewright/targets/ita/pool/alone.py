"""Matrix products by heads in which every row attends to itself alone.

ITAPool's front end has no other command than a whole head. Where the scores of 64 rows are largest for each row itself,
and as small as can be for all others, a row's share of itself is the same for all rows, and of others it is zero: what
is mixed are the values as they are, times that share. Values are a product with constants. So rows get 64 columns more,
with one element each that says which row it is; queries and keys are these columns."""

from __future__ import annotations

import numpy as np

from tilewright.errors import InternalError
from tilewright.targets.ita.arithmetic import POOL_SOFTMAX, Scale
from tilewright.targets.ita.layout import SIDE

MARK = 127
"""What a row has in its own column, and weights of queries and keys have for that."""
MARKED = Scale(1, 7)
"""Of queries and keys: MARK * MARK is a byte again."""
SCORES = Scale(1, 5, -128)
"""Of a row with itself far above a byte, of others 0: the largest and the smallest one."""


def own_share() -> int:
    """Of a row among 64."""
    scores = np.full((1, SIDE), -128, np.int8)
    scores[0, 0] = 127
    shares = POOL_SOFTMAX(scores)[0]
    if shares[1:].any():
        raise InternalError("ITAPool's softmax", "a row that attends to itself alone has shares of others")
    return int(shares[0])


def undone(share: int) -> Scale:
    """The scale that leaves bytes of bytes times a share."""
    values = np.arange(-128, 128)
    for shift in range(16):
        scale = Scale(round((1 << shift) / share), shift)
        if scale.multiplier < 256 and np.array_equal(scale(values * share), values):
            return scale
    raise InternalError("ITAPool's softmax", f"no scale of 8 bits undoes {share}")


MIXED = undone(own_share())
