"""Workers of the fast subset share its files, also those that are named: every test is run by one of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import conftest

ROOT = Path(__file__).parents[1]
WORKERS = 3

pytestmark = pytest.mark.fast


def test_every_test_has_one_worker() -> None:
    paths = sorted((ROOT / "tests" / "toolchain").glob("test_*.py"))
    found = []
    for number in range(WORKERS):
        given = {conftest.SHARES: True, "workerid": f"gw{number}", "workercount": WORKERS}
        items = cast("list[pytest.Item]", [SimpleNamespace(path=path) for path in paths])
        conftest.pytest_collection_modifyitems(cast(Any, SimpleNamespace(workerinput=given, rootpath=ROOT)), items)
        found += [item.path for item in items]
    assert sorted(found) == paths
