"""What a network lacks that does not fit the near memory: the layer, and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Node
from tilewright.planner import select
from tilewright.planner.candidates import Candidate
from tilewright.planner.capacity import L1Budget, rounded
from tilewright.planner.enumerate import options
from tilewright.planner.options import Layer, Limits, TilingOption

MOST_BYTES = 2**31
"""More than any memory has."""


def too_small(
    groups: Sequence[Sequence[Candidate]], tensors: Sequence[select.Tensor], budget: L1Budget
) -> CompileError:
    """The layer whose smallest way is the largest."""
    smallest = {
        group[0].option.node: min(_needed(candidate.option, tensors) for candidate in group) for group in groups
    }
    node = max(smallest, key=lambda node: smallest[node])
    return _missing(node, smallest[node], budget)


def no_option_fits(layer: Layer, budget: L1Budget, limits: Limits, tensors: Sequence[select.Tensor]) -> CompileError:
    """Its result is part of a Concat's, so that it cannot work in the far memory, and no tile fits the near one."""
    # With little more room than there is: where there is plenty, small tiles are not tried.
    size = limits.l1_bytes
    found: list[TilingOption] = []
    while not found and size < MOST_BYTES:
        size *= 2
        found = options(layer, replace(limits, l1_bytes=size))
    return _missing(layer.node, min(_needed(option, tensors) for option in found), budget)


def _needed(option: TilingOption, tensors: Sequence[select.Tensor]) -> int:
    """Bytes of the near memory: what a way wants to find there takes room too."""
    return option.bytes + sum(rounded(tensor.bytes) for tensor in tensors if tensor.name in option.l1)


def _missing(node: Node, least: int, budget: L1Budget) -> CompileError:
    return CompileError(
        node.where,
        f"needs {least} bytes of the near memory, {budget.arena} are free: {max(least - budget.arena, 0)} are missing",
        f"give it more, for example --l1 {budget.base + least}",
    )  # fmt: skip
