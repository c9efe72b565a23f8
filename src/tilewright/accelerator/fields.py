"""Whether the fields of a declaration hold what they are annotated with: everything behind this relies on it."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

LONGEST = 60
"""Letters of a value that are shown."""


def wrong_fields(value: object, called: str = "") -> Iterator[tuple[str, str]]:
    """What each field is, and what is expected there; of the dataclasses in a dataclass, too."""
    hints = typing.get_type_hints(type(value))
    for field in fields(value):  # type: ignore[arg-type]
        found, wanted = getattr(value, field.name), hints[field.name]
        name = f"{called}{field.name}"
        if not _fits(found, wanted):
            yield f"{name} is {_shown(found)}", f"it should be {_text(wanted)}"
            continue
        for label, part in _parts(found):
            if is_dataclass(part) and not isinstance(part, type):
                yield from wrong_fields(part, f"{name}{label}.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, tuple | list):
        yield from ((f"[{getattr(part, 'name', at)}]", part) for at, part in enumerate(value))
    else:
        yield "", value


def _fits(value: object, wanted: Any) -> bool:
    kind, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if kind in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in arguments)
    if kind is tuple:
        return isinstance(value, tuple | list) and all(_fits(part, arguments[0]) for part in value)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        key, part = arguments
        return isinstance(value, Mapping) and all(_fits(k, key) and _fits(v, part) for k, v in value.items())
    if wanted in (int, float):
        return isinstance(value, (int, wanted)) and not isinstance(value, bool)
    return isinstance(value, kind or wanted)


def _text(wanted: Any) -> str:
    """As one would say it: tuple of Pattern, int or float."""
    kind, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if kind in (types.UnionType, typing.Union):
        return " or ".join("None" if one is type(None) else _text(one) for one in arguments)
    if kind is tuple:
        return f"a tuple of {_text(arguments[0])}"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a mapping from {_text(arguments[0])} to {_text(arguments[1])}"
    return str((kind or wanted).__name__)
