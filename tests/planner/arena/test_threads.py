"""Layers that several threads compute: parts that lie in one piece, and no two that touch the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tilewright import pipeline, targets
from tilewright.errors import InternalError
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.ops.slice import Slice
from tilewright.ops.softmax import Softmax
from tilewright.ops.transpose import Transpose
from tilewright.passes.fit.even_rows import even_rows
from tilewright.planner.arena.allocation import allocate
from tilewright.planner.arena.threads import parts_of_threads
from tilewright.planner.check.schedule import check_schedule
from tilewright.planner.cluster.tile_params import variants
from tilewright.planner.program.program import CORES, Barrier, Program
from tilewright.planner.schedule.interpret import interpret
from tilewright.planner.schedule.layer_schedule import TileParams
from tilewright.planner.schedule.lower_arena import lower_arena
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.mapping import map_nodes
from tilewright.target.settings import Settings
from tilewright.tiling.dma_shapes import dma_shape
from tilewright.tiling.tiles import Cut, TileGrid

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
    return check_schedule(lower_arena(allocate(map_nodes(graph, target))))


@pytest.mark.asks_c
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_parts_together_are_the_whole(threads: int) -> None:
    graph = mixed()
    schedule = scheduled(graph, threads)
    feeds = {name: floats(*graph.types[name].shape) for name in graph.inputs}
    found, expected = interpret(schedule, feeds), evaluate(graph, feeds)
    assert {layer.tiles for layer in schedule.layers} <= ({1} if threads == 1 else {threads - 1, threads})
    for name in graph.outputs:
        assert np.allclose(found[name], expected[name], atol=1e-4)


@pytest.mark.asks_c
@pytest.mark.parametrize("threads", [2, 3])
def test_long_layers_have_several_parts_for_each_thread(threads: int) -> None:
    """As even as one part each is, of whole blocks of what is computed at once, with working memory for each thread."""
    builder = Builder("long")
    x = builder.input("x", TensorType("float32", (1, 16, 96, 64)))
    y = builder.add(Conv(padding=(1, 1, 1, 1)), [x, builder.constant(floats(32, 16, 3, 3))])[0]
    builder.output(builder.add(Conv(), [y, builder.constant(floats(48, 32, 1, 1))])[0])
    graph = builder.build()
    schedule = pipeline.stage(graph, "cpu", "schedule", settings=Settings(threads=threads))
    for layer in (one for one in schedule.layers if one.node.op.multiplies):
        (cut,) = layer.option.grid.cuts
        assert layer.tiles > threads
        assert cut.size % layer.kernel.at_once.get(cut.loop, 1) == 0
        shares = parts_of_threads(layer.tiles, threads)
        assert [part for share in shares for part in share] == list(range(layer.tiles))
        assert max(map(len, shares)) * cut.size <= -(-cut.extent // threads)
        assert layer.scratch is None or layer.scratch.cores == threads
    feeds = {"x": floats(1, 16, 96, 64)}
    found, expected = interpret(schedule, feeds), evaluate(graph, feeds)
    assert np.allclose(found[schedule.graph.outputs[0]], expected[graph.outputs[0]], atol=1e-3)


def seven_rows(dtype: str) -> Graph:
    """Convolutions of single pixels, the last added to what they began with."""
    builder = Builder("seven")
    x = builder.input("x", TensorType(dtype, (1, 7, 7, 64)))
    y = x
    for _ in range(2):
        weights = RNG.integers(-9, 9, (64, 1, 1, 64)).astype(dtype)
        scaling = full_range(12, dtype) if dtype == "int8" else None
        factors = ["", builder.constant(np.full(64, 3, np.int32))] if dtype == "int8" else []
        op = Conv(channels_last=True, requant=scaling)
        y = builder.add(op, [y, builder.constant(weights), *factors])[0]
    builder.output(builder.add(Add(), [x, y])[0] if dtype == "float32" else y)
    return builder.build()


@pytest.mark.asks_c
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_pixels_are_shared_where_rows_are_uneven(dtype: str) -> None:
    graph = seven_rows(dtype)
    schedule = pipeline.stage(graph, "cpu", "schedule", settings=Settings(threads=2))
    convolutions = [layer for layer in schedule.layers if layer.node.op.multiplies]
    shapes = [schedule.graph.types[layer.node.key].shape for layer in convolutions]
    assert shapes == [(1, 1, 49, 64)] * 2
    assert {layer.tiles for layer in convolutions} == {2}
    feeds = {"x": RNG.integers(-100, 100, (1, 7, 7, 64)).astype(dtype)}
    found, expected = interpret(schedule, feeds), evaluate(graph, feeds)
    np.testing.assert_array_equal(found[schedule.graph.outputs[0]], expected[graph.outputs[0]])


def test_rows_that_are_even_stay() -> None:
    graph = seven_rows("int8")
    assert even_rows(7).run(graph) is graph


def test_small_layers_stay_with_one_thread() -> None:
    builder = Builder("small")
    builder.output(builder.add(Relu(), [builder.input("x", TensorType("float32", (8, 8)))])[0])
    assert scheduled(builder.build(), 2).layers[0].tiles == 1


def test_what_does_not_lie_in_one_piece_is_not_split() -> None:
    builder = Builder("columns")
    x = builder.input("x", TensorType("float32", (256, 256)))
    builder.output(builder.add(Transpose((1, 0)), [x])[0])
    assert scheduled(builder.build(), 2).layers[0].tiles == 1


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
    grid = scheduled(builder.build(), 4).layers[0].option.grid
    parts = [grid.indices(part) for part in range(grid.tiles)]
    assert [grid.local_types(part)["Y"].shape for part in parts] == [(3, 101), (3, 101), (3, 101), (1, 101)]
    assert [grid.elements_before("A", part) for part in parts] == [0, 300, 600, 900]
    assert [grid.elements_before("B", part) for part in parts] == [0, 0, 0, 0]


def first_cut(schedule: Schedule, change: Callable[[TileGrid], TileGrid]) -> Schedule:
    """With the first layer cut otherwise."""
    first, *rest = schedule.layers
    option = replace(first.option, grid=change(first.option.grid))
    params = TileParams(variants(first.kernel, option.grid))
    arguments = tuple(replace(one, window=dma_shape(option.grid, one.operand.name)) for one in first.arguments)
    made = replace(first, option=option, tile_params=params, arguments=arguments)
    return replace(schedule, layers=(made, *rest))


@pytest.mark.asks_c
def test_the_check_finds_parts_that_do_not_lie_in_one_piece() -> None:
    builder = Builder("plane")
    builder.output(builder.add(Relu(), [builder.input("x", TensorType("float32", (256, 256)))])[0])
    schedule = scheduled(builder.build(), 2)
    (rows,) = schedule.layers[0].option.grid.cuts
    columns = next(loop for loop in schedule.layers[0].option.grid.extents if loop != rows.loop)
    with pytest.raises(InternalError, match="one piece"):
        check_schedule(first_cut(schedule, lambda grid: replace(grid, cuts=(Cut(columns, 256, 128),))))


@pytest.mark.asks_c
def test_the_check_finds_windows_that_are_not_whole() -> None:
    """Of rows that nobody reads the end of, a part would have what lies apart."""
    schedule = scheduled(mixed(), 2)
    strided = next(layer for layer in schedule.layers if layer.kernel.stem.startswith("conv") and layer.number)
    assert strided.option.grid.whole_axes
    option = replace(strided.option, grid=replace(strided.option.grid, whole_axes=False))
    layers = tuple(replace(one, option=option) if one is strided else one for one in schedule.layers)
    with pytest.raises(InternalError):
        check_schedule(replace(schedule, layers=layers))


@pytest.mark.asks_c
def test_the_check_finds_what_one_part_writes_and_another_reads() -> None:
    """Threads that do not meet behind a layer read what others still make."""
    schedule = scheduled(mixed(), 2)
    bodies = list(schedule.program.agents[CORES])
    assert isinstance(bodies[1].events[-1], Barrier)
    bodies[1] = replace(bodies[1], events=bodies[1].events[:-1])
    tiles = replace(schedule, program=Program({CORES: tuple(bodies)}))
    with pytest.raises(InternalError, match="while layer 1 tile"):
        check_schedule(tiles)


@pytest.mark.asks_c
def test_the_check_finds_a_part_that_begins_elsewhere() -> None:
    """What a thread is given begins where its part does."""
    schedule = scheduled(mixed(), 2)
    layer = next(layer for layer in schedule.layers if layer.tiles > 1)
    first, *rest = layer.arguments
    assert first.window is not None
    moved = replace(first, window=replace(first.window, start=first.window.start + 4))
    layers = tuple(replace(one, arguments=(moved, *rest)) if one is layer else one for one in schedule.layers)
    with pytest.raises(InternalError, match="in tile"):
        check_schedule(replace(schedule, layers=layers))
