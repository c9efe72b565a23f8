"""A driver of a GPU that tests may make fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.targets.gpu.fake import Fake, loaded_driver
from tilewright.target import runner


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    if runner.has_driver():
        pytest.skip("a real driver is installed")
    monkeypatch.setattr(runner, "has_driver", lambda: True)
    return Fake(tmp_path, loaded_driver(), monkeypatch)
