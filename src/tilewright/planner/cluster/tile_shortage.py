"""What a network lacks that does not fit L1: the layer, and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Node
from tilewright.planner.cluster import select
from tilewright.planner.cluster.candidates import Candidate
from tilewright.planner.cluster.capacity import TileBudget, option_for
from tilewright.planner.cluster.enumerate import options
from tilewright.planner.cluster.tiling_option import Layer, Limits, TilingOption

MOST_BYTES = 2**31
"""More than any memory has."""


def too_small(
    groups: Sequence[Sequence[Candidate]], tensors: Sequence[select.Tensor], budget: TileBudget
) -> CompileError:
    """The layer whose smallest option is the largest."""
    smallest = {
        group[0].option.node: min(_needed(candidate.option, tensors) for candidate in group) for group in groups
    }
    node = max(smallest, key=lambda node: smallest[node])
    return _missing(node, smallest[node], budget)


def no_option_fits(layer: Layer, budget: TileBudget, limits: Limits, tensors: Sequence[select.Tensor]) -> CompileError:
    """Its result is part of a Concat's, so that it cannot work in L2, and no tile fits L1."""
    # With little more than there is: where there is plenty, small tiles are not tried.
    size = limits.tile_bytes
    found: list[TilingOption] = []
    while not found and size < MOST_BYTES:
        size *= 2
        found = options(layer, replace(limits, tile_bytes=size))
    return _missing(layer.node, min(_needed(option, tensors) for option in found), budget)


def _needed(option: TilingOption, tensors: Sequence[select.Tensor]) -> int:
    """Bytes of L1: the option's buffers, and the tensors that it expects there."""
    return option.bytes + sum(tensor.bytes for tensor in tensors if tensor.name in option.inside)


def _missing(node: Node, least: int, budget: TileBudget) -> CompileError:
    return CompileError(
        node.where,
        f"needs {least} bytes of {budget.memory.name}, {budget.arena} are free: "
        f"{max(least - budget.arena, 0)} are missing",
        f"give it more, for example {option_for(budget.memory, budget.base + least)}",
    )  # fmt: skip
