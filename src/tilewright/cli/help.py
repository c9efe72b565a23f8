"""Commands whose help says what to write: flags have no value, and no value is called by its type in Python."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

KINDS = {"int": "N", "float": "NUMBER", "path": "PATH"}
"""What help calls values whose option does not say it; words are called as their option is."""


class PlainCommand(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        name_values(self, ctx)
        super().format_help(ctx, formatter)


class PlainGroup(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))


def _without_types(parameters: Any) -> Any:
    """`--help` is among them, which the parser itself makes."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def name_values(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        if parameter.param_type_name == "argument":
            # Its name says what it is.
            parameter.display_type_rich = lambda ctx: None
        elif parameter.metavar is None:
            parameter.metavar = _value(parameter, context)


def _value(parameter: Any, context: Any) -> str:
    """Versions of typer agree in what they print, `<int range>` or `INTEGER RANGE`, not in what holds it."""
    record = parameter.get_help_record(context)
    kind = (
        re.search("|".join(KINDS), record[0].rpartition("--")[2].partition(" ")[2], re.IGNORECASE) if record else None
    )
    return KINDS[kind[0].lower()] if kind else parameter.name.upper()
