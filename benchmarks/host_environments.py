"""Environments of the peers: each in a folder of its own, installed by pip once, and what they make of a network."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar

SCRIPTS = Path(__file__).parent / "host_contestants"
TORCH = "torch==2.13.0"


class Failed(Exception):
    """What somebody else's program could not do, in a line."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with packages, made where it is not there yet; where nothing may be installed, this one."""

    may_install: ClassVar[bool] = True
    folder: Path
    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    """Without what these ask for."""

    @property
    def python(self) -> Path:
        return self.place / "bin" / "python" if self.may_install else Path(sys.executable)

    @property
    def place(self) -> Path:
        key = sha256(" ".join(self.packages + self.alone).encode()).hexdigest()[:8]
        return self.folder / f"{self.packages[0].partition('=')[0]}-{key}"

    def ready(self) -> Environment:
        if not self.may_install:
            missing = [name for name in map(name_of, self.packages + self.alone) if not is_installed(name)]
            if missing:
                raise Failed(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed here")
            return self
        if not (self.place / "done").exists():
            shutil.rmtree(self.place, ignore_errors=True)
            done_by([sys.executable, "-m", "venv", self.place])
            install = [self.python, "-m", "pip", "install", "-q", "--prefer-binary"]
            done_by([*install, *self.packages])
            if self.alone:
                done_by([*install, "--no-deps", *self.alone])
            (self.place / "done").touch()
        return self

    def run(self, script: str, *arguments: object, limit: float) -> None:
        done_by([self.python, SCRIPTS / script, *arguments], limit=limit)


def name_of(package: str) -> str:
    """Without a version and extras."""
    return package.partition("=")[0].partition("[")[0]


def is_installed(name: str) -> bool:
    """In this environment, in whatever version."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def done_by(command: Sequence[object], folder: Path | None = None, limit: float | None = None) -> None:
    """A program and all that it starts, ended where it takes more than `limit` seconds."""
    child = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    try:
        _, errors = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"takes more than {limit:.0f} s to make it") from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    if child.returncode:
        raise Failed(last_line(errors) or f"exit code {child.returncode}")


def last_line(text: str) -> str:
    """What an error says at its end; pip's notices come later."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("[notice]")]
    return lines[-1][:200] if lines else ""
