"""Functions behind layers by steps, with short factors: all 16-bit numbers, and whole layers, are compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.passes.small import Small, integers, kinds
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearfunction import LOWEST, QLinearFunction
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.passes import apply
from tilewright.passes.numerics.functions import FUNCTIONS_BY_STEPS

pytestmark = pytest.mark.fast

SHIFT = 21


def hard_swish(x: Array) -> Array:
    return x * np.clip(x + 3, 0, 6) / 6


def gelu_like(x: Array) -> Array:
    return x / (1 + np.exp(-1.7 * x))


def function_table(function: Callable[[Array], Array], reach: float, steps: float) -> Array:
    """From -reach to reach, with so many steps of the result for 1."""
    x = (np.arange(0, 2**16 + 1, 256) + LOWEST) * (reach / 2**15)
    return np.rint(np.clip(function(x) * steps, -256, 256) * 2.0 ** (SHIFT - 8)).astype(np.int32)


def layer(
    function: Callable[[Array], Array] = hard_swish, rows: int = 128, steps: float = 30.0, reads_twice: bool = False
) -> Graph:
    """A product, and a function of its totals over 2**17, which is about -4 to 4."""
    small = Small()
    weights = small.constant(integers("int8", 24, 32))
    mul = small.constant(integers("int32", 32, low=2**28, high=2**29))
    op = MatMul(requant=full_range(30, "int16", 300))
    wide = small.add(op, small.input("x", rows, 24), weights, "", mul)
    table = small.constant(function_table(function, 4.0, steps))
    found = small.add(QLinearFunction(full_range(SHIFT, "int8", -20)), wide, table)
    return small.graph(found, wide) if reads_twice else small.graph(found)


@pytest.mark.parametrize("function", [hard_swish, gelu_like])
def test_results_are_at_most_one_apart_and_seldom(function: Callable[[Array], Array]) -> None:
    graph = layer(function)
    changed = apply(graph, (FUNCTIONS_BY_STEPS,))
    assert kinds(changed) == ["MatMul", "QLinearSteps"]
    feeds = {"x": integers("int8", 128, 24)}
    before, after = (evaluate(one, feeds)[one.outputs[0]] for one in (graph, changed))
    apart = np.abs(before.astype(int) - after.astype(int))
    assert len(np.unique(after)) > 100
    assert apart.max() <= 1
    assert apart.mean() < 1 / 16


def test_factors_end_with_zeros_that_leave_room_for_all_totals() -> None:
    graph = apply(layer(), (FUNCTIONS_BY_STEPS,))
    node = graph.producers[graph.nodes[-1].inputs[0]]
    mul, weights = (graph.constants[node.operands()[name]].astype(np.int64) for name in ("mul", "B"))
    used = int(np.bitwise_or.reduce(mul))
    zeros = (used & -used).bit_length() - 1
    assert ((mul >> zeros) * 128 * np.abs(weights).sum(0)).max() < 2**31
    assert (mul >> zeros).min() > 2**7


def test_tables_are_as_close_as_a_quarter_everywhere() -> None:
    graph = layer()
    changed = apply(graph, (FUNCTIONS_BY_STEPS,))
    before, after = graph.producers[graph.outputs[0]], changed.producers[changed.outputs[0]]
    x = (np.arange(2**16) + LOWEST).astype(np.int16)
    assert isinstance(after.op, QLinearSteps)
    exact = before.op.numpy(x, graph.constants[before.inputs[1]]).astype(int)
    found = after.op.numpy(x, changed.constants[after.inputs[1]]).astype(int)
    assert np.abs(exact - found).max() <= 1
    assert np.mean(exact != found) < 1 / 16


@pytest.mark.parametrize(
    "graph",
    [layer(rows=8), layer(steps=900.0), layer(reads_twice=True)],
    ids=["few elements", "steep", "another reader"],
)
def test_other_functions_stay(graph: Graph) -> None:
    assert "QLinearSteps" not in kinds(apply(graph, (FUNCTIONS_BY_STEPS,)))
