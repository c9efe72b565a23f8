"""A process that has everything loaded, and computes each point in a process of its own: a copy of itself.

Started as `python -m tilewright.exploring.fork_server`. A first line on stdout says that all is loaded. Then a line on
stdin is a point; the line on stdout that answers it is a row, or says how the process of the point ended. Whoever
started it ends it by closing stdin.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from tilewright.exploring.row import DiskFull, Row
from tilewright.exploring.study import Point

FORKS = hasattr(os, "fork")
"""Elsewhere this process computes one point and ends."""

READERS = ("tilewright.frontends.onnx.importer", "tilewright.frontends.tflite.importer")
READY = b"ready\n"
BLOCK = 1 << 16

Compute = Callable[[Point], Row]


def load() -> Compute:
    """Import what every point would import for itself."""
    from tilewright import targets
    from tilewright.exploring.point import row_of

    for name in READERS:
        importlib.import_module(name)
    for name in targets.names():
        targets.find(name)
    return row_of


def main(load: Callable[[], Compute] = load) -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is no answer
    row_of = load()
    os.write(answers, READY)
    while line := sys.stdin.buffer.readline():
        os.write(answers, (_apart(line, row_of) if FORKS else _answer(line, row_of)) + b"\n")
        if not FORKS:
            return


def _answer(line: bytes, row_of: Compute) -> bytes:
    try:
        found: dict[str, Any] = {"row": row_of(Point.from_dict(json.loads(line))).as_dict()}
    except DiskFull as error:
        found = {"disk full": str(error)}
    return json.dumps(found).encode()


def _apart(line: bytes, row_of: Compute) -> bytes:
    with tempfile.TemporaryDirectory(prefix="tilewright-point-") as folder:
        source, sink = os.pipe()
        child = os.fork()
        if child == 0:
            _be_child(lambda: _answer(line, row_of), sink, folder)
        os.close(sink)
        answer = _read(source, child)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        return answer if code == 0 else json.dumps({"ended": code}).encode()


def _be_child(work: Callable[[], bytes], sink: int, folder: str) -> None:
    """Never returns: the copy ends here."""
    code = 1
    try:
        tempfile.tempdir = os.environ["TMPDIR"] = folder  # removed by whoever waits, also where this is killed
        answer = memoryview(work())
        while answer:
            answer = answer[os.write(sink, answer) :]
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def _read(source: int, child: int) -> bytes:
    """Until the child closes its end; where nobody waits for the answer any more, it need not be computed."""
    found = b""
    while True:
        readable, _, _ = select.select([source, sys.stdin], [], [])
        if sys.stdin in readable:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            sys.exit(0)
        block = os.read(source, BLOCK)
        if not block:
            os.close(source)
            return found
        found += block


if __name__ == "__main__":
    main()
