"""Networks on targets with accelerators: right results, and the engine, the reason and the time they should have."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.accelerator.folders import ARRAY, QVANILLA, REQUANT, changed
from tilewright.analysis.explain import Explanation, explain
from tilewright.bringup.skeleton import new_folder
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.passes.int8_to_uint8 import UNSIGNED_IMAGES
from tilewright.pipeline import Compiled, stages
from tilewright.planner.program.program import CORES
from tilewright.program import Program
from tilewright.target.settings import Settings
from tilewright.target.target import Target

pytestmark = pytest.mark.in_turns(8)

TFLITE = Requant(0, "int8", -128, 127, zero_point=3, rounding="double")


def conv(builder: Builder, x: str, filters: int, stride: int = 1, requant: Requant | None = None, seed: int = 0) -> str:
    random, channels = np.random.default_rng(seed), builder.types[x].shape[1]
    requant = full_range(38, "int8", -3, "half_even") if requant is None else requant
    w = builder.constant(random.integers(-128, 128, (filters, channels, 3, 3)).astype(np.int8))
    b = builder.constant(random.integers(-999, 999, filters).astype(np.int32))
    mul = builder.constant(random.integers(2**29, 2**30, filters).astype(np.int32))
    exponents = builder.constant(random.integers(-9, -6, filters).astype(np.int32)) if requant is TFLITE else ""
    op = Conv((stride, stride), (1, 1), (1, 1, 1, 1), x_zero=5, requant=requant)
    return builder.add(op, [x, w, b, mul, exponents], name=f"conv{seed}")[0]


def chain(name: str = "x") -> Graph:
    """A layer that QVanilla takes, one whose stride it does not, and one with TensorFlow Lite's rounding."""
    builder = Builder("chain")
    x = builder.input(name, TensorType("int8", (1, 8, 12, 12)))
    y = conv(builder, x, 16, seed=1)
    y = conv(builder, y, 16, stride=2, seed=2)
    builder.output(conv(builder, y, 8, requant=TFLITE, seed=3))
    return builder.build()


def branches() -> Graph:
    """Two layers that do not need each other."""
    builder = Builder("branches")
    x = builder.input("x", TensorType("int8", (1, 8, 10, 10)))
    a, b = (conv(builder, x, 16, seed=seed) for seed in (1, 2))
    op = QLinearAdd(2**19, 2**19, 0, full_range(20, "int8", 0, "half_even"))
    builder.output(conv(builder, builder.add(op, [a, b])[0], 4, stride=2, seed=3))
    return builder.build()


def program(graph: Graph, target: str, *folders: object, placed: tuple[tuple[str, str], ...] = ()) -> Program:
    settings = Settings(accelerators=tuple(map(str, folders)), placed=placed)
    return Program(Compiled(*stages(graph, target, "net", settings)), "net", None, 0.0)


def engines(made: Program) -> list[str]:
    return [call.engine for call in made.compiled.schedule.layers]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["quad", "rv32", "cortex-m4"])
@pytest.mark.parametrize("folder", [QVANILLA, REQUANT, ARRAY], ids=lambda folder: folder.name)
def test_results_are_right(target: str, folder: Path) -> None:
    words = folder if folder == ARRAY else f"{folder}:cycles_per_mac=1"
    made = program(chain(), target, words)
    assert folder.name in engines(made)
    assert made.check().agrees


def test_a_tensor_called_like_the_parameters_of_a_job() -> None:
    """They stand beside it in one function."""
    text = program(chain("layer_0_params"), "rv32", f"{QVANILLA}:cycles_per_mac=1").files["network.c"]
    assert re.findall(r"const \w+ \*?(layer_0_params)\b", text) == ["layer_0_params"]


def test_in_python() -> None:
    made = tw.compile(chain_file(), target="quad", accelerators=[f"{QVANILLA}:cycles_per_mac=0"])
    assert made.check().agrees


def chain_file() -> bytes:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.INT8, [4, 6])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [4, 5])
    w = helper.make_tensor("w", TensorProto.INT8, [6, 5], list(range(30)))
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", [x], [y], [w])).SerializeToString()


def explained(made: Program) -> list[Explanation]:
    return explain(made.compiled.mapped, made.compiled.schedule)


@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_refusals_are_the_conditions_names(target: str) -> None:
    found = explained(program(chain(), target, QVANILLA))[1]
    refusal = next(one.refusal for one in found.candidates if one.engine == "qvanilla")
    assert refusal == "the stride must be 1 (stride_h is 2, stride_w is 2)"


@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_a_slow_accelerator_declines(target: str) -> None:
    made = program(chain(), target, f"{QVANILLA}:cycles_per_mac=500")
    assert "qvanilla" not in engines(made)
    found = next(one for one in explained(made)[0].candidates if one.engine == "qvanilla")
    assert (found.cycles or 0) > 10_000_000
    assert explained(made)[0].why.endswith("cycles faster than qvanilla")


@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_two_units_of_one_kind_work_at_the_same_time(target: str) -> None:
    slow = f"{REQUANT}:cycles_per_mac=1"
    one, two = (program(branches(), target, *[slow] * count) for count in (1, 2))
    assert set(engines(two)) >= {"qvanilla_requant", "qvanilla_requant_2"}
    alone, together = (made.check() for made in (one, two))
    assert alone.agrees
    assert together.agrees
    assert together.result.cycles is not None
    assert alone.result.cycles is not None
    job = 16 * 8 * 9 * 100
    assert alone.result.cycles - together.result.cycles > 0.8 * job


def test_totals_of_two_units_wait_for_no_scratch() -> None:
    made = program(branches(), "rv32", QVANILLA, QVANILLA)
    assert engines(made)[:2] == ["qvanilla", "qvanilla_2"]
    assert made.compiled.schedule.program.agents[CORES][1].before == ()
    assert made.check().agrees


@pytest.mark.parametrize("target", ["quad", "rv32"])
def test_two_accelerators_at_once(tmp_path: Path, target: str) -> None:
    new_folder("products", tmp_path / "products", True)
    builder = Builder("both")
    builder.output(conv(builder, builder.input("x", TensorType("int8", (1, 8, 10, 10))), 16))
    w = builder.constant(np.random.default_rng(0).integers(-128, 128, (64, 32)).astype(np.int8))
    rows = builder.input("rows", TensorType("int8", (64, 64)))
    builder.output(builder.add(MatMul(), [rows, w])[0])
    made = program(builder.build(), target, f"{QVANILLA}:cycles_per_mac=0", tmp_path / "products")
    assert set(engines(made)) == {"qvanilla", "products"}
    assert made.check().agrees


def test_beside_a_targets_own_npu() -> None:
    made = program(chain(), "siracusa", f"{REQUANT}:cycles_per_mac=0")
    assert "qvanilla_requant" in engines(made)
    assert made.check().agrees


def signed_images(kernel: int = 3) -> Graph:
    """Every image could be unsigned, as Siracusa's NPU wants it; it computes kernels of 3 x 3."""
    builder = Builder("signed")
    y = builder.input("x", TensorType("int8", (1, 8, 12, 12)))
    random = np.random.default_rng(0)
    for number in range(3):
        w = builder.constant(random.integers(-128, 128, (8, 8, kernel, kernel)).astype(np.int8))
        mul = builder.constant(random.integers(2**27, 2**28, 8).astype(np.int32))
        requant = full_range(38, "int8", -128, "half_even")
        op = Conv((1, 1), (1, 1), (kernel // 2,) * 4, x_zero=-128, requant=requant)
        y = builder.add(op, [y, w, "", mul], name=f"conv{number}")[0]
    builder.output(y)
    return builder.build()


def test_layers_of_int8_stay_int8_beside_an_npu_of_uint8() -> None:
    """The accelerator takes signed images."""
    alone = program(signed_images(5), "siracusa")
    assert "uint8" in images(alone)
    assert not any("int8" in note for note in alone.analysis.notes)
    made = program(signed_images(5), "siracusa", f"{REQUANT}:cycles_per_mac=0")
    assert engines(made) == ["qvanilla_requant"] * 3
    assert images(made) == {"int8"}
    assert any("images stay int8 for qvanilla_requant" in note for note in made.analysis.notes)
    assert made.check().agrees


def test_images_become_uint8_where_an_npu_is_faster_with_them() -> None:
    alone = program(signed_images(), "siracusa")
    made = program(signed_images(), "siracusa", f"{QVANILLA}:cycles_per_mac=40")
    assert "qvanilla" not in engines(made)
    assert images(made) == images(alone)
    assert made.compiled.schedule.placed.predicted == alone.compiled.schedule.placed.predicted
    assert any("images that qvanilla could read as int8 become uint8" in note for note in made.analysis.notes)


def test_images_stay_int8_around_the_layers_alone_that_an_accelerator_computes() -> None:
    made = program(signed_images(), "siracusa", f"{QVANILLA}:cycles_per_mac=0").compiled.schedule.target
    assert made.alternatives is not None
    some, *_, none = made.alternatives(made, frozenset({("qvanilla", "conv0"), ("neureka", "conv1")}))
    kept = [sum(kind.dtype == "int8" for kind in _unsigned(one).types.values()) for one in (some, none)]
    assert kept[0] > kept[1]


def _unsigned(target: Target) -> Graph:
    return next(one for one in target.passes if one.name == UNSIGNED_IMAGES).run(signed_images())


def images(made: Program) -> set[str]:
    graph = made.compiled.schedule.graph
    return {graph.types[call.node.inputs[0]].dtype for call in made.compiled.schedule.layers}


def test_none_on_this_machine() -> None:
    with pytest.raises(CompileError, match="runs on this machine, where there are no accelerators"):
        program(chain(), "generic", QVANILLA)


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    words = changed(QVANILLA, tmp_path, "accelerator.py", ('start="control",', 'start="control", base=0x30000000,'))
    with pytest.raises(CompileError, match="qvanilla: lies over event unit at 0x30000000"):
        program(chain(), "quad", words)
