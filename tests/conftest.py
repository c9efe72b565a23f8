"""The fast subset, `pytest -m fast`, tries fewer examples of each property."""

from __future__ import annotations

import pytest
from hypothesis import settings

import tests.examples  # noqa: F401 (it knows the profile)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "fast":
        settings.load_profile("fast")
