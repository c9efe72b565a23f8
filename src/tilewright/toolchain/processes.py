"""Programs that several threads wait for. An interruption ends all of them: a thread that waits for a compiler does not
hear it, and would start the next one."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from subprocess import PIPE, CompletedProcess, Popen, SubprocessError
from typing import Any


class Processes:
    def __init__(self) -> None:
        self._running: set[Popen[Any]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, words: Sequence[str], *, timeout: float, **options: Any) -> CompletedProcess[Any]:
        """As `subprocess.run` does, with what the program prints. It leads a group of its own, for a compiler starts
        others, which would hold what it prints open."""
        with Popen(words, stdout=PIPE, stderr=PIPE, start_new_session=True, **options) as process:
            try:
                self._begin(process)
                out, said = process.communicate(timeout=timeout)
            except BaseException:
                kill_group(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)
        return CompletedProcess(words, process.returncode, out, said)

    def _begin(self, process: Popen[Any]) -> None:
        with self._lock:
            if self._stopped:
                raise SubprocessError("stopped")
            self._running.add(process)

    def stop(self) -> None:
        """Those that run are killed, and others are not begun."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                kill_group(process)

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Whatever leaves the block, an interruption above all, stops them."""
        try:
            yield
        except BaseException:
            self.stop()
            raise


def kill_group(process: Popen[Any]) -> None:
    """A process that leads a group, with all that it has started; systems without groups kill it alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
