"""Parameter structs of kernels as C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.codegen.literals import number
from tilewright.ir.length import lengths_in
from tilewright.ir.op import Param, Params

WIDTH, LONGEST_FIELD = 96, 112
"""Letters of a line of several fields, and of one that has a line of its own."""
NO_NAMES: Mapping[str, str] = {}


def initialiser(params: Params, prefix: str = "", names: Mapping[str, str] = NO_NAMES) -> tuple[str, str]:
    """Tables that parameters point to, and the fields of the parameter struct by name. `names` are what dimensions are
    called whose sizes a caller says."""
    tables = "".join(
        f"\n    {storage(value)} int32_t {prefix}{name}[] = {{{_listed(value, names)}}};"
        for name, value in params.items()
        if isinstance(value, list)
    )
    fields = [f".{name} = {_value(prefix + name, value, names)}" for name, value in params.items()]
    text = ", ".join(fields)
    return tables, text if len(text) <= 80 else "\n        " + _wrapped(fields)


def storage(value: Param | Params) -> str:
    """What is known before a call is stored once."""
    return "static const" if next(lengths_in(value), None) is None else "const"


def _listed(values: Sequence[int], names: Mapping[str, str]) -> str:
    return ", ".join(number(value, names) for value in values) or "0"


def _value(name: str, value: Param, names: Mapping[str, str]) -> str:
    if isinstance(value, list):
        return name
    if isinstance(value, tuple):
        return f"{{{_listed(value, names)}}}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{inner} = {_value(inner, part, names)}" for inner, part in value.items()) + "}"
    return number(value, names)


def _wrapped(fields: Sequence[str]) -> str:
    """Fields stay in one piece if they are not far too long."""
    lines: list[str] = [""]
    for one in (piece for field in fields for piece in ([field] if len(field) <= LONGEST_FIELD else field.split(", "))):
        if lines[-1] and len(lines[-1]) + len(one) > WIDTH:
            lines.append("")
        lines[-1] += f"{one}, "
    return "\n        ".join(line.rstrip() for line in lines).rstrip(",")
