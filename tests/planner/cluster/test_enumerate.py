"""Options of one layer: how many grids are looked at, and that sketches say what the options written out take."""

from __future__ import annotations

import itertools

import pytest
from onnx import ModelProto

from tests.planner.networks import _array, odd_sizes
from tests.support.models import model, node, residual
from tilewright import pipeline
from tilewright.passes.aliasing import all_owners, insides
from tilewright.planner.cluster.candidates import layers_of, limits_of
from tilewright.planner.cluster.capacity import tile_budget
from tilewright.planner.cluster.grids import PARTS, grids
from tilewright.planner.cluster.layer_cycles import _period
from tilewright.planner.cluster.layer_homes import homes_of
from tilewright.planner.cluster.lifetimes import steps_of
from tilewright.planner.cluster.sketches import MOST_CUTS, materialise, most_variants, sketches
from tilewright.planner.cluster.tiling_option import Layer, Limits
from tilewright.target.settings import Settings


def layers(made: ModelProto, settings: Settings) -> tuple[list[Layer], Limits]:
    """All layers with all kernels, every tensor being free to live anywhere."""
    mapped = pipeline.stage(pipeline.import_model(made), "siracusa", "mapped", settings=settings)
    graph, budget = mapped.graph, tile_budget(mapped, settings)
    inside = insides(graph)
    owners = all_owners(graph, inside)
    free = frozenset(owners.values()) - graph.constants.keys() - {*graph.inputs, *graph.outputs}
    groups = (layers_of(mapped, settings, budget, n, owners, free, inside, free) for n in steps_of(graph))
    return [layer for group in groups for layer in group], limits_of(budget, mapped, settings)


def huge() -> ModelProto:
    """One convolution over an image of 640 x 640, with 512 filters."""
    constants = {"w": _array("float32", 512, 64, 3, 3)}
    return model([node("Conv", "x w", "y", pads=[1, 1, 1, 1])], {"x": (1, 64, 640, 640)}, ["y"], constants)


@pytest.mark.in_turns(6)
def test_a_huge_layer_has_few_grids() -> None:
    found, _ = layers(huge(), Settings())
    sizes = len(PARTS) + 1
    for layer in found:
        for count in range(MOST_CUTS + 1):
            cuts = [frozenset(grid.cuts) for grid in grids(layer, count)]
            loops = {cut.loop for some in cuts for cut in some}
            assert len(set(cuts)) == len(cuts)
            assert len(cuts) <= sizes**count * max(len(list(itertools.combinations(loops, count))), 1)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("made", [odd_sizes, residual], ids=lambda made: made.__name__)
@pytest.mark.parametrize("l1", [6_000, 100_000])
def test_options_take_what_their_sketches_say(made: object, l1: int) -> None:
    assert callable(made)
    found, limits = layers(made(), Settings(l1=l1))
    seen = 0
    for layer in found:
        for sketch in (s for count in range(3) for s in sketches(layer, count, homes_of(layer), limits)):
            grid = sketch.facts.grid
            params = layer.params_bytes * most_variants(grid)
            option = materialise(layer, sketch, params, sketch.facts.scratch, limits.memories)
            assert (option.bytes, option.prefetch_bytes) == (sketch.bytes, sketch.prefetch_bytes)
            assert option.can_stay_in_flight == sketch.can_stay_in_flight
            assert set(option.grid.cuts) == set(grid.cuts)
            seen += 1
    assert seen > 100


@pytest.mark.in_turns(3)
def test_no_order_of_loops_is_forgotten() -> None:
    found, limits = layers(odd_sizes(), Settings(l1=20_000))
    seen = 0
    for layer in found:
        for sketch in sketches(layer, 2, homes_of(layer), limits):
            facts = sketch.facts
            known = {order.periods for order in facts.orders}
            for cuts in itertools.permutations(facts.grid.cuts):
                assert tuple(_period(cuts, facts.grid.loops_of(part.name)) for part in facts.parts) in known
            assert len(known) == len(facts.orders)
            assert sketch.order in facts.orders
            seen += 1
    assert seen > 20
