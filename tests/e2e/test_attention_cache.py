"""Attention of a cache: what is behind the queries changes nothing, on the host and on the virtual SoC."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.attention_cases import BYTE_TABLE, softmax_of, wide_table
from tests.support.movement import values
from tilewright import pipeline
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops._scaling import Scaling
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.program import Program
from tilewright.target.settings import Settings

KEYS, HEADS, GROUPS, LENGTH = 24, 4, 2, 8


def attention(queries: int, wide: bool, keys: int = KEYS) -> tuple[Graph, QLinearAttention, Array]:
    softmax, _, scores = softmax_of(wide, "int8")
    table = wide_table(5, 200) if wide else BYTE_TABLE
    op = QLinearAttention(
        causal=True, q_zero=2, k_zero=0 if wide else -3, v_zero=1, softmax=softmax,
        score=Scaling(911865657, 0, full_range(38 if wide else 42, scores, 0, "half_even")),
        mix=Scaling(811865657, 0, full_range(37, "int8", -2, "half_even")),
    )  # fmt: skip
    builder = Builder("attention")
    shapes = {"q": (1, queries, HEADS, LENGTH), "k": (1, keys, GROUPS, LENGTH), "v": (1, keys, GROUPS, LENGTH)}
    inputs = [
        builder.input(name, TensorType("int16" if wide and name == "k" else "int8", shape))
        for name, shape in shapes.items()
    ]
    position = builder.input("position", TensorType("int32", (1,)))
    builder.output(builder.add(op, [*inputs, builder.constant(table), position])[0])
    return builder.build(), op, table


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("target", ["generic", "siracusa", "quad"])
def test_positions(target: str, queries: int, wide: bool) -> None:
    graph, op, table = attention(queries, wide)
    made = pipeline.Compiled(*pipeline.stages(graph, target, "attention", Settings()))
    program, random = Program(made, "attention", None, 0.0), np.random.default_rng(4)
    for position in (0, 3, KEYS - queries):
        feeds = {name: values(random, graph.types[name].shape, graph.types[name].dtype) for name in "qkv"}
        at = np.array([position], np.int32)
        (found,) = program.run({**feeds, "position": at}).outputs.values()
        np.testing.assert_array_equal(found, op.numpy(feeds["q"], feeds["k"], feeds["v"], table, at))


@pytest.mark.in_turns(3)
def test_work_grows_with_what_is_seen() -> None:
    graph, _, _ = attention(1, wide=False, keys=256)
    made = pipeline.Compiled(*pipeline.stages(graph, "siracusa", "attention", Settings()))
    program, random = Program(made, "attention", None, 0.0), np.random.default_rng(4)
    feeds = {name: values(random, graph.types[name].shape, graph.types[name].dtype) for name in "qkv"}
    short, long = (program.run({**feeds, "position": np.array([at], np.int32)}).cycles for at in (15, 255))
    assert short is not None
    assert long is not None
    assert short < 0.5 * long
