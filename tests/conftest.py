"""The fast subset, `pytest -m fast`, tries fewer examples of each property. The colours, width
and compiler of whoever runs the tests are forgotten first."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

import tests.support.examples  # noqa: F401 (it knows the profile)

TASTES = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS", "LINES", "CC")
"""Variables that change what commands print or how they compile."""


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("fast" if config.option.markexpr == "fast" else "all")
    for name in TASTES:
        os.environ.pop(name, None)
