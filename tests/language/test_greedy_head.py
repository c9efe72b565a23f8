"""Which targets compare the products of a head as they come, and which heads they do that for."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import targets
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import TensorType
from tilewright.language.greedy_head import BLOCK, LEAST_BLOCK, PART, SMALL_PART, Finding, best_alone
from tilewright.ops.argmaxmatmul import ArgMaxMatMul
from tilewright.ops.matmul import MatMul
from tilewright.target.mapping import only_engines

WORDS = 2500
INT16 = full_range(30, "int16")


def head(width: int = 64, dtype: str = "int8", most: int = 127, factors: int = WORDS) -> Graph:
    builder = Builder("head")
    weights = np.random.default_rng(0).integers(-most, most + 1, (width, WORDS)).astype(dtype)
    rest = [] if dtype == "float32" else ["", builder.constant(np.ones(factors, np.int32))]
    inputs = [builder.input("x", TensorType(dtype, (1, 1, width))), builder.constant(weights), *rest]
    builder.output(*builder.add(MatMul(requant=INT16 if rest else None), inputs))
    return builder.build()


def blocks(graph: Graph, finding: Finding) -> list[int]:
    """Of words, one of each layer that compares them."""
    found = best_alone(graph, "best", finding)
    assert found.types[found.outputs[0]] == TensorType("int64", (1, 1, 1))
    return [node.op.block for node in found.nodes if isinstance(node.op, ArgMaxMatMul)]


@pytest.mark.parametrize(
    ("name", "engines", "dtype", "compares", "part"),
    [
        ("generic", (), "int8", True, SMALL_PART), ("generic", (), "float32", True, SMALL_PART),
        ("cpu", (), "int8", False, SMALL_PART), ("siracusa", (), "int8", False, PART),
        ("siracusa", ("cluster",), "int8", True, PART), ("siracusa", ("cluster",), "float32", False, PART),
    ],
)  # fmt: skip
def test_who_multiplies_decides(name: str, engines: tuple[str, ...], dtype: str, compares: bool, part: int) -> None:
    finding = Finding.by(only_engines(targets.find(name), engines))
    assert finding.part == part
    assert bool(blocks(head(dtype=dtype), finding)) == compares


def test_parts_are_no_larger_than_asked_for() -> None:
    found = best_alone(head(), "best", Finding(part=700))
    widths = [found.types[node.key].shape[-1] for node in found.nodes if isinstance(node.op, MatMul)]
    assert widths == [625] * 4


def test_blocks_are_as_large_as_rows_allow() -> None:
    generic = Finding.by(targets.find("generic"))
    assert [blocks(head(width), generic) for width in (8, 64, 128, 4096)] == [[BLOCK], [64], [32], [LEAST_BLOCK]]


def test_other_heads_store_scores() -> None:
    """Weights of few bits, which kernels unpack, and one factor for all words."""
    generic = Finding.by(targets.find("generic"))
    assert not blocks(head(most=7), generic)
    assert not blocks(head(factors=1), generic)
