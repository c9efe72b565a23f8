"""A driver of a GPU that tests may make fail."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.targets.gpu.fake import Fake, built_driver
from tilewright.target import runner


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if runner.has_driver():
        pytest.skip("a real driver is installed")
    return ctypes.CDLL(str(built_driver(tmp_path_factory.mktemp("fake"))), ctypes.RTLD_GLOBAL)


@pytest.fixture
def fake(fake_driver: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr(runner, "has_driver", lambda: True)
    return Fake(tmp_path, fake_driver, monkeypatch)
