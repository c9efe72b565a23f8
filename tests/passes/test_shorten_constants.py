"""Weights that 16 bits hold exactly are stored so, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, changed_by
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, element
from tilewright.ops.conv import Conv
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.passes.shorten_constants import SHORTEN_CONSTANTS, SHORTEN_TABLES

RANDOM = np.random.default_rng(2)


def weights(dtype: str, *shape: int) -> Array:
    """Floats that a type holds exactly, and float16 only where it is that."""
    large = 2.0**20 if dtype == "bfloat16" else 1.0
    return (RANDOM.standard_normal(shape) * large).astype(element(dtype)).astype(np.float32)


def one(op: Op, x: tuple[int, ...], w: Array, dtype: str = "float32") -> Graph:
    small = Small()
    given, constant = small.input("x", *x, dtype=dtype), small.constant(w)
    operands = (constant, given) if isinstance(op, Gather) else (given, constant)
    return small.graph(small.add(op, *operands))


def types(graph: Graph) -> set[str]:
    return {array.dtype.name for array in graph.constants.values()}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_become_short(dtype: str) -> None:
    assert types(changed_by(one(MatMul(), (3, 64), weights(dtype, 64, 20)), SHORTEN_CONSTANTS)) == {dtype}
    assert types(changed_by(one(Conv(), (1, 16, 8, 8), weights(dtype, 16, 16, 3, 3)), SHORTEN_CONSTANTS)) == {dtype}


def test_a_table_is_read_short_and_its_rows_become_floats() -> None:
    after = changed_by(one(Gather(0), (5,), weights("float16", 40, 32), "int64"), SHORTEN_CONSTANTS)
    assert [node.op.kind for node in after.nodes] == ["Gather", "Cast"]
    assert types(after) == {"float16"}


@pytest.mark.parametrize(
    ("op", "x", "w"),
    [
        (MatMul(), (3, 64), weights("float32", 64, 20)),
        (MatMul(), (3, 8), weights("float16", 8, 8)),
        (MatMul(), (3, 64), np.where(RANDOM.random((64, 20)) < 0.01, np.inf, 1).astype(np.float32)),
        (Conv((1, 1), (1, 1), (1, 1, 1, 1), 128), (1, 128, 4, 4), weights("float16", 128, 1, 3, 3)),
    ],
    ids=["longer", "few", "infinite", "depthwise"],
)
def test_others_stay(op: Op, x: tuple[int, ...], w: Array) -> None:
    assert types(SHORTEN_CONSTANTS.run(one(op, x, w))) == {"float32"}


def test_weights_with_another_reader_stay() -> None:
    small = Small()
    x, w = small.input("x", 64, 64, dtype="float32"), small.constant(weights("float16", 64, 64))
    graph = small.graph(small.add(MatMul(), w, small.add(MatMul(), x, w)))
    assert types(SHORTEN_CONSTANTS.run(graph)) == {"float32"}


def test_tables_alone_where_vectors_multiply_floats() -> None:
    product = one(MatMul(), (3, 64), weights("float16", 64, 20))
    assert types(SHORTEN_TABLES.run(product)) == {"float32"}
    table = one(Gather(0), (5,), weights("float16", 40, 32), "int64")
    assert types(changed_by(table, SHORTEN_TABLES)) == {"float16"}
