"""Which tensors become 16 bits wide, and where Casts stand."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import TensorType, element
from tilewright.ops.add import Add
from tilewright.ops.argmax import ArgMax
from tilewright.ops.cast import Cast
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.sigmoid import Sigmoid
from tilewright.passes import apply
from tilewright.passes import narrow_floats as narrow_floats_pass
from tilewright.passes.narrow_floats import narrow_floats

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Layers need no company, if a test is not about that."""
    if "pays" not in request.node.name:
        monkeypatch.setattr(narrow_floats_pass, "pays", bool)


SHORT = {MatMul: ("A", "B"), Relu: ("X",), Add: ("A", "B"), Mul: ("A",), ArgMax: ("X",)}


def short(graph: Graph, node: Node) -> Collection[str] | None:
    return SHORT.get(type(node.op))


def narrowed(builder: Builder, *outputs: str, dtype: str = "float16") -> Graph:
    for name in outputs:
        builder.output(name)
    return apply(builder.build(), (narrow_floats(dtype, short),))


def start(dtype: str = "float32") -> Builder:
    builder = Builder("net")
    builder.input("x", TensorType(dtype, (3, 4)))
    return builder


def kinds(graph: Graph) -> list[str]:
    return [f"{node.op.kind} {graph.types[node.key].dtype}" for node in graph.nodes]


def test_casts_stand_at_both_ends_only() -> None:
    builder = start()
    w = builder.constant(np.ones((4, 4), np.float32), "w")
    builder.add(MatMul(), ["x", w], ["a"])
    builder.add(Reshape((4, 3)), ["a"], ["b"])
    builder.add(Relu(), ["b"], ["y"])
    graph = narrowed(builder, "y")
    assert kinds(graph) == ["Cast float16", "MatMul float16", "Reshape float16", "Relu float16", "Cast float32"]
    assert [array.dtype for array in graph.constants.values()] == [np.float16]
    assert graph.outputs == ("y",)


def test_one_cast_for_all_readers() -> None:
    builder = start()
    builder.add(Relu(), ["x"], ["a"])
    builder.add(Sigmoid(), ["a"], ["b"])
    builder.add(Add(), ["a", "b"], ["c"])
    builder.add(Sigmoid(), ["a"], ["d"])
    graph = narrowed(builder, "c", "d")
    assert [node.inputs[0] for node in graph.nodes if node.op.kind == "Sigmoid"] == ["a_float32"] * 2
    assert kinds(graph).count("Cast float32") == 2
    assert "stored in float32: 'b' (Sigmoid), 'd' (Sigmoid)" in graph.notes[0]


def test_constants_stay_where_the_kernel_takes_them() -> None:
    builder = start()
    builder.add(Mul(), ["x", builder.constant(np.float32(1e-9), "tiny")], ["y"])
    graph = narrowed(builder, "y")
    assert [array.dtype for array in graph.constants.values()] == [np.float32]


def test_inputs_and_outputs_in_16_bits_need_no_cast() -> None:
    builder = start("float16")
    builder.add(Cast("float32"), ["x"], ["wide"])
    builder.add(Relu(), ["wide"], ["a"])
    builder.add(Cast("float16"), ["a"], ["y"])
    assert kinds(narrowed(builder, "y")) == ["Relu float16", "Identity float16"]


def test_weights_alone_leave_the_result() -> None:
    builder = start()
    w = builder.constant(np.ones((4, 4), np.float32), "w")
    builder.add(MatMul(), ["x", w], ["y"])
    builder.output("y")
    graph = apply(builder.build(), (narrow_floats("float16", lambda graph, node: ("B",)),))
    assert kinds(graph) == ["MatMul float32"]
    assert graph.outputs == ("y",)


def test_integers_are_left_alone() -> None:
    builder = start()
    builder.add(ArgMax(1), ["x"], ["y"])
    graph = narrowed(builder, "y")
    assert kinds(graph) == ["Cast float16", "ArgMax int64"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_are_rounded_once(dtype: str) -> None:
    builder = start()
    builder.add(Mul(), ["x", builder.constant(np.float32(1 / 3), "third")], ["y"])
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    found = evaluate(narrowed(builder, "y", dtype=dtype), {"x": x})["y"]
    stored = x.astype(element(dtype)).astype(np.float32)
    np.testing.assert_array_equal(found, (stored * np.float32(1 / 3)).astype(element(dtype)).astype(np.float32))


def state_network() -> Builder:
    builder = start()
    before = builder.state("kept", np.zeros((3, 4), np.float32))
    builder.add(Add(), ["x", before], ["sum"])
    builder.set_next_state("kept", "sum")
    return builder


def test_states_of_layers_in_16_bits_are_so_too() -> None:
    builder = state_network()
    builder.add(Relu(), ["sum"], ["y"])
    graph = narrowed(builder, "y")
    assert graph.states[0].initial.dtype == np.float16
    assert kinds(graph) == ["Cast float16", "Add float16", "Relu float16", "Cast float32"]
    assert graph.states[0].after == "sum"


def test_states_behind_views_are_so_too() -> None:
    """Of a layer whose result nothing else reads."""
    builder = start()
    before = builder.state("kept", np.zeros((4, 3), np.float32))
    builder.add(Reshape((3, 4)), [before], ["old"])
    builder.add(Relu(), ["x"], ["now"])
    builder.add(Add(), ["old", "now"], ["sum"])
    builder.add(Reshape((4, 3)), ["sum"], ["next"])
    builder.set_next_state("kept", "next")
    builder.add(Sigmoid(), ["now"], ["y"])
    graph = narrowed(builder, "y")
    assert graph.states[0].initial.dtype == np.float16
    assert graph.types["sum"].dtype == "float16"


def test_a_state_that_somebody_reads_in_32_bits_stays() -> None:
    builder = state_network()
    builder.add(Sigmoid(), [builder.states["kept"].before], ["y"])
    graph = narrowed(builder, "y")
    assert graph.states[0].initial.dtype == np.float32
    assert graph.types[graph.states[0].after].dtype == "float32"


def test_one_layer_never_pays() -> None:
    builder = start()
    builder.add(Relu(), ["x"], ["a"])
    builder.add(Sigmoid(), ["a"], ["b"])
    w = builder.constant(np.ones((4, 4), np.float32), "w")
    builder.add(MatMul(), ["b", w], ["c"])
    builder.add(Relu(), ["c"], ["y"])
    assert kinds(narrowed(builder, "y")) == [
        "Relu float32", "Sigmoid float32", "Cast float16", "MatMul float16", "Relu float16", "Cast float32"
    ]  # fmt: skip
