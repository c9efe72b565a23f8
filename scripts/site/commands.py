"""The reference of the command line, from its parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from tilewright.cli.help import name_values
from tilewright.cli.parser import parser_for

HEAD = """\
# Commands

What `tilewright --help` and `tilewright COMMAND --help` say, on one page.
"""


BAR = "\\|"
"""Within a table."""


def page() -> str:
    root: Any = parser_for([])
    return "\n".join([HEAD, *_command(root, click.Context(root, info_name="tilewright"))])


def _command(command: Any, above: Any) -> Iterator[str]:
    """A command, and the commands that it has."""
    usage = " ".join([above.command_path, *command.collect_usage_pieces(above)])
    yield f"## {above.command_path}\n\n```text\n{usage}\n```\n"
    yield f"{_prose(command.help or '')}\n"
    yield from _parameters(command, above)
    for name in getattr(command, "commands", {}):
        inner = command.commands[name]
        yield from _command(inner, click.Context(inner, info_name=name, parent=above))


def _parameters(command: Any, context: Any) -> Iterator[str]:
    name_values(command, context)
    rows = [_row(one, context) for one in command.get_params(context) if not getattr(one, "hidden", False)]
    if rows:
        yield "| argument | meaning | default |\n| --- | --- | --- |"
        yield from rows
        yield ""


def _row(one: Any, context: Any) -> str:
    value = f" {one.metavar}" if one.metavar else ""
    names = ", ".join(f"`{name}{value}`" for name in (*one.opts, *one.secondary_opts))
    shown = f"`{one.name.upper()}`" if one.param_type_name == "argument" else names
    return f"| {shown.replace('|', BAR)} | {_cell(getattr(one, 'help', '') or '')} | {_default(one, context)} |"


def _default(one: Any, context: Any) -> str:
    if one.required:
        return "required"
    value = one.get_default(context, call=False)
    is_nothing = value in (None, "", (), []) or callable(value) or (getattr(one, "is_flag", False) and not value)
    return "" if is_nothing or "UNSET" in repr(value).upper() else f"`{value}`"


def _cell(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", BAR)


def _prose(text: str) -> str:
    """Names in capitals and in angle brackets are words, not markup."""
    return re.sub(r"[<*_\[]", lambda sign: f"\\{sign[0]}", text.replace("\b", ""))
