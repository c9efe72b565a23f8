"""Points on the workers of a Dask scheduler, of which one is killed in the middle."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import pytest

from tests.support.models import residual, small
from tilewright.errors import CompileError
from tilewright.exploring import dask_pool
from tilewright.exploring.explore import explore
from tilewright.exploring.files import digest_of, packed, unpacked
from tilewright.exploring.jobs import jobs_of
from tilewright.exploring.reading import read_study
from tilewright.exploring.row import Row

pytest.importorskip("distributed")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + words[0], *words[1:]])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler_process() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard") as process:
        yield f"tcp://127.0.0.1:{port}", process


@contextmanager
def scheduler() -> Iterator[str]:
    with scheduler_process() as (address, _):
        yield address


def worker(address: str) -> tuple[str, ...]:
    return ("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    onnx.save(small(), tmp_path / "small.onnx")
    onnx.save(residual(), tmp_path / "residual.onnx")
    path = tmp_path / "study.toml"
    path.write_text(
        'models = ["small.onnx", "residual.onnx"]\ntargets = "quad"\ncores = [1, 2]\nbuffering = ["single", "double"]'
    )
    return path


def test_a_worker_that_is_killed_loses_nothing(study: Path, tmp_path: Path) -> None:
    with scheduler() as address, started(*worker(address)) as first, started(*worker(address)):

        def kill(what: str, done: int, total: int) -> None:
            if done == 2:
                first.kill()

        found = explore(study, tmp_path / "out", scheduler=address, progress=kill)
        assert first.wait() != 0
    assert [(row.status, row.reason) for row in found.rows] == [("agrees", "")] * 8
    assert found.computed == 8
    here = explore(study, tmp_path / "here", jobs=1)
    assert [row.key for row in here.rows] == [row.key for row in found.rows]
    measured = [[row.metrics[name] for name in ("cycles", "instructions", "planned_ram_bytes")] for row in found.rows]
    assert measured == [
        [row.metrics[name] for name in ("cycles", "instructions", "planned_ram_bytes")] for row in here.rows
    ]
    assert explore(study, tmp_path / "out", jobs=1).computed == 0


def test_without_workers_nobody_waits_forever(study: Path) -> None:
    jobs = jobs_of(read_study(study))
    with scheduler() as address, pytest.raises(CompileError, match="has had no worker for 1 s"):
        dask_pool.compute_there(jobs, address, 60.0, lambda row: None, patience=1.0)


def test_a_worker_with_other_sources_is_named(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "sources_digest", lambda: "others")
    jobs = jobs_of(read_study(study))[:1]
    with (
        scheduler() as address,
        started(*worker(address)),
        pytest.raises(CompileError, match="has another version of Tilewright"),
    ):
        dask_pool.compute_there(jobs, address, 60.0, lambda row: None)


def test_a_scheduler_that_is_not_there(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "CONNECTING", "1s")
    with pytest.raises(CompileError, match="cannot be reached"):
        dask_pool.compute_there(jobs_of(read_study(study)), "tcp://127.0.0.1:9", 60.0, lambda row: None)


def test_a_scheduler_that_goes_away_is_named_and_what_came_is_kept(study: Path) -> None:
    rows: list[Row] = []
    with scheduler_process() as (address, process), started(*worker(address)):

        def take(row: Row) -> None:
            rows.append(row)
            process.kill()

        with pytest.raises(CompileError, match=r"is gone|no worker") as raised:
            dask_pool.compute_there(jobs_of(read_study(study)), address, 60.0, take, patience=1.0)
    assert "finished points are kept" in raised.value.hint
    assert [row.status for row in rows] == ["agrees"]


def test_files_come_to_workers_whole(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.c").write_text("int a;")
    (folder / "b.py").write_text("b = 1")
    base = tmp_path / "received"
    place = Path(unpacked(packed(str(folder)), digest_of(str(folder)), folder.name, base))
    assert place.name == "device"
    assert (place / "inner" / "a.c").read_text() == "int a;"
    assert digest_of(str(place)) == digest_of(str(folder))
    one = Path(unpacked(packed(str(folder / "b.py")), digest_of(str(folder / "b.py")), "b.py", base))
    assert one.read_text() == "b = 1"
