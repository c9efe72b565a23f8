"""Points that need no compiler: what becomes of one, the name of its target says.

Run as a module this is the process that stands ready for points, as `tilewright.exploring.fork_server` is.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from pathlib import Path

from tilewright.exploring import fork_server
from tilewright.exploring.row import AGREES, DiskFull, Row
from tilewright.exploring.study import Point, Study, StudyModel, Sweep

COMMAND = (sys.executable, "-m", __name__ if __name__ != "__main__" else "tests.support.points_made_up")

SLEEPS, DIES, FILLS, PRINTS, WAITS = "sleeps", "dies", "fills the disk", "prints", "waits"


def study(model: Path, *targets: str, axis: tuple[int, ...] = (1,), seconds: float = 30.0) -> Study:
    entry = StudyModel(model.stem, str(model))
    return Study("made_up", (Sweep((entry,), targets, {"cores": axis}),), seconds)


def made_up(point: Point) -> Row:
    if point.target == SLEEPS:
        time.sleep(900)
    if point.target == WAITS:
        time.sleep(0.4)
    if point.target == DIES:
        print("about to die", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if point.target == FILLS:
        raise DiskFull(os.strerror(errno.ENOSPC))
    if point.target == PRINTS:
        print("not an answer", flush=True)
        os.write(1, b"nor this\n")
    cycles = 1000 // int(point.settings["cores"])
    return Row(
        point.model.name, point.target, point.settings, AGREES, metrics={"cycles": cycles, "planned_ram_bytes": 10}
    )


if __name__ == "__main__":
    fork_server.main(lambda: made_up)
