"""What a condition chooses, moved to the front: tensors with room for everything, and how much there is.

Positions are running sums of the condition; what is not chosen goes to a place behind the last, which is cut off.
"""

from __future__ import annotations

import numpy as np

from tilewright.ops._compose import Compose
from tilewright.ops.cumsum import CumSum
from tilewright.ops.less import Less
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.where import Where


def chosen_positions(make: Compose, condition: str, room: int) -> tuple[str, str]:
    """The positions of what is true along the one axis of a condition, in order and then 0, of which there is room for
    so many; and how many there are, as one int64."""
    (size,) = make.shape(condition)
    ones = make.cast(condition, "int32")
    behind = make.constant(np.full(size, size, np.int32), "behind")
    places = make(Where(), condition, make(CumSum(0, exclusive=True), ones), behind)
    empty = make.constant(np.zeros(size + 1, np.int32), "empty")
    numbers = make.constant(np.arange(size, dtype=np.int32), "numbers")
    found = make.part(make(ScatterElements(), empty, places, numbers), 0, 0, min(room, size))
    return found, make.cast(make(ReduceSum((0,), True), ones), "int64")


def zeros_behind(make: Compose, x: str, axis: int, count: str) -> str:
    """Only the first of its slices along an axis, as many as there are; zeros in the place of the others."""
    shape = [size if at == axis else 1 for at, size in enumerate(make.shape(x))]
    numbers = make.constant(np.arange(shape[axis], dtype=np.int64).reshape(shape), "numbers")
    return make(Where(), make(Less(), numbers, make.reshape(count, (1,) * len(shape))), x, make.like(0, x))
