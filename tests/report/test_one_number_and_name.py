"""A layer has one number and one name wherever it is shown."""

import re

import numpy as np
import pytest

import tilewright as tw
from tests.support.models import model, node
from tilewright.analysis.explain import explain
from tilewright.ir.short_names import short_names
from tilewright.profiling.profilers import maps
from tilewright.program import Program

FUSED = [
    "net/act/Relu;net/norm/Fused;net/conv/BiasAdd/ReadVariableOp/resource;net/conv_4/Conv2D;net/conv/Conv2D1",
    "net/act_1/Relu;net/norm_1/Fused;net/dw/depthwise;net/conv_4/Conv2D;net/dw/BiasAdd/ReadVariableOp/resource1",
    "net/act_2/Relu;net/norm_2/Fused;net/dw_1/depthwise;net/conv_4/Conv2D;net/dw_1/BiasAdd/ReadVariableOp/resource1",
]


@pytest.mark.fast
def test_long_names_become_the_shortest_tail_that_no_other_has() -> None:
    assert list(short_names(FUSED).values()) == ["Conv2D1", "act_1/Relu", "act_2/Relu"]
    same = ["module.layers.0.attention.query.projection", "module.layers.1.attention.query.projection", "short/name"]
    assert list(short_names(same).values()) == [
        "0.attention.query.projection", "1.attention.query.projection", "short/name",
    ]  # fmt: skip
    assert short_names(["x" * 40, "a/" + "x" * 40]) == {"x" * 40: "x" * 40, "a/" + "x" * 40: "a/" + "x" * 40}


def program(target: str) -> Program:
    random = np.random.default_rng(0)
    weights = {f"w{at}": random.normal(size=(4, 4)).astype(np.float32) for at in range(3)}
    nodes = [
        node("MatMul", "x w0", "a", name=FUSED[0]), node("Reshape", "a wide", "view", name="a/view"),
        node("Softmax", "view", "s", name=FUSED[1]), node("Reshape", "s back", "r", name="another/view"),
        node("MatMul", "r w1", "y", name=FUSED[2]),
    ]  # fmt: skip
    shapes = {"wide": np.array([1, 4, 4], np.int64), "back": np.array([4, 4], np.int64)}
    return tw.compile(model(nodes, {"x": (4, 4)}, ["y"], {**weights, **shapes}), target=target)


WANTED = ["0 Conv2D1", "1 act_1/Relu", "2 act_2/Relu"]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["cortex-m4", "siracusa"])
def test_all_that_is_shown_agrees(target: str) -> None:
    made = program(target)
    compiled, rows = made.compiled, made.analysis.layers
    assert [f"{row.number} {row.short_name}" for row in rows if row.number is not None] == WANTED
    reasons = enumerate(explain(compiled.mapped, compiled.schedule))
    assert [f"{number} {one.short_name}" for number, one in reasons] == WANTED
    measured = made.profile().profile.layers
    assert [f"{layer.number} {layer.shown}" for layer in measured] == WANTED
    for memory in maps(compiled.schedule, compiled.allocation, whole=True):
        assert [step for step in memory.steps if not step.startswith("(")] == WANTED
    titles = re.findall(r"/\* (\d+): ([^ ]+) \(", compiled.files["network.c"])
    assert list(dict.fromkeys(titles)) == [(str(number), name) for number, name in enumerate(FUSED)]
