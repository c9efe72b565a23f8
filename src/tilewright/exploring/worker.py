"""Computes one point after another in processes of their own, and survives whatever happens to them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, printable
from tilewright.exploring.point import LONGEST
from tilewright.exploring.row import DIED, TIMED_OUT, Row
from tilewright.exploring.study import Point
from tilewright.toolchain.processes import kill_group

COMMAND = (sys.executable, "-m", "tilewright.exploring.fork_server")
MEMORY_HINT = "probably too little memory: try fewer --jobs, or a smaller model"


class Stopped(Exception):
    """Nobody wants the row any more."""


class Worker:
    """Room for one point at a time. `stop` may be called from another thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-worker-", ignore_cleanup_errors=True)
        self._errors = Path(self._folder.name) / "stderr.txt"
        self._loaded: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def compute(self, point: Point, seconds: float) -> Row:
        """The row of a point; one that takes longer, or ends its process, has a row that says so."""
        start = time.perf_counter()
        row = self._computed(point, seconds)
        return replace(row, metrics={**row.metrics, "seconds": time.perf_counter() - start})

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._end()

    def close(self) -> None:
        self.stop()
        self._folder.cleanup()

    def _computed(self, point: Point, seconds: float) -> Row:
        late = threading.Event()
        timer = threading.Timer(seconds, self._too_late, [late])
        try:
            process = self._ready()
            self._wait_until_loaded(process)
            timer.start()
            line = self._ask(process, json.dumps(point.as_dict()).encode() + b"\n")
        finally:
            timer.cancel()
        if self._stopped:
            raise Stopped
        if late.is_set():
            what = f"not finished after {seconds:g} s"
            return _failed(point, TIMED_OUT, what, "give it more: seconds in the study, or --seconds")
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {"ended": process.wait()}
        if "disk full" in answer:
            raise disk_full(answer["disk full"])
        if "row" in answer:
            return Row.from_dict(answer["row"])
        reason = f"the process of the point ended with {_ending(answer['ended'])}{self._last_words()}"
        return _failed(point, DIED, reason, MEMORY_HINT)

    def _ready(self) -> subprocess.Popen[bytes]:
        """The process, started anew where there is none."""
        with self._lock:
            if self._stopped:
                raise Stopped
            if self._process is None or self._process.poll() is not None:
                self._end()
                # A session of its own: an interrupt from the keyboard is for whoever waits, who ends it then.
                with self._errors.open("wb") as errors:
                    self._process = subprocess.Popen(
                        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                        env={**os.environ, "TMPDIR": self._folder.name},
                    )  # fmt: skip
            return self._process

    def _wait_until_loaded(self, process: subprocess.Popen[bytes]) -> None:
        """The time of a point begins behind that. A process that ends before says so to whoever asks it."""
        if process is not self._loaded and process.stdout is not None:
            process.stdout.readline()
            self._loaded = process

    @staticmethod
    def _ask(process: subprocess.Popen[bytes], line: bytes) -> bytes:
        """The answer, or nothing where the process has ended."""
        if process.stdin is None or process.stdout is None:
            return b""
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        return process.stdout.readline()

    def _too_late(self, late: threading.Event) -> None:
        with self._lock:
            late.set()
            self._end()

    def _end(self) -> None:
        """The process and all that it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        kill_group(process)
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()

    def _last_words(self) -> str:
        try:
            words = self._errors.read_bytes()[-4096:].decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return f": {printable(words[-1][:LONGEST])}" if words else ""


def disk_full(what: str) -> CompileError:
    return CompileError(
        "disk", f"is full: {what}", "finished points are kept: free some space and run the same command again"
    )


def _failed(point: Point, status: str, reason: str, hint: str) -> Row:
    return Row(point.model.name, point.target, point.settings, status, reason, hint)


def _ending(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
