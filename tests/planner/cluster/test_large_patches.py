"""Transformed patches of many channels are cut until L1 has room for them; otherwise blocks take their place."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.target.settings import Settings


def graph(op: Op, *shapes: tuple[int, ...]) -> Graph:
    """Of an operator with constants behind the first operand."""
    b = Builder("wide")
    first, *others = shapes
    operands = [b.input("x", TensorType("float32", first))]
    operands += [b.constant(np.ones(shape, np.float32), f"c{i}") for i, shape in enumerate(others)]
    b.output(b(op, operands)[0], "y")
    return b.build()


@pytest.mark.parametrize(
    ("graph", "kernel"),
    [
        (graph(Conv(padding=(1,) * 4, channels_last=True), (1, 8, 8, 64), (16, 3, 3, 64)), "conv_winograd_f32"),
        (graph(Conv(padding=(1,) * 4, channels_last=True), (1, 8, 8, 256), (16, 3, 3, 256)), "conv_winograd_f32"),
        (
            graph(
                ConvWeightGrad(padding=(1,) * 4, kernel=(3, 3), channels_last=True), (1, 64, 64, 16), (1, 64, 64, 16)
            ),
            "conv_weight_grad_blocks",
        ),
    ],
    ids=["narrow", "wide", "gradient"],
)
def test_cores_work_in_l1(graph: Graph, kernel: str) -> None:
    plan = pipeline.stage(graph, "siracusa", "tiled", settings=Settings(time_limit=1.0))
    options = [step.option for step in plan.steps if isinstance(step.option.node.op, Conv | ConvWeightGrad)]
    assert {(option.kernel.stem, option.mode) for option in options} == {(kernel, "cooperative")}


def test_operands_from_l2_are_met_in_l1() -> None:
    """Patches would leave room for them only if they were in L1 before."""
    b = Builder("wide")
    x = b.input("x", TensorType("float32", (1, 128, 8, 8)))
    w = b.constant(np.ones((16, 128, 3, 3), np.float32), "w")
    b.output(b(Conv(padding=(1,) * 4), [x, w])[0], "y")
    plan = pipeline.stage(b.build(), "siracusa", "tiled", settings=Settings(time_limit=1.0))
    assert "in_place" not in {step.option.mode for step in plan.steps}
