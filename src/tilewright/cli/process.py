"""How a command ends: exit codes, errors as text or JSON, interruption, progress."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from types import FrameType
from typing import Any, NoReturn, TextIO

from tilewright.cli.fault import Fault, fault_of
from tilewright.errors import CompileError, ManyErrors, Terminated

AGREES, DISAGREES, REFUSED, FAULT, INTERRUPTED, SIGNALLED = 0, 1, 2, 3, 130, 128
TERMINATING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""A terminal that is closed is an end like any other: compilers have sessions of their own, and would go on."""


def run_command(command: Callable[[], int | None], words: Sequence[str]) -> NoReturn:
    """Run what was asked for and end the process with its exit code; whatever goes wrong is one clear error."""
    for number in TERMINATING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks
            signal.signal(number, _terminate)
    _replace_what_cannot_be_shown()
    try:
        code = command()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = _report(error, words)
    sys.exit(code or 0)


def _replace_what_cannot_be_shown() -> None:
    """A terminal or log in ASCII shows question marks for our ticks instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def show(text: str, end: str = "\n") -> None:
    with patient(sys.stdout):
        print(text, end=end)


@contextmanager
def patient(stream: TextIO) -> Iterator[None]:
    """Print within; where the reader has gone there is nobody to tell, and the exit code still says what was found."""
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        # Keeps the interpreter from flushing into the pipe again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


SCHEMA_VERSION = 1
"""Of the objects that `--json` prints; changes when a key changes its meaning or goes."""


def print_json(kind: str, value: Mapping[str, Any]) -> None:
    """One object of a kind that a file of `cli/schemas` describes."""
    show(json.dumps({"schema": f"tilewright-{kind}/{SCHEMA_VERSION}", **value}, allow_nan=False))


@contextmanager
def progress_display() -> Iterator[Callable[[str], None]]:
    """A function that shows what is being done."""
    from tilewright.report.console import progress

    with progress() as status:
        yield (lambda what: status.update(what)) if status else (lambda what: None)


@contextmanager
def bar_display() -> Iterator[Callable[[str, int, int], None]]:
    """A function that shows how much of something is done."""
    from tilewright.report.console import bar

    with bar() as show_bar:
        yield show_bar


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back while files are put in place, so that they are there whole or not at all."""
    held: list[int] = []
    # Blocking them in this thread would not do: another thread could take them.
    handlers = {
        number: signal.signal(number, lambda number, frame: held.append(number))
        for number in (signal.SIGINT, *TERMINATING)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first in held[:1]:
            signal.raise_signal(first)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End through the usual exit, so that temporary files are removed."""
    raise Terminated(SIGNALLED + number)


def _report(error: Exception, words: Sequence[str]) -> int:
    kind, as_json = type(error).__name__, "--json" in words
    if kind == "Abort":
        return INTERRUPTED
    if kind == "NoArgsIsHelpError" and not as_json:
        return REFUSED
    found = error if isinstance(error, CompileError) else _usage_error(error, words) or _no_memory(error)
    if found is None:
        return _report_fault(fault_of(error, words), as_json)
    if as_json:
        print_json("error", error_dict(found))
    else:
        from tilewright.report.errors import print_error

        print_error(found)
    return REFUSED


def error_dict(error: CompileError) -> dict[str, Any]:
    """What --json prints of an error."""
    return {"status": "error", "error": error.as_dict(), "errors": _each(error)}


def _each(error: CompileError) -> list[dict[str, str]]:
    return [found.as_dict() for found in (error.errors if isinstance(error, ManyErrors) else (error,))]


def _usage_error(error: Exception, words: Sequence[str]) -> CompileError | None:
    """What the command-line parser complains about; its classes differ between versions of typer. Of an option without
    its value it does not say the command."""
    if not hasattr(error, "format_message"):
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else " ".join(["tilewright", *_command_in(words)])
    name = str(getattr(error, "option_name", ""))
    others = _commands_with(name) if type(error).__name__ == "NoSuchOption" else []
    hint = f"{name} is an option of {', '.join(others)}; {command} --help" if others else f"{command} --help"
    return CompileError("command line", error.format_message(), hint)


def _command_in(words: Sequence[str]) -> list[str]:
    """The command, with its own where it has some, or nothing where an option stands first."""
    from tilewright.cli.parser import is_group

    count = 2 if is_group(words) else 1
    return list(takewhile(lambda word: not word.startswith("-"), words[:count]))


def _commands_with(option: str) -> list[str]:
    """Commands that take an option. All of them are loaded for it, which is for errors alone."""
    from tilewright.cli.parser import commands_with

    return [f"`tilewright {name}`" for name in commands_with(option)]


def _no_memory(error: Exception) -> CompileError | None:
    if not isinstance(error, MemoryError):
        return None
    return CompileError("memory", "this machine does not have enough for the model", "try smaller dimensions: --dim")


def _report_fault(fault: Fault, as_json: bool) -> int:
    if as_json:
        print_json("error", fault.as_dict())
    else:
        from tilewright.report.errors import print_fault

        print_fault(fault.where, fault.what, fault.hint)
    return FAULT
