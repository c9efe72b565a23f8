"""Constants that kernels read where they lie in the weight memory."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from tilewright.target.settings import Settings

ROWS, LENGTH, TOKENS = 40_000, 64, 3
"""More than L2 holds."""


def lookups(constant: bool = True, rows: int = ROWS) -> onnx.ModelProto:
    """Rows of a large table, and their sum with something."""
    table = np.random.default_rng(1).integers(-128, 128, (rows, LENGTH)).astype(np.int8)
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, (TOKENS,))]
    if not constant:
        inputs.append(helper.make_tensor_value_info("table", TensorProto.INT8, (rows, LENGTH)))
    output = helper.make_tensor_value_info("y", TensorProto.INT8, (TOKENS, LENGTH))
    constants = [numpy_helper.from_array(table, "table")] if constant else []
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["y"])], "g", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def compiled(model: onnx.ModelProto, **settings: bool) -> tw.Program:
    return tw.compile(model, target="siracusa", settings=Settings(**settings))


def kernels(program: tw.Program) -> list[str]:
    return [step.option.kernel.stem for step in program.plan.steps]


@pytest.mark.in_turns(3)
def test_rows_of_a_large_table_are_read_where_they_lie() -> None:
    program = compiled(lookups())
    assert kernels(program) == ["gather_resident"]
    assert program.plan.homes["table"].memory == "WMEM"
    check = program.check({"ids": np.array([0, ROWS - 1, 12345])})
    assert check.agrees
    assert check.result.cycles is not None
    assert check.result.cycles < 5000


@pytest.mark.parametrize(
    ("model", "settings"),
    [(lookups(), {"weight_memory": False}), (lookups(rows=200), {}), (lookups(constant=False, rows=6000), {})],
    ids=["without weight memory", "small", "not constant"],
)
def test_other_tables_are_not(model: onnx.ModelProto, settings: dict[str, bool]) -> None:
    assert "gather_resident" not in kernels(compiled(model, **settings))


def head(length: int, words: int) -> onnx.ModelProto:
    random = np.random.default_rng(2)
    weight = random.integers(-127, 128, (length, words)).astype(np.int8)
    scales = [np.array(0.05, np.float32), np.full(words, 0.01, np.float32), np.array(0.5, np.float32)]
    zeros = [np.array(0, np.int8), np.zeros(words, np.int8), np.array(0, np.int8)]
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    node = helper.make_node("QLinearMatMul", names, ["y"])
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT8, (1, length))]
    output = helper.make_tensor_value_info("y", TensorProto.INT8, (1, words))
    values = {"w": weight, "x_scale": scales[0], "w_scale": scales[1], "y_scale": scales[2]}
    values |= dict(zip(("x_zero", "w_zero", "y_zero"), zeros, strict=True))
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph([node], "g", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.in_turns(5)
def test_weights_of_an_accelerator_need_no_room_in_l2() -> None:
    program = compiled(head(1024, 2_200))  # more bytes than L2 has
    assert {home.memory for home in program.plan.homes.values()}.isdisjoint({"L3"})
    assert program.check(program.random_inputs()).agrees
