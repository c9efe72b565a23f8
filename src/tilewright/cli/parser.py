"""The parser of command lines. Each command is in a file of its own, which is loaded where the command is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from tilewright.cli.groups import grouped
from tilewright.cli.help import PlainCommand, PlainGroup
from tilewright.version import VERSION

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "analyze": ("analyze", "analyze"),
    "compile": ("compile", "compile_command"),
    "run": ("run", "run"),
    "profile": ("profile", "profile"),
    "train": ("train", "train"),
    "quantise": ("quantise", "quantise"),
    "generate": ("generate", "generate", "GenerateCommand"),
    "chat": ("chat", "chat"),
    "serve": ("serve", "serve"),
    "export": ("export", "export"),
    "explore": ("explore", "explore"),
    "report": ("report", "report"),
    "calibrate": ("calibrate", "calibrate"),
    "sim": ("sim", "sim"),
    "ops": ("catalogue", "ops"),
    "targets": ("catalogue", "targets_command"),
    "accelerator": ("accelerator", "app"),
    "instruction": ("instruction", "app"),
    "doctor": ("doctor", "doctor"),
}
"""The file of each command, its function or commands of its own, and the class that parses it, if it has one."""


def parser_for(words: Sequence[str]) -> Callable[..., int | None]:
    """One that knows the command that is named, or all where none is."""
    return _parser((words[0],) if words and words[0] in COMMANDS else tuple(COMMANDS))


def is_group(words: Sequence[str]) -> bool:
    """Whether the command that is named has commands of its own."""
    return bool(words) and "app" in COMMANDS.get(words[0], ())


def commands_with(option: str) -> list[str]:
    """The commands that take an option."""
    every: Any = _parser(tuple(COMMANDS))
    return [name for name, one in every.commands.items() if any(option in given.opts for given in one.params)]


@cache
def _parser(names: tuple[str, ...]) -> Callable[..., int | None]:
    """Putting commands together takes longer than many of them."""
    app = typer.Typer(
        name="tilewright", cls=PlainGroup, help="Any trained network in, bare-metal C out.", no_args_is_help=True,
        pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    app.callback()(options)
    for name in names:
        _add(app, name, *COMMANDS[name])
    return typer.main.get_command(app)


def _add(app: typer.Typer, name: str, file: str, *attributes: str) -> None:
    module = import_module(f"tilewright.cli.{file}")
    command, *classes = (getattr(module, attribute) for attribute in attributes)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name, cls=next(iter(classes), PlainCommand))(grouped(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tilewright {VERSION}\n{_compiler()}")
        raise typer.Exit


def _compiler() -> str:
    """Of C, with its version; a missing one is told, not an error."""
    from tilewright.errors import CompileError
    from tilewright.toolchain.compiler import find_compiler
    from tilewright.toolchain.doctor import compiler_version

    try:
        return f"C compiler: {compiler_version(find_compiler())}"
    except CompileError as error:
        return f"C compiler: {error.what} (tilewright doctor says more)"


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Any trained network in, bare-metal C out."""
