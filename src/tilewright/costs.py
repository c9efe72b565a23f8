"""Predicted cycles of kernels on a cluster. The coefficients are fitted by measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.grid import Grid
from tilewright.target import Coefficients, Costs, Kernel

UNKNOWN: Coefficients = (200.0, 8.0, 12.0)
"""For a kernel that was never measured."""


def kernel_cycles(costs: Costs, kernel: Kernel, points: int, elements: int, cores: int) -> float:
    """One call on a tile; a cooperative kernel has all the cores."""
    constant, per_point, per_element = costs.kernels.get(kernel.stem, UNKNOWN)
    share = cores if kernel.cooperative else 1
    return constant + (per_point * points + per_element * elements) / share


def work(grid: Grid, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Points of the loop nest and elements of the results of a tile with these sizes along the cut loops."""
    elements = sum(grid.types[name].elements for name in grid.results)
    try:
        points = math.prod({**grid.extents, **sizes}.values())
    except NotImplementedError:
        return elements, elements
    shrunk = math.prod(size / grid.extents[loop] for loop, size in sizes.items())
    return points, round(elements * shrunk)
