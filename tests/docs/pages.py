"""Pages with commands in them: blocks of `console`, where a line `$ command` is followed by what the command prints.

A section (a heading `##`) is run from its first command to its last in one folder, which holds nothing but a link to
the examples. Times differ from run to run: a page has `...` for them.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import tilewright

ROOT = Path(__file__).parents[2]
COLUMNS = 140
OURS, SCRIPT, PIPE, SHELL = "tilewright ", "python examples/", " | ", frozenset("|<>;&$`*?")
HEADING, OPEN, CLOSE, PROMPT = "## ", "```console\n", "```\n", "$ "
TIME = re.compile(r"\b\d+(\.\d+)?(e[+-]\d+)? (ns|us|ms|s)\b")


@dataclass(frozen=True)
class Section:
    title: str
    text: str

    @property
    def commands(self) -> list[str]:
        return [line.removeprefix(PROMPT) for block in _blocks(self.text) for line in _prompts(block)]

    def run(self, folder: Path) -> str:
        """The section as it is when its commands are run now."""
        environment = _environment(folder)
        pieces = re.split(f"({OPEN}.*?{CLOSE})", self.text, flags=re.DOTALL)
        return "".join(_rerun(piece, folder, environment) if piece.startswith(OPEN) else piece for piece in pieces)


def sections(page: Path) -> list[Section]:
    """What has commands in it."""
    parts = re.split(f"^(?={HEADING})", page.read_text(), flags=re.MULTILINE)
    found = [Section(part.partition("\n")[0].removeprefix(HEADING), part) for part in parts]
    return [section for section in found if section.commands]


def printed_by(commands: Iterable[str], folder: Path) -> list[str]:
    """What each of some commands prints in a new folder."""
    folder.mkdir()
    environment = _environment(folder)
    return [_output(command, folder, environment) for command in commands]


def _blocks(text: str) -> list[str]:
    return re.findall(f"{OPEN}(.*?){CLOSE}", text, flags=re.DOTALL)


def _prompts(block: str) -> Iterator[str]:
    return (line for line in block.splitlines() if line.startswith(PROMPT))


def _rerun(block: str, folder: Path, environment: dict[str, str]) -> str:
    printed = (f"{line}\n{_output(line.removeprefix(PROMPT), folder, environment)}" for line in _prompts(block))
    return f"{OPEN}{''.join(printed)}{CLOSE}"


def _output(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints, without what differs from run to run."""
    first, pipe, others = command.partition(PIPE)
    if SHELL.intersection(first) or not first.startswith((OURS, SCRIPT)):
        printed = _in_a_shell(command, folder, environment)
    elif pipe:
        said, piped = io.StringIO(), io.StringIO()
        _in_process(first, folder, environment, piped, said)
        printed = said.getvalue() + _in_a_shell(others, folder, environment, piped.getvalue())
    else:
        both = io.StringIO()
        _in_process(first, folder, environment, both, both)
        printed = both.getvalue()
    return "".join(f"{TIME.sub('...', line).rstrip()}\n" for line in printed.splitlines())


def _in_a_shell(command: str, folder: Path, environment: dict[str, str], piped: str = "") -> str:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    words = ["bash", "-c", command]
    ran = subprocess.run(words, cwd=folder, env=environment, encoding="utf-8", check=False, input=piped, **pipes)
    return ran.stdout


def _in_process(command: str, folder: Path, environment: dict[str, str], out: io.StringIO, errors: io.StringIO) -> None:
    """Starting a process takes longer than most commands."""
    from tilewright.cli.main import main

    _, *words = shlex.split(command)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors), suppress(SystemExit):
        patch.chdir(folder)
        for name, value in environment.items():
            patch.setenv(name, value)
        if command.startswith(OURS):
            main(words)
        else:
            patch.syspath_prepend((folder / words[0]).parent)
            patch.setattr(sys, "argv", words)
            runpy.run_path(words[0], run_name="__main__")


def _environment(folder: Path) -> dict[str, str]:
    """That of a user in a fresh folder: `python` and `tilewright` are the ones under test."""
    programs = folder.parent / f"{folder.name}.programs"
    programs.mkdir()
    for name, words in {"python": "", "tilewright": "-m tilewright"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    (folder / "examples").symlink_to(ROOT / "examples")
    package = Path(tilewright.__file__).parents[1]
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(package), "COLUMNS": str(COLUMNS)}
    return {**os.environ, **own, "PYTHONIOENCODING": "utf-8"}
