"""Targets that accelerators cannot be added to."""

from __future__ import annotations

import pytest

from tests.accelerator.folders import QVANILLA
from tilewright import targets
from tilewright.accelerator.adding import with_accelerators
from tilewright.errors import CompileError

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", ["mempool", "minpool", "itapool"])
def test_a_cluster_whose_cores_all_compute(name: str) -> None:
    """The loops of accelerators have one that moves data and nothing else: its share of results would be missing."""
    with pytest.raises(CompileError, match="has no core that drives accelerators while others compute"):
        with_accelerators(targets.find(name), [str(QVANILLA)])
