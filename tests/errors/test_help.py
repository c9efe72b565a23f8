"""Help texts: flags have no type, and defaults that are values are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.command import Command
from tilewright.cli.help import name_values
from tilewright.cli.parser import COMMANDS, parser_for

pytestmark = pytest.mark.fast

SAID = ("--isa", "--emulator", "--stack", "--l1", "--l2", "--cc", "--name", "--inputs", "--clock")
"""Options whose default is no value: their text says what happens without them."""


def parts(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner, part in getattr(command, "commands", {}).items():
        yield from parts(part, f"{name} {inner}")


def test_flags_have_no_type() -> None:
    for name, command in parts(parser_for([]), "tilewright"):
        context = command.make_context(name, [], resilient_parsing=True)
        flags = [one for one in command.get_params(context) if getattr(one, "is_flag", False)]
        assert {flag for one in flags for flag in one.opts} >= {"--help"}
        assert not any("bool" in str(one.get_help_record(context)[0]).lower() for one in flags), name


def test_values_are_called_by_what_they_are() -> None:
    for name, command in parts(parser_for([]), "tilewright"):
        context = command.make_context(name, [], resilient_parsing=True)
        name_values(command, context)
        for one in command.get_params(context):
            shown = str((one.get_help_record(context) or ("",))[0])
            assert not re.search(r"<|\b(INTEGER|FLOAT)\b", shown), f"{name} {shown}"


@pytest.mark.parametrize("words", [("run",), ("accelerator", "new"), ("generate",), ()])
def test_what_is_printed(command: Command, words: tuple[str, ...]) -> None:
    ran = command(*words, "--help")
    assert ran.code == 0
    assert "<" not in ran.out
    assert "BOOLEAN" not in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_are_shown(name: str) -> None:
    for path, command in parts(parser_for([name]).commands[name], name):  # type: ignore[attr-defined]
        context = command.make_context(path, [], resilient_parsing=True)
        for option in command.get_params(context):
            text = str((option.get_help_record(context) or ("", ""))[1]).lower()
            is_value = isinstance(option.default, int | float | str) and option.default not in (False, "")
            if is_value or set(option.opts) & set(SAID):
                assert "default" in text, f"{path}: {option.opts}"
