"""Layers between processor and GPU: by cost, and as a user asks for it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.gpu.fake import Fake
from tilewright import pipeline
from tilewright.analysis.explain import explain
from tilewright.errors import CompileError
from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.cumsum import CumSum
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings

BOTH = Settings(engines=("cpu", "gpu"))


def network(size: int = 64) -> Graph:
    """Two branches that meet, of which the processor alone computes one; a third is an output of its own."""
    builder, random = Builder("mixed"), np.random.default_rng(0)
    x = builder.input("x", TensorType("float32", (size, size)))
    weights = builder.constant(random.standard_normal((size, size)).astype(np.float32) / 8, "weights")
    (positive,) = builder.add(Relu(), [x], name="first")
    (summed,) = builder.add(CumSum(0), [positive], name="summed")
    (product,) = builder.add(MatMul(), [positive, weights], name="product")
    (again,) = builder.add(MatMul(), [product, weights], name="again")
    (met,) = builder.add(Mul(), [again, summed], name="met")
    (last,) = builder.add(CumSum(1), [met], name="last")
    builder.output(last, "y")
    builder.output(product, "z")
    return builder.build()


def engines(graph: Graph, settings: Settings) -> dict[str, str]:
    schedule: Schedule = pipeline.stage(graph, "gpu", "schedule", settings=settings)
    copies = ("Upload", "Download")
    return {layer.node.name: layer.engine for layer in schedule.layers if layer.node.op.kind not in copies}


@pytest.mark.fast
def test_the_choice_follows_from_costs() -> None:
    """What is small stays with the processor where engines are weighed, and goes to the GPU where they are not."""
    small, large = engines(network(4), BOTH), engines(network(256), BOTH)
    assert set(small.values()) == {"cpu"}
    assert {large["product"], large["again"]} == {"gpu"}
    assert engines(network(4), Settings())["product"] == "gpu"


@pytest.mark.fast
def test_layers_are_placed() -> None:
    assert engines(network(), Settings(placed=(("product", "cpu"),)))["product"] == "cpu"
    assert engines(network(4), Settings(engines=("cpu", "gpu"), placed=(("product", "gpu"),)))["product"] == "gpu"
    with pytest.raises(CompileError, match="it has no kernel for CumSum"):
        engines(network(), Settings(placed=(("summed", "gpu"),)))


@pytest.mark.fast
def test_costs_are_told() -> None:
    results = list(pipeline.stages(network(256), "gpu", settings=BOTH, predicts=True))
    told = explain(results[-3], results[-1])
    assert {one.why for one in told if one.operator == "Upload"} == {"a copy to the memory of gpu"}
    found = {one.node: one.why for one in told if one.operator not in ("Upload", "Download")}
    assert " ns faster than cpu" in found["again"]
    assert found["summed"] == "no other engine supports it"


@pytest.mark.fast
def test_cores_work_while_the_gpu_does() -> None:
    """The GPU's layers come first, what the cores need of them is asked for at once, and waited for when they need
    it."""
    text = pipeline.compile_graph(network(), "gpu").files["network.c"]
    marks = ["tw_gpu_each_relu_f32(&", "tw_gpu_download_f32(&", "has ended", "tw_gpu_start();", "tw_cumsum_f32(&"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.index("matmul") < text.index("tw_cumsum_f32(&")


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("settings", [Settings(), BOTH, Settings(placed=(("again", "cpu"),))])
def test_results_are_right(fake: Fake, settings: Settings) -> None:
    graph = network()
    compiled = pipeline.Compiled(*pipeline.stages(graph, "gpu", settings=settings))
    f = fake.loaded(compiled)
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    wanted = evaluate_outputs(graph, {"x": x})
    for _ in range(4):
        for one, exact in zip(f(x), wanted.values(), strict=True):
            np.testing.assert_allclose(one, exact, rtol=1e-4, atol=1e-4)
