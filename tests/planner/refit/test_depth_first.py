"""Layers that are computed in strips because what is between them would leave the cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright import pipeline, targets
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.refit.depth_first import depth_first, fused_layers
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.target.caches import Cache, Caches
from tilewright.target.mapping import as_chosen, map_nodes
from tilewright.target.target import Target
from tilewright.targets.cpu import target as cpu

RNG = np.random.default_rng(0)


def block(side: int = 24, channels: int = 32) -> Graph:
    """Channels are widened, filtered one by one and narrowed, as in mobile networks."""
    builder = Builder("block")

    def conv(x: str, filters: int, taps: int, groups: int = 1) -> str:
        inside = builder.types[x].shape[3] // groups
        weights = RNG.standard_normal((filters, taps, taps, inside)).astype(np.float32)
        around = taps // 2
        op = Conv(padding=(around,) * 4, groups=groups, channels_last=True)
        return builder.add(op, [x, builder.constant(weights)])[0]

    x = builder.input("x", TensorType("float32", (1, side, side, 4)))
    wide = conv(conv(x, channels, 1), channels, 3, groups=channels)
    builder.output(conv(wide, 6, 1))
    return builder.build()


def with_cache(size: int, beyond: float = 5.0) -> Target:
    found = Caches((Cache(1, 1024, 0.0), Cache(2, size, beyond)))
    return having(targets.find("cpu"), found)


def with_threads(target: Target, threads: int) -> Target:
    return replace(target, agents=replace(target.agents, threads=threads))


def having(target: Target, caches: Caches | None) -> Target:
    return replace(target, memories=(replace(target.work_memory, caches=caches),))


def test_what_is_between_them_stays_in_the_cache() -> None:
    graph, target = block(), with_cache(64 * 1024)
    (fused,) = fused_layers(graph, target)
    assert {layer.node.op.kind for layer in fused.plan.layers} == {"Conv"}
    assert fused.gain > 0
    strips = depth_first(graph, target)
    assert f"in {len(fused.plan.strips)} strips" in strips.notes[-1]
    whole, made = (allocate(as_chosen(map_nodes(one, target))) for one in (graph, strips))
    assert 2 * made.arena_bytes < whole.arena_bytes
    feeds = {"x": RNG.standard_normal((1, 24, 24, 4)).astype(np.float32)}
    expected, found = evaluate(graph, feeds), interpret(lower_arena(made), feeds)
    np.testing.assert_allclose(found[strips.outputs[0]], expected[graph.outputs[0]], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("graph", "target"),
    [
        (block(), with_cache(1 << 20)),
        (block(), with_cache(64 * 1024, beyond=0.001)),
        (block(channels=16), with_cache(32 * 1024)),
        (block(), with_threads(with_cache(64 * 1024), 2)),
        (block(), having(with_cache(64 * 1024), None)),
    ],
    ids=["all of it fits", "memory is fast", "pixels are read in order", "two threads", "nothing is known of caches"],
)
def test_not_where_it_does_not_pay(graph: Graph, target: Target) -> None:
    assert fused_layers(graph, target) == []
    assert depth_first(graph, target) is graph


@pytest.mark.in_turns(3)
def test_mobile_networks_of_a_computer_are_fused() -> None:
    """By the sizes of its processor's caches."""
    graph = block(side=96, channels=96)
    found = {name: fused_layers(graph, cpu.for_processor(name)) for name in ("cortex-a53", "neoverse-n1")}
    assert all(found.values())
    (little,), (large,) = found.values()
    assert len(little.plan.strips) > len(large.plan.strips)
    assert any("depth first" in note for note in pipeline.stage(graph, "cpu", "fitted").notes)
