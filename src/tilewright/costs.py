"""Predicted cycles: what a kernel call and a transfer cost on a cluster. Coefficients are fitted by measurement."""

from __future__ import annotations

import math

from tilewright.op import Op
from tilewright.target import Coefficients, Costs, Kernel, Types

UNKNOWN: Coefficients = (200.0, 8.0, 12.0)
"""For a kernel that was never measured."""


def kernel_cycles(costs: Costs, kernel: Kernel, op: Op, types: Types, results: tuple[str, ...], cores: int) -> float:
    """One call on a tile with these types; a cooperative kernel has the cores of the cluster."""
    constant, per_point, per_result = costs.kernels.get(kernel.stem, UNKNOWN)
    share = cores if kernel.cooperative else 1
    points, elements = work(op, types, results)
    return constant + (per_point * points + per_result * elements) / share


def work(op: Op, types: Types, results: tuple[str, ...]) -> tuple[int, int]:
    """Points of the loop nest and elements of the results."""
    elements = sum(types[name].elements for name in results if name in types)
    shapes = {name: kind.shape for name, kind in types.items() if name not in results}
    try:
        return math.prod(op.extents(shapes).values()), elements
    except NotImplementedError:
        return elements, elements
