"""Siracusa with other numbers of cores, as data: kernels, plans and programs follow from the chip's description."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.models import residual
from tests.support.networks import models
from tilewright.program import compile_model
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.targets.siracusa.target import siracusa

NETWORKS: list[Any] = [
    residual(),
    *models("peer/Models/miniMobileNet/network.onnx"),
    *models("peer/Models/microLlama/INT8/microLlama8/network.onnx"),
]


def with_cores(cores: int) -> Target:
    """One more moves data."""
    cluster, *others = SIRACUSA.groups
    return siracusa(replace(SIRACUSA, groups=(replace(cluster, cores=cores + 1), *others)))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("cores", "engine"), [(4, "cluster"), (6, "all")])
@pytest.mark.parametrize("network", NETWORKS, ids=lambda one: one.parent.name if isinstance(one, Path) else "floats")
def test_plans_and_runs(network: Any, cores: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("tilewright.targets.siracusa.target"), "TARGET", with_cores(cores))
    made = compile_model(network, target="siracusa", settings=Settings(engines=(engine,)))
    assert made.plan.budget.cores == cores
    assert made.check().first_difference is None
