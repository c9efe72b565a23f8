"""The whole way of a study on one page: what is asked for, what is there already, what is computed, what it gave."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.exploring.dask_pool import compute_there
from tilewright.exploring.jobs import SweepJob, jobs_of
from tilewright.exploring.pool import compute_here, cores
from tilewright.exploring.reading import read_study
from tilewright.exploring.results import Results, save_results
from tilewright.exploring.row import Row
from tilewright.exploring.store import Store
from tilewright.exploring.study import Study

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many points are finished, and how many there are."""


def silent(what: str, done: int, total: int) -> None:
    """No progress shown."""


def explore(
    study: str | Path | Mapping[str, Any] | Study, folder: str | Path | None = None, *, jobs: int = 0,
    scheduler: str = "", seconds: float | None = None, fresh: bool = False, progress: Progress = silent,
) -> Results:  # fmt: skip
    """Compute every point of a study that its folder does not have yet.

    - `study`: a TOML file, or the same as a mapping (docs/explore.md).
    - `folder`: where rows and tables are kept; NAME_study by default.
    - `jobs`: the number of points computed at a time, each in its own process; by default the number of cores.
    - `scheduler`: the address of a Dask scheduler whose workers compute the points instead.
    - `seconds`: the time limit of a point.
    - `fresh`: compute all points again, also those that the folder already has.
    """
    asked = read_study(study)
    limit, start = seconds or asked.seconds, time.perf_counter()
    store = Store.at(Path(folder or f"{asked.name}_study"))
    progress("looking at the models", 0, 0)
    wanted = jobs_of(asked)
    rows = {} if fresh else _kept(wanted, store, limit)
    missing = [job for job in wanted if job.key not in rows]
    processes = 0 if scheduler else min(jobs or cores(), max(len(missing), 1))

    def finished(row: Row) -> None:
        store.keep(row)
        rows[row.key] = row
        progress(f"{row.model} on {row.target}", len(rows), len(wanted))

    def results() -> Results:
        took, new = time.perf_counter() - start, [rows[job.key] for job in missing if job.key in rows]
        busy = sum(row.seconds for row in new) / (processes * took) if processes else 0.0
        found = tuple(rows[job.key] for job in wanted if job.key in rows)
        return Results(
            asked.name, str(store.folder), asked.axes, asked.objectives, found, len(wanted), len(new), processes, took,
            busy,
        )  # fmt: skip

    progress("computing", len(rows), len(wanted))
    try:
        _compute(missing, processes, scheduler, limit, finished)
    except (KeyboardInterrupt, SystemExit):
        save_results(results(), store)
        raise
    save_results(results(), store)
    return results()


def _kept(jobs: Sequence[SweepJob], store: Store, seconds: float) -> dict[str, Row]:
    found = {job.key: store.take(job.key, seconds) for job in jobs}
    return {key: row for key, row in found.items() if row is not None}


def _compute(
    jobs: Sequence[SweepJob], processes: int, scheduler: str, seconds: float, finished: Callable[[Row], None]
) -> None:
    if not jobs:
        return
    if scheduler:
        compute_there(jobs, scheduler, seconds, finished)
    else:
        compute_here(jobs, processes, seconds, finished)
