"""Names of what a function of a framework returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def result_names(results: Any) -> list[str]:
    """One name for each array in lists, tuples and dictionaries: keys of dictionaries, places in the others."""
    return list(_paths(results, ""))


def _paths(value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, Mapping):
        pairs = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", range(len(value)))
        pairs = [(str(name), inner) for name, inner in zip(names, value, strict=True)]
    else:
        yield path or "output"
        return
    for name, inner in pairs:
        yield from _paths(inner, f"{path}_{name}" if path else (name if not name.isdigit() else f"output_{name}"))
