"""Targets that accelerators cannot be added to."""

from __future__ import annotations

import pytest

from tests.accelerator.folders import QVANILLA
from tests.accelerator.test_networks import chain
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.target.settings import Settings

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", ["mempool", "minpool", "itapool"])
def test_a_cluster_whose_cores_all_compute(name: str) -> None:
    """The loops of accelerators have one that moves data and nothing else: its share of results would be missing."""
    with pytest.raises(CompileError, match="has no core that drives accelerators while others compute"):
        pipeline.stage(chain(), name, "lowered", settings=Settings(accelerators=(str(QVANILLA),)))
