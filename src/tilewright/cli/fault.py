"""Faults of Tilewright itself at the command line: what happened, and what whoever mends it needs to know."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import InternalError, printable
from tilewright.records import dataclass
from tilewright.toolchain.compiler import cache_folder
from tilewright.version import VERSION

TRACEBACK = "TILEWRIGHT_TRACEBACK"
"""The environment variable that shows the traceback on stderr."""

FILE = "traceback.txt"
"""In the cache folder: the traceback of the latest fault."""

LONGEST = 300
"""Characters of an unexpected exception's text that are shown."""


@dataclass(frozen=True)
class Fault:
    where: str
    what: str
    command: str
    """For a shell."""
    traceback: Path | None
    """Where it was written; None where nothing can be written, or it was shown."""

    @property
    def hint(self) -> str:
        lines = [
            "this is a fault of Tilewright, not of your model: please report it with",
            f"  {self.command}",
            f"  tilewright {VERSION}, Python {sys.version.split()[0]}",
        ]
        return "\n".join([*lines, f"  {self.traceback}"] if self.traceback else lines)

    def as_dict(self) -> dict[str, Any]:
        """What --json prints of it."""
        error = {"where": self.where, "what": self.what, "hint": self.hint}
        report = {"command": self.command, "version": VERSION, "traceback": str(self.traceback or "")}
        return {"status": "error", "error": error, "errors": [error], "internal": report}


def fault_of(error: Exception, words: Sequence[str]) -> Fault:
    """What is told of an exception that is no refusal."""
    where, what = (error.where, error.what) if isinstance(error, InternalError) else _unexpected(error)
    return Fault(where, what, printable(shlex.join(["tilewright", *words])), _kept(error))


def _unexpected(error: Exception) -> tuple[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "tilewright"
    return place, printable(f"{type(error).__name__}: {error}"[:LONGEST])


def _kept(error: Exception) -> Path | None:
    """The traceback goes to a file, or to whoever asked for it."""
    text = "".join(traceback.format_exception(error))
    if os.environ.get(TRACEBACK):
        print(text, file=sys.stderr, end="")
        return None
    path = cache_folder() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        return None
    return path
