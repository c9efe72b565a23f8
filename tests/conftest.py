"""The fast subset, `pytest -m fast`, tries fewer examples of each property and fewer cases of each test, and reads only
files that have some of it.
The colours, width and compiler of whoever runs the tests are forgotten first."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

import tests.support.examples  # noqa: F401 (it knows the profile)

if TYPE_CHECKING:
    from tests.support.command import Command

TASTES = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS", "LINES", "CC")
"""Variables that change what commands print or how they compile."""

FAST = "fast"
CASES = 3
"""The fast subset takes at most so many of a test's."""


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(FAST if config.option.markexpr == FAST else "all")
    for name in TASTES:
        os.environ.pop(name, None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing a file of tests takes longer than many of its tests."""
    if config.option.markexpr != FAST or not collection_path.name.startswith("test_"):
        return None
    return True if collection_path.is_file() and f"mark.{FAST}" not in collection_path.read_text() else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr != FAST:
        return
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    taken = {item for cases in tests.values() for item in cases[:: -(-len(cases) // CASES)]}
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = [item for item in items if item in taken]


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it need not be looked at whenever memory is tidied up."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_random_numbers(request: pytest.FixtureRequest) -> None:
    """The numbers of a test do not depend on those that tests before it in the process drew from the same generator."""
    generator = getattr(request.module, "RANDOM", None)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(5).state


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line, run inside the test."""
    from tests.support.command import Command

    return Command(capsys)
