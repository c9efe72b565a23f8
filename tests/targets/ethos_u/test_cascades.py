"""Layers of NPU and core together in strips of rows."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import TensorType
from tilewright.ops._ethosu import EthosU
from tilewright.ops.conv import Conv
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.passes import apply
from tilewright.program import Program
from tilewright.target.settings import GOALS, Settings
from tilewright.targets.ethos_u.cascades import bytes_alive, sketches
from tilewright.targets.ethos_u.cutting import part_of
from tilewright.targets.ethos_u.parts import ethos_u_parts

REASON = "pip install 'tilewright[ethos-u]'"
NPU, TARGET = "ethos-u55-128", "cortex-m33+u55-128"
SIZE, WIDE = 32, 32
DOUBLE = Requant(0, "int8", -128, 127, 0, Rounding.DOUBLE)


def convolved(builder: Builder, given: str, filters: int, taps: int, stride: int, zero: int) -> str:
    draws, before = np.random.default_rng(filters + taps), builder.type_of(given).shape[-1]
    values = draws.integers(-100, 100, (filters, taps, taps, before), np.int8)
    factors = draws.integers(-500, 500, filters), np.full(filters, 2**30), np.full(filters, -10)
    names = [builder.constant(one) for one in (values, *(one.astype(np.int32) for one in factors))]
    op = Conv((stride, stride), padding=(taps // 2,) * 4, channels_last=True, x_zero=zero, requant=DOUBLE)
    return builder.add(op, [given, *names], name=f"conv{filters}")[0]


def interrupted() -> Graph:
    """Windows at full size that the core averages, between layers of the NPU."""
    builder = Builder("interrupted")
    found = convolved(builder, builder.input("x", TensorType("int8", (1, SIZE, SIZE, 3))), WIDE, 3, 1, 0)
    requant = Requant(12, "int8", -128, 127, 0, Rounding.HALF_EVEN)
    windows = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "padding": (1, 1, 1, 1)}
    average = QLinearAveragePool(**windows, channels_last=True, mul=1 << 12, requant=requant)
    (found,) = builder.add(average, [found], name="average")
    found = convolved(builder, convolved(builder, found, 8, 3, 2, 0), 16, 3, 2, 0)
    builder.output(found)
    return builder.build()


def planned(goal: str) -> pipeline.Compiled:
    return pipeline.Compiled(*pipeline.stages(interrupted(), TARGET, settings=Settings(optimise=goal)))


def images(count: int = 1) -> list[dict[str, np.ndarray]]:
    draws = np.random.default_rng(4)
    return [{"x": draws.integers(-128, 128, (1, SIZE, SIZE, 3), np.int8)} for _ in range(count)]


@pytest.mark.in_turns(8)
def test_strips_give_what_nodes_give() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    graph = interrupted()
    whole, strips = (apply(graph, ethos_u_parts(NPU, goal=goal)) for goal in GOALS)
    assert [node.op.kind for node in whole.nodes] == ["EthosU", "QLinearAveragePool", "EthosU"]
    assert sum(isinstance(node.op, PlaceRows) for node in strips.nodes) > 2
    assert any("layers of NPU and core, conv32 to conv8, in " in note for note in strips.notes)
    for given in images(3):
        (wanted,) = evaluate_outputs(graph, given).values()
        (found,) = evaluate_outputs(strips, given).values()
        assert np.array_equal(found, wanted)


def test_strips_of_one_height_share_their_streams() -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    made = apply(interrupted(), ethos_u_parts(NPU, goal="ram"))
    jobs = [node for node in made.nodes if isinstance(node.op, EthosU)]
    assert len({node.inputs[0] for node in jobs}) < len(jobs)
    values = [(one.dtype.str, one.shape, one.tobytes()) for one in made.constants.values() if one.size > 1]
    assert len(values) == len(set(values))


@pytest.mark.in_turns(6)
def test_they_take_a_third_of_the_memory() -> None:
    """As planned, and in a run."""
    pytest.importorskip("ethosu.vela", reason=REASON)
    cycles, ram = (planned(goal) for goal in GOALS)
    assert sum(ram.schedule.arenas.values()) < sum(cycles.schedule.arenas.values()) / 3
    for given in images(2):
        (wanted,) = evaluate_outputs(interrupted(), given).values()
        (found,) = Program(ram, "", None, 0.0, None, Settings(optimise="ram"), None).run(given).outputs.values()
        assert np.array_equal(found, wanted)


def test_bytes_that_are_alive() -> None:
    """Tensors of the core, and what a part needs besides its ends."""
    graph = interrupted()
    first, average, *others = graph.nodes
    sizes = {node.key: graph.types[node.key].bytes for node in graph.nodes}
    image = graph.types["x"].bytes
    wide = sizes[first.key]
    assert bytes_alive(graph, graph.nodes, (), ()) == 2 * wide
    parts = [part_of(graph, [first]), part_of(graph, others)]
    assert bytes_alive(graph, graph.nodes, parts, (1000, 70)) == 2 * wide
    assert bytes_alive(graph, graph.nodes, parts, (1 << 20, 70)) == image + wide + (1 << 20)
    assert bytes_alive(graph, graph.nodes, parts, (0, 1 << 20)) == wide + sizes[others[-1].key] + (1 << 20)
    assert average.key in sizes


def test_without_the_core_there_is_nothing_to_cascade() -> None:
    graph, most = interrupted(), 1 << 30
    assert sketches(graph, {}, frozenset(), most) == []
    assert sketches(graph, {node.key: "" for node in graph.nodes}, frozenset(), most) == []
    on_core = {graph.nodes[1].key: "why"}
    made = sketches(graph, on_core, frozenset(), most)
    assert made
    assert made[0].bytes < bytes_alive(graph, graph.nodes, (), ())
    assert sketches(graph, on_core, frozenset(), made[0].bytes - 1) == []
