"""Files for Vela, one after the other, by one process that stays: it takes longer to read Vela than most parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from tilewright.errors import present
from tilewright.records import dataclass

SERVER = Path(__file__).with_name("vela_process.py")
SAID = "said.txt"


@dataclass(frozen=True)
class Done:
    status: int
    said: str


class _Server:
    """Started when it is needed, and again where it has ended; a fork of this process has its own."""

    def __init__(self) -> None:
        self.lock, self.owner = Lock(), 0
        self.process: subprocess.Popen[str] | None = None

    def run(self, words: Sequence[str], said: Path) -> int | None:
        """The exit status; None where the process ends without one."""
        with self.lock:
            process = self._ready()
            try:
                asks, answers = (present(pipe, "Vela", "has no pipe") for pipe in (process.stdin, process.stdout))
                asks.write(json.dumps([list(words), str(said)]) + "\n")
                asks.flush()
                answer = answers.readline()
            except OSError:
                answer = ""
            except BaseException:
                self._end()
                raise
            if not answer:
                self._end()
            return int(answer) if answer else None

    def _ready(self) -> subprocess.Popen[str]:
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER)], text=True, start_new_session=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.owner = os.getpid()
        return self.process

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


_SERVER = _Server()


def run_vela(words: Sequence[str], folder: Path) -> Done:
    """What Vela ends with and says, of a command line. Where there are no forks, it is a process of its own."""
    said = folder / SAID
    status = _SERVER.run(words, said) if hasattr(os, "fork") else None
    if status is None:
        command = [sys.executable, "-m", "ethosu.vela", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout + done.stderr)
    return Done(status, said.read_text(encoding="utf-8", errors="replace"))
