"""Operators that patterns name: those that models have, and those that only accelerators compute."""

from __future__ import annotations

from tilewright import ops
from tilewright.accelerator.crossbars.operators import OPERATORS
from tilewright.ir.op import Op


def find_operator(kind: str) -> type[Op] | None:
    """The operator of that name, or None."""
    return OPERATORS.get(kind) or ops.find(kind)
