"""Passes of ITA ensure what they are for: one that does nothing is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.targets.ita.transformers import encoder_model, feed_forward_model
from tilewright import pipeline, targets
from tilewright.errors import InternalError
from tilewright.passes import Pass
from tilewright.target.settings import Settings
from tilewright.target.target import Target

WITHOUT = {
    ("snitch", "matrix products on ITA"): "is a product that ITA takes",
    ("snitch", "attention on ITA"): "ends an attention that ITA takes",
    ("snitch", "sums on ITA"): "is a sum of tiles that ITA takes",
    ("snitch", "GELU in products on ITA"): "which could apply it",
    ("snitch", "tiles stay tiles"): "makes tiles of rows that came out of the tiles",
    ("snitch", "tiles by transfers"): "only moves bytes between ITA and rows outside",
    ("snitch", "requantisations and softmax of ITA"): "is a softmax between products, which ITA computes otherwise",
    ("itapool", "attention of ITAPool"): "is a softmax between products, which ITA computes otherwise",
    ("itapool", "matrix products on ITAPool"): "is a product that ITAPool takes",
    ("itapool", "attention heads on ITAPool"): "ends an attention that ITAPool takes",
}


def without(target: Target, name: str) -> Target:
    """The target with a pass that leaves every graph as it is."""

    def changed(step: Pass) -> Pass:
        return replace(step, run=lambda graph: graph) if step.name == name else step

    engines = (replace(engine, passes=tuple(map(changed, engine.passes))) for engine in target.engines)
    return replace(target, engines=tuple(engines), hardware=tuple(map(changed, target.hardware)))


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("target", "name"), WITHOUT, ids=[name for _, name in WITHOUT])
def test_a_pass_that_does_nothing_is_caught(target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = feed_forward_model(128, 192) if "GELU" in name else encoder_model(64, 128, 2, 64, 192)
    graph = pipeline.import_model(model)
    settings = Settings(engines=("all",), numerics="hardware")
    pipeline.stage(graph, target, "lowered", settings=settings)
    broken = without(targets.find(target), name)
    monkeypatch.setattr(targets, "find", lambda wanted: broken)
    with pytest.raises(InternalError, match=WITHOUT[target, name]):
        pipeline.stage(graph, target, "lowered", settings=settings)
