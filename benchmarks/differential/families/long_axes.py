"""Axes that are long beside the others."""

from __future__ import annotations

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families import arithmetic, moves, reductions
from benchmarks.differential.net import Net, grown

NODES = {
    moves.transpose: 3, moves.reshape: 2, moves.slices: 3, moves.concat: 2, moves.split: 2, moves.gather: 1,
    moves.tile: 1, moves.pad: 2, moves.expand: 1, arithmetic.unary: 3, arithmetic.binary: 3, arithmetic.several: 1,
    arithmetic.clip: 1, arithmetic.cast: 1, reductions.reduce: 3, reductions.along_axis: 3, reductions.cumulative: 1,
}  # fmt: skip
"""How often each is tried, relative to the others: what is cheap for each element."""
LONG_ROOM = 20
"""Times the usual."""


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, LONG_ROOM * room)
    longest = 2 * room
    net.draw_size = lambda: choices.pick_one([1, 2, 3, choices.number(longest // 4, longest)])
    return grown(net, NODES, choices.number(1, 4))
