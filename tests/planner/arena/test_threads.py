"""Layers that several threads compute: parts that lie in one piece, and no two that touch the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright import targets
from tilewright.errors import InternalError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.slice import Slice
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.check.threads import check_threads
from tilewright.planner.schedule.schedule import Schedule, interpret, make_schedule
from tilewright.target.mapping import map_nodes

pytestmark = pytest.mark.fast

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def mixed() -> Graph:
    """Convolutions, one with strides over rows that nobody reads; rows of a product; a result in an operand's place."""
    builder = Builder("mixed")
    x = builder.input("x", TensorType("float32", (1, 8, 32, 32)))
    conv = builder.add(Conv(padding=(1, 1, 1, 1)), [x, builder.constant(floats(25, 8, 3, 3))])[0]
    positive = builder.add(Relu(), [conv])[0]
    strided = builder.add(Conv(strides=(2, 2)), [positive, builder.constant(floats(16, 25, 1, 1))])[0]
    builder.output(strided)
    rows = builder.input("rows", TensorType("float32", (131, 64)))
    product = builder.add(MatMul(), [rows, builder.constant(floats(64, 128))])[0]
    normal = builder.add(LayerNormalization(), [product, builder.constant(floats(128))])[0]
    builder.output(builder.add(Softmax(), [normal])[0])
    return builder.build()


def scheduled(graph: Graph, threads: int) -> Schedule:
    cpu = targets.find("cpu")
    target = replace(cpu, agents=replace(cpu.agents, threads=threads))
    return check_threads(make_schedule(allocate(map_nodes(graph, target))))


@pytest.mark.asks_c
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_parts_together_are_the_whole(threads: int) -> None:
    graph = mixed()
    schedule = scheduled(graph, threads)
    feeds = {name: floats(*graph.types[name].shape) for name in graph.inputs}
    found, expected = interpret(schedule, feeds), evaluate(graph, feeds)
    assert {len(call.parts) for call in schedule.calls} <= ({0} if threads == 1 else {threads - 1, threads})
    for name in graph.outputs:
        assert np.allclose(found[name], expected[name], atol=1e-4)


def test_small_layers_stay_with_one_thread() -> None:
    builder = Builder("small")
    builder.output(builder.add(Relu(), [builder.input("x", TensorType("float32", (8, 8)))])[0])
    assert scheduled(builder.build(), 2).calls[0].parts == ()


def test_what_does_not_lie_in_one_piece_is_not_split() -> None:
    builder = Builder("columns")
    x = builder.input("x", TensorType("float32", (256, 256)))
    builder.output(builder.add(Transpose((1, 0)), [x])[0])
    assert scheduled(builder.build(), 2).calls[0].parts == ()


def test_halves_of_rows() -> None:
    """The first half of every row is read from where the rows begin, the second one is not."""
    for start in (0, 24):
        builder = Builder("half")
        x = builder.input("x", TensorType("float32", (512, 48)))
        builder.output(builder.add(Slice((0, start), (1, 1), (512, 24)), [x])[0])
        graph = builder.build()
        feeds = {"x": floats(512, 48)}
        (found,) = interpret(scheduled(graph, 2), feeds).values()
        assert np.array_equal(found, feeds["x"][:, start : start + 24])


def test_shares_are_even() -> None:
    """A product with one column more than rows is cut along its rows, as columns do not lie in one piece."""
    builder = Builder("rows")
    x = builder.input("x", TensorType("float32", (10, 100)))
    builder.output(builder.add(MatMul(), [x, builder.constant(floats(100, 101))])[0])
    parts = scheduled(builder.build(), 4).calls[0].parts
    assert [part.share.types["Y"].shape for part in parts] == [(3, 101), (3, 101), (3, 101), (1, 101)]
    assert [part.share.starts["A"] for part in parts] == [0, 300, 600, 900]
    assert [part.share.starts["B"] for part in parts] == [0, 0, 0, 0]


def moved(schedule: Schedule, name: str, by: int) -> Schedule:
    """With the second part of the first layer elsewhere."""
    first, *rest = schedule.calls
    share = first.parts[1].share
    wrong = replace(first.parts[1], share=replace(share, starts={**share.starts, name: share.starts[name] + by}))
    return replace(schedule, calls=(replace(first, parts=(first.parts[0], wrong)), *rest))


@pytest.mark.asks_c
def test_the_check_finds_parts_that_overlap_or_leave_gaps() -> None:
    schedule = scheduled(mixed(), 2)
    for by in (-1, 1):
        with pytest.raises(InternalError, match="parts of Y are bytes"):
            check_threads(moved(schedule, "Y", by))


@pytest.mark.asks_c
def test_the_check_finds_what_one_part_writes_and_another_reads() -> None:
    graph = mixed()
    schedule = scheduled(graph, 2)
    in_place = next(call for call in schedule.calls if call.node.op.kind == "Relu")
    assert schedule.places[in_place.node.inputs[0]] == schedule.places[in_place.node.outputs[0]]
    with pytest.raises(InternalError, match="which another one touches"):
        check_threads(moved(replace(schedule, calls=(in_place,)), "X", -1))
