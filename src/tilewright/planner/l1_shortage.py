"""What a network lacks that does not fit the near memory: the layer, and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.ir.graph import Node
from tilewright.planner import select
from tilewright.planner.candidates import Choice
from tilewright.planner.capacity import Room, rounded
from tilewright.planner.enumerate import ways
from tilewright.planner.options import Layer, Limits, Way

MOST_BYTES = 2**31
"""More than any memory has."""


def too_small(options: Sequence[Sequence[Choice]], tensors: Sequence[select.Tensor], room: Room) -> CompileError:
    """The layer whose smallest way is the largest."""
    smallest = {group[0].way.node: min(_needed(choice.way, tensors) for choice in group) for group in options}
    node = max(smallest, key=lambda node: smallest[node])
    return _missing(node, smallest[node], room)


def no_way(layer: Layer, room: Room, limits: Limits, tensors: Sequence[select.Tensor]) -> CompileError:
    """Its result is part of a Concat's, so that it cannot work in the far memory, and no tile fits the near one."""
    # With little more room than there is: where there is plenty, small tiles are not tried.
    size = limits.near_bytes
    found: list[Way] = []
    while not found and size < MOST_BYTES:
        size *= 2
        found = ways(layer, replace(limits, near_bytes=size))
    return _missing(layer.node, min(_needed(way, tensors) for way in found), room)


def _needed(way: Way, tensors: Sequence[select.Tensor]) -> int:
    """Bytes of the near memory: what a way wants to find there takes room too."""
    return way.bytes + sum(rounded(tensor.bytes) for tensor in tensors if tensor.name in way.near)


def _missing(node: Node, least: int, room: Room) -> CompileError:
    return CompileError(
        node.where, f"needs {least} bytes of the near memory, {room.arena} are free: {max(least - room.arena, 0)} are "
        "missing", f"give it more, for example --l1 {room.base + least}",
    )  # fmt: skip
