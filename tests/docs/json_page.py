"""The tables of docs/json.md, generated from the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tilewright.cli import process

FOLDER = Path(process.__file__).parent / "schemas"

Schema = Mapping[str, Any]


def schemas() -> dict[str, Schema]:
    """By kind, in the order of their files."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def tables() -> str:
    found = schemas()
    return "\n\n".join(_section(kind, found) for kind in found)


def _section(kind: str, found: Mapping[str, Schema]) -> str:
    schema = found[kind]
    version = schema["properties"]["schema"]["const"]
    known = next((other for other in ("analyze",) if other != kind and _holds(schema, found[other])), "")
    rows = list(_rows(schema, "", found[known]["properties"] if known else {}))
    all_of = f"All keys of [`{known}`](#{known}), and:\n\n" if known else ""
    table = "\n".join(["| key | type | what it is |", "| --- | --- | --- |", *rows])
    return f"### {kind}\n\n{schema['title']}. `{version}`.\n\n{all_of}{table}"


def _holds(schema: Schema, other: Schema) -> bool:
    """Whether it has all that another one requires, described alike."""
    own = schema["properties"]
    return all(own.get(key) == other["properties"][key] for key in other["required"] if key != "schema")


def _rows(schema: Schema, prefix: str, known: Mapping[str, Any]) -> Iterator[str]:
    for key, value in schema["properties"].items():
        if (key in ("schema", "status") and not prefix) or known.get(key) == value:
            continue
        optional = "" if key in schema["required"] else " (not always)"
        path, inner = f"{prefix}{key}", value
        while "properties" not in inner and (deeper := _inner(inner)) is not None:
            mark, inner = deeper
            path += mark
        yield f"| `{path}` | {_type(inner)}{optional} | {_cell(value.get('description', ''))} |"
        if "properties" in inner:
            yield from _rows(inner, f"{path}.", {})


def _inner(schema: Schema) -> tuple[str, Schema] | None:
    """What a list, a mapping or an optional value holds, and how that is written behind its key."""
    if "items" in schema:
        return "[]", schema["items"]
    if isinstance(schema.get("additionalProperties"), Mapping):
        return ".*", schema["additionalProperties"]
    return ("", schema["anyOf"][0]) if "anyOf" in schema else None


def _type(schema: Schema) -> str:
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
