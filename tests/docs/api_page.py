"""docs/api.md, generated from the public names of the package."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

import tilewright as tw
from tilewright.target.settings import DEFAULT, OPTIONS

ADDED = frozenset({"Settings"})
"""Has a table of its own."""
HANDED_OVER = frozenset({"Adam", "AdamW", "CrossEntropy", "MeanSquares", "SGD"})
"""Users make these and hand them over; their methods are for the compiler."""


def page() -> str:
    found = {name: getattr(tw, name) for name in sorted(tw.__all__, key=str.lower)}
    functions = [name for name, one in found.items() if inspect.isfunction(one)]
    classes = [name for name, one in found.items() if inspect.isclass(one)]
    modules = [name for name, one in found.items() if isinstance(one, ModuleType)]
    parts = ["## Functions", *(_function(f"tw.{name}", found[name], "###") for name in functions)]
    parts += ["## Classes", *(_class(name, found[name]) for name in classes)]
    parts += ["## Modules", *(f"### tw.{name}\n\n{_said(found[name])}" for name in modules)]
    return "\n\n".join(parts)


def _function(name: str, one: Any, heading: str) -> str:
    return f"{heading} {name}\n\n```python\n{_signature(name, one)}\n```\n\n{_said(one)}".rstrip()


def _signature(name: str, one: Any) -> str:
    """A parameter on each line where one line would be long."""
    signature = inspect.signature(one)
    parameters = [_parameter(each) for each in signature.parameters.values() if each.name != "self"]
    kinds = [each.kind for each in signature.parameters.values() if each.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = signature.return_annotation
    gives = "" if result is inspect.Signature.empty else f" -> {result}"
    whole = f"{name}({', '.join(parameters)}){gives}"
    return whole if len(whole) < 100 else f"{name}(\n    " + ",\n    ".join(parameters) + f",\n){gives}"


def _parameter(each: inspect.Parameter) -> str:
    """Defaults that are objects of ours stand as dots: each run prints them in another way."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = "" if each.annotation is each.empty else f": {each.annotation}"
    plain = each.default is None or isinstance(each.default, str | int | float | tuple)
    default = "" if each.default is each.empty else f" = {each.default!r}" if plain else " = ..."
    return f"{stars}{each.name}{kind}{default}"


def _said(one: Any) -> str:
    """Its docstring, if it has one of its own."""
    text = one.__doc__ or ""
    return "" if inspect.isclass(one) and text.startswith(f"{one.__name__}(") else inspect.cleandoc(text)


def _class(name: str, kind: type) -> str:
    parts = [f"### tw.{name}", *filter(None, [_said(kind)])]
    if name in ADDED:
        return "\n\n".join([*parts, _settings()])
    rows = [f"| `{field}` | `{type_}` | {said} |" for field, type_, said in _fields(kind)]
    if rows:
        parts.append("\n".join(["| field | type | what it is |", "| --- | --- | --- |", *rows]))
    if name not in HANDED_OVER:
        parts += [_member(name, member, one) for member, one in _members(kind)]
    return "\n\n".join(parts)


def _fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """Of a dataclass, with those that it inherits: names, types and what is said below each."""
    above = [one for one in reversed(kind.__mro__) if is_dataclass(one)]
    yield from {row[0]: row for one in above for row in _own_fields(one)}.values()


def _own_fields(kind: type) -> Iterator[tuple[str, str, str]]:
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = found.body if isinstance(found, ast.ClassDef) else []
    for at, one in enumerate(body):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            after = body[at + 1] if at + 1 < len(body) else None
            value = after.value if isinstance(after, ast.Expr) else None
            said = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
            yield one.target.id, ast.unparse(one.annotation).replace("|", "\\|"), " ".join(said.split())


def _members(kind: type) -> list[tuple[str, Any]]:
    """What it says about itself, without what is inherited."""
    return [(name, one) for name, one in vars(kind).items() if not name.startswith("_") and _is_shown(one)]


def _is_shown(one: Any) -> bool:
    plain = one.__func__ if isinstance(one, staticmethod | classmethod) else one
    return inspect.isfunction(plain) or bool(_getter(one))


def _getter(one: Any) -> Any:
    return getattr(one, "fget", None) or (getattr(one, "func", None) if hasattr(one, "attrname") else None)


def _member(kind: str, name: str, one: Any) -> str:
    plain = one.__func__ if isinstance(one, staticmethod | classmethod) else one
    if getter := _getter(one):
        gives = inspect.signature(getter).return_annotation
        return f"#### {kind}.{name}\n\n```python\n{kind}.{name}: {gives}\n```\n\n{_said(getter)}".rstrip()
    return _function(f"{kind}.{name}", plain, "####")


def _settings() -> str:
    """Every option with its names, its default and what it is."""
    rows = [
        " | ".join([
            f"| `{field}`", _keyword(field), f"`{one.flag}`", f"`{getattr(DEFAULT, field)!r}`", one.help,
            f"{one.machines.heading} |",
        ])
        for field, one in OPTIONS.items()
        if one.flag
    ]  # fmt: skip
    head = "| field, keyword | or keyword | command line | default | what it is | for |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


def _keyword(field: str) -> str:
    name = OPTIONS[field].name
    return "" if name == field else f"`{name}`"
