"""Points on several machines, by the workers of a Dask scheduler. Only here is Dask imported."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.exploring.files import digest_of, packed, sources_digest, unpacked
from tilewright.exploring.jobs import SweepJob
from tilewright.exploring.pool import Finished
from tilewright.exploring.row import DIED, FAULT, Row
from tilewright.exploring.study import Point
from tilewright.exploring.worker import Worker
from tilewright.toolchain.compiler import cache_folder

CONNECTING, RUNNING = "15s", "running"
LOOK = 2.0
"""Seconds after which it is looked whether there are workers."""
PATIENCE = 60.0
"""Seconds without any worker after which nobody waits longer."""
KEPT = "finished points are kept: run the same command again"
RECEIVED = "received"
"""The folder of files from elsewhere, in the cache folder of a worker."""


def compute_there(
    jobs: Sequence[SweepJob], scheduler: str, seconds: float, finished: Finished, patience: float = PATIENCE
) -> None:
    """A point whose worker is lost goes to another one; one that loses several has a row that says so."""
    distributed = _distributed()
    client = _client(distributed, scheduler)
    with client:
        files = {path: _send(client, path) for path in dict.fromkeys(path for job in jobs for path in job.point.paths)}
        sources = sources_digest()
        waiting: dict[Any, SweepJob] = {}
        for job in sorted(jobs, key=lambda job: job.weight, reverse=True):
            parts = [files[path] for path in job.point.paths]
            call = client.submit(computed, job.point.as_dict(), parts, sources, seconds, pure=False)
            waiting[call] = job
        try:
            _gather(distributed, client, waiting, finished, scheduler, patience)
        except BaseException:
            _take_finished(waiting, finished)
            if client.status == RUNNING:
                client.cancel(list(waiting))
            raise


def computed(point: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], sources: str, seconds: float) -> Any:
    """On a worker: a point with the files that came with it, in a process of its own."""
    if sources != _own_sources():
        raise CompileError(
            "worker", "has another version of Tilewright or of its dependencies than this machine",
            "install the same ones on all machines",
        )  # fmt: skip
    base = cache_folder() / RECEIVED
    places = {part["path"]: unpacked(part["archive"], part["digest"], part["name"], base) for part in parts}
    return _worker().compute(Point.from_dict(point).with_files(places), seconds).as_dict()


_own_sources = cache(sources_digest)
_WORKERS = threading.local()


def _worker() -> Worker:
    """Of this thread of a worker; it lasts, as what stands ready in it takes a second to start."""
    if not hasattr(_WORKERS, "own"):
        _WORKERS.own = Worker()
    found: Worker = _WORKERS.own
    return found


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise CompileError(
            "--scheduler", "needs Dask, which is not installed", "pip install 'tilewright[cluster]'"
        ) from None
    return distributed


def _client(distributed: Any, scheduler: str) -> Any:
    try:
        return distributed.Client(scheduler, timeout=CONNECTING)
    except (OSError, ValueError, TimeoutError) as error:
        first = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise CompileError(
            f"--scheduler {scheduler}", f"cannot be reached: {first[0]}",
            "start `dask scheduler` and give the address that it prints, for example tcp://host:8786",
        ) from None  # fmt: skip


def _send(client: Any, path: str) -> Any:
    """A file as something that the cluster has. The scheduler can make it again where a worker that had it is lost."""
    part = {"path": path, "name": Path(path).name, "digest": digest_of(path), "archive": packed(path)}
    return client.submit(dict, part, pure=False)


def _gather(
    distributed: Any, client: Any, waiting: dict[Any, SweepJob], finished: Finished, scheduler: str, patience: float
) -> None:
    alone_since = None
    while waiting:
        try:
            done = distributed.wait(list(waiting), timeout=LOOK, return_when="FIRST_COMPLETED").done
        except (TimeoutError, distributed.TimeoutError):
            done = set()
        except distributed.CancelledError:
            raise CompileError(f"--scheduler {scheduler}", "was lost", KEPT) from None
        for call in done:
            finished(_row(waiting[call], call))
            del waiting[call]
        has_workers = bool(client.scheduler_info().get("workers"))
        alone_since = None if has_workers else alone_since or time.monotonic()
        if alone_since is not None and time.monotonic() - alone_since >= patience:
            what = f"has had no worker for {patience:g} s"
            raise CompileError(f"--scheduler {scheduler}", what, f"start one: dask worker {scheduler}; {KEPT}")


def _row(job: SweepJob, call: Any) -> Row:
    """Of a call that has ended, however."""
    if call.status == "finished":
        return replace(Row.from_dict(call.result()), key=job.key)
    error = call.exception() if call.status == "error" else None
    if isinstance(error, CompileError):
        raise error
    point, failed = job.point, (FAULT, f"{type(error).__name__}: {error}", "")
    if error is None or type(error).__name__ == "KilledWorker":
        failed = (DIED, "every worker that computed it was lost", "give the workers more memory")
    return Row(point.model.name, point.target, point.settings, *failed, key=job.key)


def _take_finished(waiting: Mapping[Any, SweepJob], finished: Finished) -> None:
    """What came in when everything was ended: it is not lost."""
    for call, job in waiting.items():
        if call.status == "finished":
            finished(_row(job, call))
