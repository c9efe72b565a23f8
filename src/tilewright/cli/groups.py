"""Options that belong together, as one parameter: a command takes a frozen dataclass, whose fields are the options, or
which says itself what they are (`parameters`) and what becomes of them (`of`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

Parameters = list[inspect.Parameter]


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """A command as typer wants it: each field of its groups a parameter of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    def flat(**values: Any) -> int:
        whole = {name: _group(kind, values) for name, kind in groups.items()}
        return command(**whole, **values)

    parameters = _parameters(command, hints, groups)
    signature = inspect.Signature(parameters)
    flat.__name__, flat.__doc__, flat.__module__ = command.__name__, command.__doc__, command.__module__
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    flat.__dict__["__signature__"] = signature
    return flat


def _group(kind: Any, values: dict[str, Any]) -> Any:
    """A group of what was given; its values are taken out."""
    if hasattr(kind, "parameters"):
        return kind.of({name: values.pop(name) for name, *_ in kind.parameters()})
    return kind(**{field.name: values.pop(field.name) for field in fields(kind)})


def _parameters(command: Callable[..., int], hints: Mapping[str, Any], groups: Mapping[str, Any]) -> Parameters:
    found: Parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        found += _members(groups[name]) if name in groups else [_keyword(name, hints[name], parameter.default)]
    return found


def _members(kind: Any) -> Parameters:
    if hasattr(kind, "parameters"):
        return [_keyword(*one) for one in kind.parameters()]
    hints = get_type_hints(kind, include_extras=True)
    nothing = inspect.Parameter.empty
    return [
        _keyword(field.name, hints[field.name], nothing if field.default is MISSING else field.default)
        for field in fields(kind)
    ]


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
