"""A network that RAM does not hold is planned again for less RAM, where an accelerator's parts may shrink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from tilewright import targets
from tilewright.ir.graph import Graph
from tilewright.planner.board.advice import streams_may_shrink
from tilewright.planner.board.memory import RamTooSmall
from tilewright.target.settings import RAM, Settings

T = TypeVar("T")
Planned = Callable[[Settings, Callable[[Graph], Graph]], T]
"""Of settings, and of what an imported graph is to be passed through, which adds notes."""
NOTE = "RAM does not hold it as it is: it was planned for less RAM, as by --optimise ram"


def or_with_less_ram(target: str, settings: Settings, planned: Planned[T]) -> T:
    """What is planned; what does not fit, for less RAM. If that does not fit either, its error says what is missing."""
    try:
        return planned(settings, lambda graph: graph)
    except RamTooSmall:
        if not target or not streams_may_shrink(targets.find(target), settings):
            raise
    return planned(replace(settings, optimise=RAM), _noted)


def _noted(graph: Graph) -> Graph:
    return replace(graph, notes=(*graph.notes, NOTE))
