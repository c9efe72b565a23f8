"""Kinds of networks, one file for each, found by their names: `draw(choices, room)` gives a case."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices

Family = Callable[[Choices, int], Case]


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str) -> Family:
    drawn: Family = importlib.import_module(f"{__name__}.{name}").draw
    return drawn
