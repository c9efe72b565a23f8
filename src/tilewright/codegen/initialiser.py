"""Parameter structs of kernels as C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.codegen.literals import number
from tilewright.ir.op import Param, Params


def initialiser(params: Params, prefix: str = "") -> tuple[str, str]:
    """Tables that parameters point to, and the fields of the parameter struct by name."""
    tables = "".join(
        f"\n    static const int32_t {prefix}{name}[] = {{{', '.join(map(number, value)) or '0'}}};"
        for name, value in params.items()
        if isinstance(value, list)
    )
    fields = [f".{name} = {_value(prefix + name, value)}" for name, value in params.items()]
    text = ", ".join(fields)
    return tables, text if len(text) <= 80 else "\n        " + _wrapped(fields)


def _value(name: str, value: Param) -> str:
    if isinstance(value, list):
        return name
    if isinstance(value, tuple):
        return f"{{{', '.join(map(number, value)) or '0'}}}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{inner} = {_value(inner, part)}" for inner, part in value.items()) + "}"
    return number(value)


def _wrapped(fields: Sequence[str]) -> str:
    lines: list[str] = [""]
    for one in fields:
        if lines[-1] and len(lines[-1]) + len(one) > 96:
            lines.append("")
        lines[-1] += f"{one}, "
    return "\n        ".join(line.rstrip() for line in lines).rstrip(",")
