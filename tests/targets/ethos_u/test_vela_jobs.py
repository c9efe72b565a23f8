"""Vela in a process that stays: what ends a job does not end the next one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.support.npu_cases import CASES
from tests.support.vela import as_compiled
from tilewright.errors import present
from tilewright.targets.ethos_u import vela_jobs
from tilewright.targets.ethos_u.vela_jobs import run_vela

REASON = "pip install 'tilewright[ethos-u]'"


def words(path: Path, folder: Path) -> list[str]:
    return [str(path), "--accelerator-config", "ethos-u55-128", "--output-dir", str(folder), "--enable-debug-db"]


def test_a_file_that_is_none_and_one_that_is(tmp_path: Path) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    data = CASES["conv"](np.random.default_rng(1))
    broken, good = tmp_path / "broken.tflite", tmp_path / "good.tflite"
    broken.write_bytes(data[: len(data) // 2])
    good.write_bytes(data)
    failed = run_vela(words(broken, tmp_path), tmp_path)
    assert failed.status
    assert failed.said.strip()
    assert not (tmp_path / "broken_vela.tflite").exists()
    assert run_vela(words(good, tmp_path), tmp_path).status == 0
    process = present(vela_jobs._SERVER.process, "Vela", "does not run")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (tmp_path / "good_vela.tflite").unlink()
    assert run_vela(words(good, tmp_path), tmp_path).status == 0
    assert (tmp_path / "good_vela.tflite").stat().st_size == len(as_compiled(data, "ethos-u55-128"))


def test_without_forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    monkeypatch.delattr(os, "fork")
    done = run_vela(["--version"], tmp_path)
    assert done.status == 0
    assert done.said.strip()
