"""Axes of no element or of one, tensors without axes."""

from __future__ import annotations

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families import arithmetic, moves, products, reductions
from benchmarks.differential.net import Net, grown

NODES = {**moves.NODES, **arithmetic.NODES, **products.NODES, **reductions.NODES}


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room)
    net.draw_size = lambda: choices.pick_one([1, 1, 1, 2, 0])
    return grown(net, NODES, choices.number(1, 5))
