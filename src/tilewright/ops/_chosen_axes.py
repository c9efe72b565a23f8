"""Axes that are known only when a network runs: the result for each way is computed, and one of them chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Shape
from tilewright.ops._compose import Compose
from tilewright.ops.equal import Equal
from tilewright.ops.gather import Gather
from tilewright.ops.where import Where

MOST_WAYS = 8


def chosen(make: Compose, axes: str, rank: int, ways: Sequence[Shape], build: Callable[[Shape], str]) -> str:
    """What `build` gives for the axes in a tensor, which are one of these ways (in ascending order)."""
    if not ways or len(ways) > MOST_WAYS:
        raise Refusal(
            f"axes (input '{axes}') are computed at run time, and {len(ways)} ways fit the shapes",
            f"make them a constant, or declare the shape of the result; up to {MOST_WAYS} ways are computed",
        )
    make.emit.note(f"node '{make.node.name}': axes are known at run time: all {len(ways)} ways are computed")
    # Each set of axes has a sum of powers of two of its own; axes from the end count as those from the start.
    powers = make.constant(2 ** np.arange(rank, dtype=np.int32), "powers")
    count = make.kind(axes).elements
    found_powers = make(Gather(0), powers, make.reshape(axes, (count,)))
    code = make.part(found_powers, 0, 0, 1)
    for position in range(1, count):
        code = make.add(code, make.part(found_powers, 0, position, position + 1))
    code = make.reshape(code, ())
    found = build(ways[0])
    for way in ways[1:]:
        is_it = make(Equal(), code, make.like(sum(2**axis for axis in way), code))
        found = make(Where(), is_it, build(way), found)
    return found
