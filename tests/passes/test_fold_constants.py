"""What depends on constants alone is computed, unless the result takes more flash than what it is made from."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.neg import Neg
from tilewright.passes import apply
from tilewright.passes.fold_constants import FOLD_CONSTANTS

pytestmark = pytest.mark.fast


def graph(size: int) -> Graph:
    """x + -(dequantised bytes)."""
    builder = Builder("constants")
    x = builder.input("x", TensorType("float32", (size,)))
    stored = builder.constant((np.arange(size) % 100).astype(np.int8))
    scale, zero = builder.constant(np.array(0.5, np.float32)), builder.constant(np.array(3, np.int8))
    (value,) = builder.add(DequantizeLinear(), [stored, scale, zero])
    (negative,) = builder.add(Neg(), [value])
    builder.output(builder.add(Add(), [x, negative])[0])
    return builder.build()


@pytest.mark.parametrize(("size", "kinds"), [(8, ["Add"]), (4096, ["DequantizeLinear", "Neg", "Add"])])
def test_bytes_do_not_become_floats(size: int, kinds: list[str]) -> None:
    before = graph(size)
    after = apply(before, (FOLD_CONSTANTS,))
    assert [node.op.kind for node in after.nodes] == kinds
    x = {"x": np.ones(size, np.float32)}
    np.testing.assert_array_equal(evaluate(after, x)[after.outputs[0]], evaluate(before, x)[before.outputs[0]])
