"""Larger graphs of all kinds of nodes."""

from __future__ import annotations

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families import arithmetic, moves, normalisations, products, reductions, windows
from benchmarks.differential.net import Net, grown

NODES = {
    **moves.NODES, **arithmetic.NODES, **products.NODES, **reductions.NODES, **normalisations.NODES, **windows.NODES,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(2, 20))
