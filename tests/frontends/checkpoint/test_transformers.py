"""Every family gives the logits of the library in which its models are published, where that is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import CASES, GPT2, LLAMA, LLAMA3, Json, save
from tests.frontends.checkpoint.test_families import logits
from tests.frontends.checkpoint.transformers_logits import IDS, transformers_logits

pytest.importorskip("transformers")
pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", CASES)
def test_all_logits(name: str, tmp_path: Path) -> None:
    folder = save(tmp_path, CASES[name])
    found = logits(folder)
    np.testing.assert_allclose(found, transformers_logits(folder), atol=1e-4)


@pytest.mark.parametrize("config", [LLAMA, LLAMA | LLAMA3, GPT2])
def test_later_positions(config: Json, tmp_path: Path) -> None:
    folder, first = save(tmp_path, config), 20
    wanted = transformers_logits(folder, np.arange(first, first + len(IDS)))
    np.testing.assert_allclose(logits(folder, position=first), wanted, atol=1e-4)
