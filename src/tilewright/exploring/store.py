"""Where rows are kept: a file for each, put in its place whole or not at all, so that nothing finished is lost."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.exploring.row import LASTING, STATUSES, TIMED_OUT, Row
from tilewright.records import dataclass

POINTS = "points"
"""The folder of rows in that of a study."""


@dataclass(frozen=True)
class Store:
    folder: Path

    @staticmethod
    def at(folder: Path) -> Store:
        try:
            (folder / POINTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from None
        return Store(folder)

    def take(self, key: str, seconds: float) -> Row | None:
        """The row of a key, unless computing it again with this time limit could give another one."""
        try:
            row = Row.from_dict(json.loads(self._place(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if row.key != key or row.status not in STATUSES:
            return None
        lasting = row.status in LASTING or (row.status == TIMED_OUT and row.seconds >= seconds)
        return row if lasting else None

    def keep(self, row: Row) -> None:
        self.write(self._place(row.key), json.dumps(row.as_dict(), allow_nan=False).encode())

    def write(self, place: Path, data: bytes) -> None:
        """Whole or not at all, also where the machine is switched off meanwhile."""
        draft = self.folder / f".draft-{os.getpid()}-{threading.get_ident()}"
        try:
            with draft.open("wb") as opened:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
            os.replace(draft, place)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise _unwritable(place, error) from None

    def _place(self, key: str) -> Path:
        return self.folder / POINTS / f"{key}.json"


def _unwritable(place: Path, error: OSError) -> CompileError:
    return CompileError(
        str(place), f"cannot be written: {error.strerror or error}",
        "finished points are kept: free some space or choose another -o, and run the same command again",
    )  # fmt: skip
