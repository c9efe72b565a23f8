"""Several operators as one job of a device: what they mean, where they are found, and when they stay apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.accelerator.folders import RESIDUAL, changed
from tests.accelerator.test_networks import conv, engines, explained, program
from tests.support.tiled import evaluate_tiled
from tilewright.accelerator.chains import Chained, chained, same_axes
from tilewright.accelerator.declaration import Pattern
from tilewright.accelerator.folder import read_folder
from tilewright.accelerator.following import found_chain
from tilewright.accelerator.samples import Sample, sample
from tilewright.bringup.check import check_folder
from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.relu import Relu
from tilewright.ops.reshape import Reshape
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.pipeline import Compiled, stages
from tilewright.program import Program
from tilewright.target.params import params_of
from tilewright.target.settings import Settings

SUM = QLinearAdd(2**19, 3 * 2**18, 77, full_range(20, "int8", 0, "half_even"))
CHAINS = [
    ("Conv", ("requantise", "QLinearAdd")),
    ("Conv", ("requantise", "QLinearAdd", "MaxPool")),
    ("Conv", ("requantise", "Conv", "requantise")),
    ("Conv", ("requantise", "Lookup")),
    ("MatMul", ("Relu",)),
    ("MatMul", ("requantise", "MatMul")),
    ("MaxPool", ("TfliteAdd",)),
]


def residual(first: bool) -> Graph:
    """A layer whose result is the first or the second summand."""
    builder = Builder("residual")
    x = conv(builder, builder.input("x", TensorType("int8", (1, 8, 12, 12))), 8, seed=1)
    y = conv(builder, x, 8, seed=2)
    y = builder.add(SUM, [y, x] if first else [x, y], name="sum")[0]
    builder.output(conv(builder, y, 8, seed=3))
    return builder.build()


def layer(chain: tuple[str, ...], op: str, layout: str, seed: int) -> Sample:
    for attempt in range(30):
        try:
            made = sample(
                np.random.default_rng(30 * seed + attempt), Pattern("any", op, {}, chain=chain, layout=layout)
            )
            assert made.types
            return made
        except Refusal:
            continue
    raise AssertionError("no layer")


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("op", "chain"), CHAINS, ids=lambda value: "+".join(value) if value else "")
@pytest.mark.parametrize("layout", ["channels first", "channels last"])
def test_in_tiles_it_is_the_same(op: str, chain: tuple[str, ...], layout: str) -> None:
    for seed in range(6):
        made = layer(chain, op, layout, seed)
        whole = made.op.numpy(*made.arrays)
        tile = dict.fromkeys(made.op.extents({n: t.shape for n, t in made.types.items() if n[0] != "Y"}), 1 + seed)
        np.testing.assert_array_equal(evaluate_tiled(made.op, made.arrays, tile)[0], whole)


@pytest.mark.fast
def test_names_of_what_follows_have_a_number() -> None:
    tried = (layer(("requantise", "QLinearAdd", "MaxPool"), "Conv", "channels first", seed) for seed in range(9))
    made = next(one for one in tried if one.op.parts[0].groups == 1)  # type: ignore[attr-defined]
    assert made.op.operands == ("X", "W", "B?", "mul?", "add?", "B2")
    assert made.op.results == ("Y3",)
    assert made.op.kind == "Conv+QLinearAdd+MaxPool"
    assert {"requant_shift", "requant_shift2", "kernel_h", "kernel_h3", "mul_a2"} <= set(params_of(made.op, made.types))
    shapes = {name: kind.shape for name, kind in made.types.items() if name != "Y3"}
    assert {"f", "y", "y3"} <= set(made.op.extents(shapes))
    assert {"y", "y3"} <= made.op.unsplittable(shapes)
    assert not {"n", "f"} & made.op.unsplittable(shapes)


@pytest.mark.fast
@pytest.mark.parametrize("op", [SUM, QLinearMul(3, -4, 2**20, full_range(30, "int8", 0, "half_even")), TfliteAdd()])
def test_swapped_operands(op: QLinearAdd | QLinearMul | TfliteAdd) -> None:
    a, b = np.random.default_rng(0).integers(-128, 128, (2, 50)).astype(np.int8)
    np.testing.assert_array_equal(op.swapped().numpy(b, a), op.numpy(a, b))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["rv32", "quad"])
@pytest.mark.parametrize("first", [True, False])
def test_a_residual_block(target: str, first: bool) -> None:
    made = program(residual(first), target, RESIDUAL)
    found = [call for call in made.compiled.schedule.layers if call.engine == "residual"]
    assert [call.node.name for call in found] == ["conv1", "conv2 + sum", "conv3"]
    assert isinstance(found[1].node.op, Chained)
    assert found[1].kernel.stem == "residual_conv_add"
    assert made.check().agrees


PLACED = [
    ({}, {"conv2 + sum": "residual"}),
    ({"sum": "cluster"}, {"conv2": "residual", "sum": "cluster"}),
    ({"conv2 + sum": "cluster"}, {"conv2": "cluster", "sum": "cluster"}),
    ({"conv2": "residual"}, {"conv2 + sum": "residual"}),
]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("placed", "expected"), PLACED, ids=["free", "sum", "both", "joined"])
def test_layers_of_a_chain_are_placed(placed: dict[str, str], expected: dict[str, str]) -> None:
    settings = Settings(accelerators=(str(RESIDUAL),), placed=tuple(placed.items()))
    made = Program(Compiled(*stages(residual(True), "quad", "net", settings)), "net", None, 0.0)
    found = {call.node.name: call.engine for call in made.compiled.schedule.layers}
    assert {name: found.get(name) for name in expected} == expected
    assert made.check().agrees


def flat(is_constant: bool) -> Graph:
    """A Reshape between a layer and a sum, whose other summand may be a constant."""
    builder = Builder("flat")
    x = conv(builder, builder.input("x", TensorType("int8", (1, 8, 12, 12))), 8, seed=1)
    y = builder.add(Reshape((1, 8, 144)), [conv(builder, x, 8, seed=2)], name="flat")[0]
    other = np.random.default_rng(0).integers(-128, 128, (1, 8, 144)).astype(np.int8)
    z = builder.constant(other) if is_constant else builder.add(Reshape((1, 8, 144)), [x], name="also flat")[0]
    builder.output(builder.add(SUM, [z, y], name="sum")[0])
    return builder.build()


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("is_constant", [True, False])
def test_a_reshape_breaks_no_chain(is_constant: bool) -> None:
    """Of a sum behind it, the other summand is seen in the shape that the convolution gives."""
    made = program(flat(is_constant), "rv32", RESIDUAL)
    assert "conv2 + sum" in [call.node.name for call in made.compiled.schedule.layers]
    assert made.check().agrees


def test_sums_behind_a_reshape_in_tiles() -> None:
    pooled = chained([MaxPool((2, 2), (2, 2)), MatMul()], [None, (2, 12)])
    random = np.random.default_rng(0)
    arrays = [random.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 3, 4, 4), (12, 5))]
    shapes = {"X": (2, 3, 4, 4), "B2": (12, 5)}
    assert not pooled.mixed_by_view(shapes)
    whole = pooled.numpy(*arrays)
    np.testing.assert_array_equal(whole, arrays[0].reshape(2, 3, 4, 4)[:, :, ::2, ::2].reshape(2, 12) @ arrays[1])
    tiles = evaluate_tiled(pooled, arrays, dict.fromkeys(pooled.extents(shapes), 1))
    np.testing.assert_array_equal(tiles[0], whole)


@pytest.mark.fast
def test_axes_that_a_reshape_keeps() -> None:
    assert same_axes((1, 8, 1, 1), (1, 8)) == [(0, 0), (1, 1)]
    assert same_axes((2, 3, 4), (6, 4)) == [(2, 1)]
    mixed = chained([MatMul(), MatMul()], [None, (3, 4)])
    assert mixed.mixed_by_view({"A": (6, 5), "B": (5, 2), "B2": (4, 3)}) == "MatMul"


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("target", ["rv32", "quad"])
def test_random_jobs(target: str) -> None:
    assert [(found.pattern, found.jobs) for found in check_folder(str(RESIDUAL), target, jobs=3)] == [
        ("residual_conv_add", 3), ("residual_conv", 3),
    ]  # fmt: skip


@pytest.mark.in_turns(3)
def test_it_stays_apart_where_that_is_faster(tmp_path: Path) -> None:
    slow = changed(
        RESIDUAL, tmp_path, "accelerator.py",
        ("    **SAME,\n)  # fmt: skip\nCONV_ALONE", '    **SAME, cycles="1e9",\n)  # fmt: skip\nCONV_ALONE'),
    )  # fmt: skip
    made = program(residual(True), "rv32", slow)
    kinds = {call.node.op.kind for call in made.compiled.schedule.layers}
    assert "Conv+QLinearAdd" not in kinds
    assert "QLinearAdd" in kinds
    assert made.check().agrees


@pytest.mark.in_turns(5)
def test_a_device_for_chains_alone_says_why_not(tmp_path: Path) -> None:
    folder = changed(
        RESIDUAL, tmp_path, "accelerator.py", ("(CONV_ADD, CONV_ALONE)", "(CONV_ADD,)"), ("/ lanes)", "* lanes)")
    )
    made = program(residual(True), "rv32", f"{folder}:lanes=1000")
    reasons = [one.refusal for found in explained(made) for one in found.candidates if one.engine == "residual"]
    assert any("joined with sum it would take" in reason and "apart" in reason for reason in reasons)
    assert reasons[-1] == "no QLinearAdd follows"


FLOATS = """
from tilewright.accelerator import Accelerator, Condition, Pattern, Poll, registers

PLAIN = (
    Condition("it must be one product", "rank == 0 and a_column == 1 and c_row == 0"),
    Condition("B must lie row by row", "b_column == 1"),
)
ACCELERATOR = Accelerator(
    name="floats", summary="float products",
    registers=registers("a b bias result rows inner columns start:w done:r"),
    patterns=(Pattern(
        "relu", "MatMul", chain=("Relu",), types={"A": "float32", "B": "float32", "C": "float32"}, required=("C",),
        conditions=PLAIN, writes={"a": "A", "b": "B", "bias": "C", "result": "Y2", "rows": "rows", "inner": "inner",
        "columns": "columns"},
    ),),
    start="start", done=Poll("done"),
)
"""
FLOAT_MODEL = """
import numpy as np

from tilewright.accelerator import AcceleratorDevice
from tilewright.target.params import params_of
from tilewright.target.settings import Settings


class Device(AcceleratorDevice):
    def cycles(self, r):
        return r.rows * r.inner * r.columns

    def compute(self, r):
        a, b = self.load(r.a, (r.rows, r.inner), "float32"), self.load(r.b, (r.inner, r.columns), "float32")
        self.store(r.result, np.maximum(a @ b + self.load(r.bias, r.columns, "float32"), 0))
"""


@pytest.mark.in_turns(3)
def test_an_activation_of_floats(tmp_path: Path) -> None:
    """The cores' kernels have it as a part of the product."""
    (tmp_path / "accelerator.py").write_text(FLOATS)
    (tmp_path / "device.py").write_text(FLOAT_MODEL)
    builder, random = Builder("floats"), np.random.default_rng(0)
    x = builder.input("x", TensorType("float32", (4, 16)))
    w, b = (builder.constant(random.standard_normal(shape).astype(np.float32)) for shape in ((16, 8), (8,)))
    y = builder.add(MatMul(), [x, w, b])[0]
    builder.output(builder.add(Relu(), [y])[0])
    made = program(builder.build(), "rv32", tmp_path)
    assert engines(made) == ["floats"]
    assert made.check().agrees
    assert [found.jobs for found in check_folder(str(tmp_path), "rv32", jobs=3)] == [3]


@pytest.mark.fast
def test_what_else_may_follow() -> None:
    graph = residual(True)
    with pytest.raises(Refusal, match="its result is read more than once"):
        found_chain(Pattern("any", "Conv", {}, chain=("QLinearAdd",)), graph, graph.nodes[0])
    for chain, said in (
        (("MaxPool",), "QLinearAdd follows, not MaxPool"),
        (("QLinearAdd", "Relu"), "Conv follows, not Relu"),
    ):
        with pytest.raises(Refusal, match=said):
            found_chain(Pattern("any", "Conv", {}, chain=chain), graph, graph.nodes[1])


@pytest.mark.fast
@pytest.mark.parametrize(
    ("chain", "said"),
    [
        ('("requantise", "QLinearSum")', "'QLinearSum' cannot be part of a chain"),
        ('("requantise", "Gemm")', "Gemm is replaced by other operators before accelerators are considered"),
        ('("requantise", "QLinearAdd", "requantise")', "'requantise' is no choice of QLinearAdd"),
        ('("requantise", "Concat")', "Concat cannot be part of a chain"),
        ('("requantise", "Relu")', "Conv\\\\+Relu has no operand 'B2'"),
    ],
)
def test_wrong_chains(tmp_path: Path, chain: str, said: str) -> None:
    words = changed(RESIDUAL, tmp_path, "accelerator.py", ('("requantise", "QLinearAdd")', chain))
    with pytest.raises(CompileError, match=said.replace("\\\\", "\\")):
        read_folder(words)
