"""Environments of the peers: each in a folder of its own, installed by pip once, and what they make of a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SCRIPTS = Path(__file__).parent / "host_contestants"
TORCH = "torch==2.13.0"


class Failed(Exception):
    """What somebody else's program could not do, in a line."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with packages, made where it is not there yet."""

    folder: Path
    packages: tuple[str, ...]

    @property
    def python(self) -> Path:
        return self.place / "bin" / "python"

    @property
    def place(self) -> Path:
        key = sha256(" ".join(self.packages).encode()).hexdigest()[:8]
        return self.folder / f"{self.packages[0].partition('=')[0]}-{key}"

    def ready(self) -> Environment:
        if not (self.place / "done").exists():
            shutil.rmtree(self.place, ignore_errors=True)
            done_by([sys.executable, "-m", "venv", self.place])
            done_by([self.python, "-m", "pip", "install", "-q", "--prefer-binary", *self.packages])
            (self.place / "done").touch()
        return self

    def run(self, script: str, *arguments: object, folder: Path | None = None) -> None:
        done_by([self.python, SCRIPTS / script, *arguments], folder)


def done_by(command: Sequence[object], folder: Path | None = None) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise Failed(last_line(done.stderr) or f"exit code {done.returncode}")


def last_line(text: str) -> str:
    """What an error says at its end; pip's notices come later."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("[notice]")]
    return lines[-1][:200] if lines else ""
