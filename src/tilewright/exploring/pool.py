"""Points on this machine, several at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from queue import Empty, SimpleQueue

from tilewright.exploring.jobs import SweepJob
from tilewright.exploring.row import Row
from tilewright.exploring.worker import Stopped, Worker

Finished = Callable[[Row], None]
"""Told of each row, one at a time. Never interrupted by a signal, which the main thread gets."""


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compute_here(jobs: Sequence[SweepJob], processes: int, seconds: float, finished: Finished) -> None:
    """What `finished` raises, and an interrupt, ends everything that is not finished."""
    waiting: SimpleQueue[SweepJob] = SimpleQueue()
    for job in sorted(jobs, key=lambda job: job.weight, reverse=True):
        waiting.put(job)
    workers, turn = [Worker() for _ in range(min(processes, len(jobs)))], threading.Lock()
    try:
        with ThreadPoolExecutor(max(1, len(workers))) as threads:
            work = [threads.submit(_work, worker, waiting, seconds, finished, turn) for worker in workers]
            try:
                for done in wait(work, return_when=FIRST_EXCEPTION).done:
                    done.result()
            finally:
                for worker in workers:
                    worker.stop()
    finally:
        for worker in workers:
            worker.close()


def _work(
    worker: Worker, waiting: SimpleQueue[SweepJob], seconds: float, finished: Finished, turn: threading.Lock
) -> None:
    while True:
        try:
            job = waiting.get_nowait()
            row = worker.compute(job.point, seconds)
        except (Empty, Stopped):
            return
        with turn:
            finished(replace(row, key=job.key))
