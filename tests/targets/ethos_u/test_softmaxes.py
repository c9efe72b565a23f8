"""Softmax on the NPU: a stream of ours, and the numbers that it has."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from tilewright.ir.evaluate import evaluate_outputs
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Shape, TensorType, limits
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.qlinearsoftmax import EXP_BITS, NUMERATOR_BITS, QLinearSoftmax
from tilewright.sim.ethos_u.configurations import CONFIGURATIONS
from tilewright.targets.ethos_u import softmax_stream
from tilewright.targets.ethos_u.numerics import ETHOS_U_NUMERICS
from tilewright.targets.ethos_u.parts import why_on_core, with_parts

REASON = "pip install 'tilewright[ethos-u]'"
NPU = "ethos-u55-128"


def softmax_of(shape: Shape, scale: float, levels: float, zero: int = -128, axis: int = -1) -> Graph:
    """As readers give it: `scale` is that of the input, and 1 is so many steps of the result."""
    builder = Builder("softmax")
    x = builder.input("X", TensorType("int8", shape))
    table = builder.constant(np.rint(np.exp(-np.arange(ENTRIES) * scale) * 2.0**EXP_BITS).astype(np.int32))
    shift = NUMERATOR_BITS - 1 - int(np.ceil(np.log2(levels)))
    requant = Requant(shift, "int8", *limits("int8"), zero, Rounding.HALF_EVEN)
    op = QLinearSoftmax(axis % len(shape), round(levels * 2**shift), requant)
    builder.output(builder.add(op, [x, table], ["Y"], "softmax")[0])
    return builder.build()


def rows_of(random: Generator, shape: Shape) -> np.ndarray:
    """Some far from each other, some near, some all the same."""
    wide = np.clip(random.normal(0, 12, shape), -128, 127).astype(np.int8)
    wide[:: int(random.integers(2, 5))] = random.integers(-128, 128, shape[-1], np.int8)
    wide[-1] = random.integers(-128, 128)
    return wide


def drawn(random: Generator) -> Shape:
    count = int(random.choice([1, 7, 9, 32, 53, 130, 700]))
    return -(-int(random.integers(1024, 5000)) // count), count


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("npu", "seed"), list(zip(cycle(CONFIGURATIONS), range(6), strict=False)))
def test_streams_give_what_nodes_give(npu: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ethosu.vela", reason=REASON)
    random = default_rng(seed)
    monkeypatch.setattr(softmax_stream, "MOST_STRIP", int(random.choice([1 << 13, 1 << 16])))
    shape = drawn(random)
    levels, zero = float(random.choice([99, 256, 354.2, 3000])), int(random.choice([-128, 3]))
    graph = ETHOS_U_NUMERICS.run(softmax_of(shape, float(random.uniform(0.005, 0.2)), levels, zero))
    made = with_parts(npu, None, graph)
    assert [node.op.kind for node in made.nodes] == ["EthosU"]
    given = {"X": rows_of(random, shape)}
    assert np.array_equal(evaluate_outputs(made, given)["Y"], evaluate_outputs(graph, given)["Y"])


@pytest.mark.parametrize(
    ("scale", "levels", "count"), [(0.02, 255.0, 64), (0.1, 354.2, 37), (0.5, 99.0, 8), (0.005, 4000.0, 1000)]
)
def test_fewer_bits_are_a_tenth_of_a_step_off(scale: float, levels: float, count: int) -> None:
    shape = (-(-2048 // count), count)
    given = rows_of(default_rng(3), shape)
    graph = ETHOS_U_NUMERICS.run(softmax_of(shape, scale, levels))
    powers = np.exp((given - given.max(-1, keepdims=True).astype(np.float64)) * scale)
    wanted = np.clip(powers / powers.sum(-1, keepdims=True) * levels - 128, -128, 127)
    assert np.abs(evaluate_outputs(graph, {"X": given})["Y"] - wanted).max() <= 0.6


@pytest.mark.parametrize(
    ("shape", "axis", "why"),
    [
        ((4, 10), -1, "has 40 elements; the core is faster below 1024"),
        ((2, 64, 64), 1, "its rows do not lie side by side"),
        ((1, 1 << 15), -1, "its rows of 32768 elements need numbers of more than 32 bits"),
    ],
)
def test_others_stay_as_they_are(shape: Shape, axis: int, why: str) -> None:
    given = softmax_of(shape, 0.1, 256.0, axis=axis)
    graph = ETHOS_U_NUMERICS.run(given)
    assert graph.nodes[0].op == given.nodes[0].op
    assert why_on_core(graph, graph.nodes[0]) == why
