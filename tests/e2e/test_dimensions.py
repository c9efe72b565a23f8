"""One program for every size of a model's dimensions: what it computes is what the model means at each of them."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import tilewright as tw
from tests.support.command import Command
from tests.support.sized_models import MODELS, Net, Ranges, chance, images, words
from tilewright.errors import CompileError
from tilewright.ir.at_sizes import at_sizes, symbols_of
from tilewright.ir.length import resolved
from tilewright.ir.tried_sizes import checked_sizes

POISON = 0xFF
"""Bytes of what nobody has written; as floats they are none."""


def _check(model: onnx.ModelProto, ranges: Ranges, target: str) -> None:
    program = tw.compile(model, dims=ranges, target=target)
    network = program.load()
    for sizes in checked_sizes(symbols_of(program.graph)):
        at = program.at(**sizes)
        feeds = at.random_inputs()
        network._arena[:] = POISON
        found, (wanted,) = network(*feeds.values()), at.reference(feeds).values()
        assert found.shape == wanted.shape, sizes
        np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=1e-4, err_msg=str(sizes))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["generic", "cpu"])
@pytest.mark.parametrize("name", MODELS)
def test_networks(name: str, target: str) -> None:
    _check(*MODELS[name](), target)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("seed", range(16))
def test_networks_by_chance(seed: int) -> None:
    _check(*chance(seed), ("generic", "cpu")[seed % 2])


@pytest.mark.parametrize("most", [64, 200])
def test_working_memory_is_enough_for_sizes_that_need_more_than_the_largest(most: int) -> None:
    """Rows are cut into parts of about the same size: 56 are one part, 64 are two of 32."""
    net = Net("rows")
    model = net.model(["batch", 24], net.add("MatMul", "x", net.weight(24, 96)))
    program = tw.compile(model, dims={"batch": (1, most)}, target="cpu", cpu="x86-64-v4")
    (layer,) = (one for one in program.compiled.schedule.layers if one.scratch is not None)
    assert layer.scratch is not None
    for size in range(1, most + 1):
        graph = at_sizes(program.compiled.schedule.graph, {"batch": size})
        needed = layer.kernel.scratch_bytes(layer.node.op, graph.all_types(graph.producers[layer.node.key]))
        assert needed <= layer.scratch.bytes, size


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4", "cortex-a76"])
def test_rows_of_narrow_products_follow_an_expression(cpu: str) -> None:
    """85 of these rows fit a cache; of more of them 72 are taken at a time, which tiles divide."""
    net = Net("narrow")
    model = net.model(["batch", 64], net.add("MatMul", "x", net.weight(64, 32)))
    program = tw.compile(model, dims={"batch": (1, 512)}, target="cpu", cpu=cpu)
    (layer,) = program.compiled.schedule.layers
    assert [resolved(layer.params_of(0), {"batch": size})["rows"] for size in (1, 71, 73, 86)] == [1, 71, 72, 72]


def test_a_constant_that_is_repeated_as_often_as_two_dimensions_say() -> None:
    net = Net("repeated")
    model = net.model(
        ["batch", "time", 4], net.add("Add", net.add("Expand", net.weight(1, 1, 4), net.add("Shape", "x")), "x")
    )
    _check(model, {"batch": (1, 4), "time": (1, 9)}, "generic")


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["generic", "cpu"])
def test_last_windows_that_padding_fills(target: str) -> None:
    """What rounding up adds is a remainder of the size."""
    net = Net("filled")
    pooled = net.add("MaxPool", net.add("Conv", "x", net.weight(4, 2, 3)), kernel_shape=[3], strides=[3], ceil_mode=1)
    _check(net.model(["batch", 2, "time"], pooled), {"batch": (1, 2), "time": (5, 24)}, target)


@pytest.mark.in_turns(5)
def test_rows_of_two_dimensions_that_are_computed_some_at_a_time() -> None:
    net = Net("long")
    strided = net.add("Conv", "x", net.weight(16, 8, 3), pads=[1, 1], strides=[2])
    model = net.model(
        ["batch", 8, "time"], net.add("MatMul", net.add("Transpose", strided, perm=[0, 2, 1]), net.weight(16, 6))
    )
    _check(model, {"batch": (1, 4), "time": (2, 1500)}, "cpu")


def _small() -> onnx.ModelProto:
    net = Net("small")
    return net.model(["batch", 3], net.add("MatMul", "x", net.weight(3, 2)))


def test_sizes_are_arguments_that_are_checked() -> None:
    program = tw.compile(_small(), dims={"batch": (2, 5)})
    header, source = program.files["network.h"], program.files["network.c"]
    assert "int small_run(const float *x, float *matmul0, int32_t batch, void *arena_memory);" in header
    assert "#define SMALL_BATCH_MIN 2\n#define SMALL_BATCH_MAX 5" in header
    assert "x: float32 [batch x 3]" in header
    assert "if (batch < SMALL_BATCH_MIN || batch > SMALL_BATCH_MAX) return 4;" in source
    network = program.load()
    assert network(np.ones((3, 3), np.float32)).shape == (3, 2)
    for size in (1, 6):
        with pytest.raises(tw.CompileError, match=f"input 'x': dimension 'batch' is {size}, which is not 2 to 5"):
            network(np.ones((size, 3), np.float32))
    check = program.check()
    assert check.agrees
    assert [one.name for one in check.outputs][::3] == ["matmul0 (batch=2)", "matmul0 (batch=5)"]


@pytest.mark.parametrize("given", [True, "1..4", (1.0, 2), (True, 4), range(3), None, (1, 2, 3), (4, 1)])
def test_ranges_that_are_none(given: object) -> None:
    with pytest.raises(CompileError, match="is no"):
        tw.compile(_small(), dims={"batch": given})  # type: ignore[dict-item]


def test_numbers_of_numpy_are_sizes_and_lists_are_no_arrays() -> None:
    network = tw.compile(_small(), dims={"batch": (np.int64(1), np.int32(4))}).load()
    assert network(np.zeros((2, 3), np.float32)).shape == (2, 2)
    with pytest.raises(CompileError, match="input x is list, not a numpy array"):
        network([[1.0, 2.0, 3.0]])


def test_the_command(tmp_path: Path, command: Command) -> None:
    onnx.save(_small(), tmp_path / "small.onnx")
    ran = command("compile", tmp_path / "small.onnx", "--dim", "batch=5..2", "-o", tmp_path / "c")
    assert ran.code == 2
    assert "--dim batch=5..2" in ran.err
    assert "is no range" in ran.err
    ran = command("run", tmp_path / "small.onnx", "--dim", "batch=1..4", "--target", "siracusa")
    assert ran.code == 2
    assert "target siracusa has programs for one size only" in ran.err
    assert "fix it: --dim batch=4; or use cpu, generic" in ran.err


def test_what_follows_no_size_is_refused() -> None:
    net = Net("fixed")
    x = net.add("Reshape", "x", net.integers(6, -1))
    with pytest.raises(tw.CompileError, match=r"node 'reshape0' \(Reshape\): with time=\d+: .*") as refused:
        tw.compile(net.model([3, "time"], x), dims={"time": (2, 8)})
    assert refused.value.hint == "fix the size: --dim time=8"
    net = Net("counted")
    count = net.add("Cast", net.size("x", 1), to=onnx.TensorProto.FLOAT)
    with pytest.raises(tw.CompileError, match="has other values at time="):
        tw.compile(net.model([3, "time"], net.add("Mul", "x", count)), dims={"time": (2, 8)})


@pytest.mark.fast
def test_a_graph_has_lengths() -> None:
    from tilewright import pipeline

    model, ranges = words()
    lowered = pipeline.stage(pipeline.import_model(model, dims=ranges), "generic", "lowered")
    assert "f32[1xtokens<=40x16]" in str(lowered)
    model, ranges = images()
    assert "f32[batch<=6x8x6x6]" in str(pipeline.import_model(model, dims=ranges))
