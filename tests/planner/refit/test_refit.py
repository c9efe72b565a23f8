"""Layers are made to fit the memories in a stage of their own, which changes no more than it must."""

from __future__ import annotations

from functools import cache

import pytest

from tests.planner.networks import NETWORKS, large_constants, large_tables, many_readers
from tests.planner.planning import TARGET
from tilewright import pipeline, targets
from tilewright.ir.arrays import random_inputs
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ops.concat import Concat
from tilewright.ops.identity import Identity
from tilewright.planner.cluster.capacity import COPIED_SHARE
from tilewright.planner.refit import refit as refitting
from tilewright.planner.refit.refit import needs_concat_copy, needs_reduction_split, refit_tiles
from tilewright.target.mapping import Mapped, map_nodes, without_offers
from tilewright.target.settings import Settings

SMALL = Settings(l1=6_000)
"""Less than the reductions of `long_sums` need."""

MODELS = {**NETWORKS, "large_constants": large_constants, "large_tables": large_tables, "many_readers": many_readers}


@cache
def imported(name: str) -> Graph:
    return pipeline.import_model(MODELS[name]())


@cache
def lowered(name: str) -> Graph:
    found: Graph = pipeline.stage(imported(name), TARGET, "lowered")
    return found


def fitted(name: str, settings: Settings) -> Graph:
    return refit_tiles(lowered(name), targets.find(TARGET), settings)


def count(graph: Graph, *kinds: str) -> int:
    return sum(node.op.kind in kinds for node in graph.nodes)


def on_cores(graph: Graph) -> Mapped:
    return map_nodes(graph, without_offers(targets.find(TARGET), graph))


@pytest.mark.in_turns(3)
def test_sizes_of_memories_matter_to_fitted_and_not_to_lowered() -> None:
    graph, small, large = imported("long_sums"), SMALL, Settings(l1=64_000)
    texts = [
        [str(pipeline.stage(graph, TARGET, stage, settings=settings)) for settings in (small, large)]
        for stage in ("lowered", "fitted")
    ]
    assert texts[0][0] == texts[0][1] == texts[1][1]
    assert texts[1][0] != texts[1][1]


def test_without_a_cluster_nothing_has_to_fit() -> None:
    made = pipeline.compile_graph(imported("joined_in_little_room"), "generic")
    assert made.fitted is made.lowered


def test_what_fits_stays() -> None:
    assert fitted("long_sums", Settings()) is lowered("long_sums")


@pytest.mark.in_turns(6)
def test_a_stage_of_the_pipeline() -> None:
    made = pipeline.Compiled(*pipeline.stages(imported("long_sums"), TARGET, settings=SMALL))
    assert str(made.fitted) == str(fitted("long_sums", SMALL)) != str(made.lowered)
    assert [node.op for node in made.mapped.graph.nodes] == [node.op for node in made.fitted.nodes]


@pytest.mark.in_turns(3)
def test_long_reductions_are_split() -> None:
    before, after = lowered("long_sums"), fitted("long_sums", SMALL)
    assert [node.op.kind for node in needs_reduction_split(on_cores(before), SMALL)] == ["MatMul", "Conv"]
    assert needs_reduction_split(on_cores(after), SMALL) == []
    assert (count(before, "MatMul"), count(before, "Conv")) == (1, 1)
    assert (count(after, "MatMul"), count(after, "Conv")) == (2, 30)


@pytest.mark.parametrize(
    ("settings", "joined"),
    [
        (Settings(), 0),
        (Settings(home="L2"), 0),
        (Settings(l2=400_000), 0),
        (Settings(l2=400_000, weight_memory=False), 3),
        (Settings(l2=400_000, home="L3"), 3),
        (Settings(memories=(("l2", 400_000),), weight_memory=False), 3),
    ],
)
def test_only_constants_that_are_staged_come_in_parts(settings: Settings, joined: int) -> None:
    graph = fitted("large_constants", settings)
    assert sum(isinstance(node.op, Concat) for node in graph.nodes) == joined


@pytest.mark.in_turns(3)
def test_operands_that_fit_no_place_in_a_concat_are_copied() -> None:
    settings = Settings(l1=700)
    before, after = lowered("joined_in_little_room"), fitted("joined_in_little_room", settings)
    assert needs_concat_copy(on_cores(after), settings) == []
    assert count(after, "Identity") > count(before, "Identity")


def test_small_outputs_that_are_read_are_made_in_l1() -> None:
    graph = fitted("many_readers", Settings())
    copied = [node.key for node in graph.nodes if isinstance(node.op, Identity) and node.key in graph.outputs]
    assert copied == ["a", "d"]
    assert fitted("many_readers", Settings(l1=COPIED_SHARE * 31 * 33 * 4 - 8)) is lowered("many_readers")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("long_sums", SMALL),
        ("large_constants", Settings(l2=400_000, weight_memory=False)),
        ("joined_in_little_room", Settings(l1=700)),
        ("many_readers", Settings()),
    ],
)
def test_the_meaning_stays(name: str, settings: Settings) -> None:
    before, after = lowered(name), fitted(name, settings)
    assert len(after.nodes) > len(before.nodes)
    feeds = random_inputs({name: before.types[name] for name in before.inputs}, 0, {})
    wanted, found = evaluate(before, feeds), evaluate(after, feeds)
    for one, other in zip(before.outputs, after.outputs, strict=True):
        assert abs(found[other] - wanted[one]).max() <= 1e-4 * max(abs(wanted[one]).max(), 1)


@pytest.mark.parametrize(
    ("name", "settings", "times"),
    [("long_sums", Settings(), 1), ("large_tables", Settings(home="L3"), 1), ("long_sums", SMALL, 6)],
)
def test_a_graph_is_mapped_once(name: str, settings: Settings, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Graph] = []

    def counted(graph: Graph, *others: object) -> Mapped:
        graphs.append(graph)
        return map_nodes(graph, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(refitting, "map_nodes", counted)
    fitted(name, settings)
    assert len(graphs) == len(set(map(id, graphs))) == times
