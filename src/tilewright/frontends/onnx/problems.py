"""Refusals of a whole model: equal ones once, with their number."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import CompileError

SHOWN = 3
"""Nodes that a group of equal refusals names."""


def grouped(errors: Sequence[CompileError]) -> list[CompileError]:
    """Equal refusals as one, in the order of the first of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        places = groups.setdefault((error.what, error.hint), [])
        if error.where not in places:
            places.append(error.where)
    return [CompileError(_places(places), what, hint) for (what, hint), places in groups.items()]


def _places(places: Sequence[str]) -> str:
    if len(places) == 1:
        return places[0]
    shown = ", ".join(_short(place) for place in places[:SHOWN])
    nodes = "nodes" if all(place.startswith("node ") for place in places) else "places"
    return f"{len(places)} {nodes}: {shown}" + (", ..." if len(places) > SHOWN else "")


def _short(place: str) -> str:
    """The node's name without the words that the whole group has in common."""
    return place.removeprefix("node ")
