"""Products of one row, which two threads share in whole blocks of columns; the last block is not full."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, default_rng

from tests.targets.cpu.test_scaled import Model, weights
from tilewright import pipeline
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, type_of
from tilewright.ops.matmul import MatMul
from tilewright.planner.schedule.interpret import interpret
from tilewright.target.settings import Settings

LENGTH, COLUMNS = 256, 331


def floats_and_bytes(random: Generator) -> tuple[Graph, dict[str, Array]]:
    builder, feeds = Builder("rows"), dict[str, Array]()
    x, bytes_ = random.standard_normal((1, LENGTH)).astype(np.float32), weights(random, 1, LENGTH)
    values = [random.integers(-99, 99, COLUMNS).astype(np.int32), np.full(COLUMNS, 2**28, np.int32)]
    for name, op, row, constants in (
        ("x", MatMul(), x, [random.standard_normal((LENGTH, COLUMNS)).astype(np.float32)]),
        ("b", MatMul(requant=full_range(36, "int8")), bytes_, [weights(random, LENGTH, COLUMNS), *values]),
    ):
        feeds[builder.input(name, type_of(row))] = row
        builder.output(builder.add(op, [name, *map(builder.constant, constants)])[0])
    return builder.build(), feeds


def dynamic(random: Generator) -> tuple[Graph, dict[str, Array]]:
    made = Model()
    row = random.standard_normal((1, LENGTH)).astype(np.float32)
    made.layer(random, "MatMulInteger", row, weights(random, LENGTH, COLUMNS), relu=True)
    return made.graph(), made.inputs


def test_threads_share_a_row() -> None:
    for graph, feeds in (floats_and_bytes(default_rng(1)), dynamic(default_rng(2))):
        found = pipeline.Compiled(*pipeline.stages(graph, "cpu", "", Settings(cpu="x86-64-v3", threads=2)))
        products = [layer for layer in found.schedule.layers if layer.node.op.multiplies]
        assert [layer.tiles for layer in products] == [2] * len(graph.outputs)
        wanted, ran = evaluate(found.quantised, feeds), interpret(found.schedule, feeds)
        for reference, tensor in zip(found.quantised.outputs, found.schedule.graph.outputs, strict=True):
            np.testing.assert_allclose(ran[tensor], wanted[reference], 0.0, 1e-4)
