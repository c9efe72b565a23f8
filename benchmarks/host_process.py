"""A contestant's process, from outside: it is asked by lines, and answers by lines."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
from benchmarks.host_environments import SCRIPTS, Failed, last_line


class Process:
    """Whatever it is asked, it answers within `limit` seconds, or is ended."""

    def __init__(self, python: Path, module: str, artefact: Path, inputs: Path, threads: int, limit: float) -> None:
        self.artefact, self._limit = artefact, limit
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        command = [python, SCRIPTS / "runner.py", module, artefact, inputs, str(threads)]
        self._child = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            text=True,
        )  # fmt: skip
        self.said = self._answer()

    @property
    def artefact_bytes(self) -> int:
        """Of what is loaded; a module of Python has none."""
        if self.artefact.is_file():
            return self.artefact.stat().st_size
        library = self.artefact / "network.so"
        return library.stat().st_size if library.is_file() else 0

    def run(self, seconds: float) -> list[list[float]]:
        """The seconds of each of some inferences, and those of processors."""
        found: list[list[float]] = self._asked(f"run {seconds}")["seconds"]
        return found

    def outputs(self) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "outputs.npz"
            self._asked(f"outputs {path}")
            return list(np.load(path).values())

    def end(self) -> None:
        self._child.communicate()

    def _asked(self, line: str) -> dict[str, Any]:
        if self._child.stdin is None:
            raise Failed("has ended")
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        """The next line of ours: runtimes print what they like."""
        late = Timer(self._limit, self._child.kill)
        begun = time.monotonic()
        late.start()
        try:
            for line in self._child.stdout or ():
                if line.startswith("= "):
                    found: dict[str, Any] = json.loads(line[2:])
                    return found
        finally:
            late.cancel()
        self._child.wait()
        if time.monotonic() - begun >= self._limit:
            raise Failed(f"takes more than {self._limit:.0f} s to answer")
        self._errors.seek(0)
        raise Failed(last_line(self._errors.read()) or f"ended with {self._child.returncode}")
