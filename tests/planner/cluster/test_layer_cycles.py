"""What layers are predicted to take: cores with tiles of their own, and transfers that are hidden by others or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.planner.cluster.test_enumerate import layers
from tests.planner.networks import _array
from tests.planner.planning import prepared
from tests.support import dialect
from tests.support.models import model, node
from tilewright.planner.cluster.layer_homes import Homes
from tilewright.planner.cluster.sketches import sketches
from tilewright.target.settings import Settings


def test_cores_with_tiles_of_their_own_pay_for_every_transfer() -> None:
    """Also with two buffers: who gives commands and waits does not compute."""
    found, limits = layers(model([node("Floor", "x", "y")], {"x": (4096,)}, ["y"], {}), Settings(buffering="double"))
    (layer,) = (one for one in found if one.kernel.stem == "floor")
    slower = replace(limits, costs=replace(limits.costs, own_transfer=limits.costs.own_transfer + 100.0))
    usual, longer = (
        {sketch.facts.tiles: sketch.cycles for sketch in sketches(layer, 1, [Homes()], some)}
        for some in (limits, slower)
    )
    assert limits.costs.own_transfer > 0
    assert max(usual) > 2 * limits.cores
    for tiles, cycles in usual.items():
        assert longer[tiles] - cycles == pytest.approx(2 * 100.0 * -(-tiles // limits.cores))


def test_nothing_is_hidden_behind_a_layer_that_keeps_the_dma_busy() -> None:
    """Of two products with large weights the second is cut into tiles too: its weights do not come during the first."""
    made = dialect.Model(1, {"x": _array("int8", 1, 1, 512)})
    proto = made.proto(made.linear(made.linear("x", 768), 256))
    plan = prepared(proto).plan(Settings(weight_memory=False))
    streamed = [step.option for step in plan.steps if step.option.mode == "offload"]
    assert len(streamed) == 2
    assert all(option.double and option.grid.tiles > 1 for option in streamed)
