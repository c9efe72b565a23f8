"""Names of what a function of a framework takes and returns: places in tuples, keys of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]


def named_results(results: Any) -> list[tuple[str, Any]]:
    """Every array in lists, tuples and dictionaries with its name, in the order that they stand there."""
    return [(result_name(path), value) for path, value in walk(results)]


def result_name(path: Sequence[str]) -> str:
    """'scores', 'state_0'; 'output' for a result alone, 'output_1' for one of a tuple."""
    if not path:
        return "output"
    return "_".join(path if not path[0].isdigit() else ("output", *path))


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Arrays and the ways to them; dictionaries keep their order."""
    if value is None:
        return
    if isinstance(value, Mapping):
        pairs = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list | tuple):
        keys = getattr(value, "_fields", range(len(value)))
        pairs = [(str(key), inner) for key, inner in zip(keys, value, strict=True)]
    else:
        yield path, value
        return
    for key, inner in pairs:
        yield from walk(inner, (*path, key))
