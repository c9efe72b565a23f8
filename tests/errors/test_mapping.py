"""Nodes that no kernel takes: the reasons of all kernels, and a hint that fits them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.models import model, node
from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.mapping import map_nodes
from tilewright.target.target import Engine, Memory, Target

pytestmark = pytest.mark.fast


def sum_of(dtype: str) -> Graph:
    builder = Builder("sum")
    names = [builder.input(name, TensorType(dtype, (3,))) for name in "ab"]
    builder.output(builder.add(Add(), names, name="sum")[0])
    return builder.build()


def kernel(dtype: str, why: str | None = None) -> Kernel:
    def unsupported_reason(op: Op, types: Types) -> str | None:
        return why

    return Kernel(Add, f"add_{dtype}.c", "A B -> Y", {"A": frozenset({dtype})}, unsupported_reason=unsupported_reason)


def refusal(graph: Graph, *kernels: Kernel) -> CompileError:
    target = Target("small", "", (Engine("cpu", kernels),), (Memory("arena", None),), Path())
    with pytest.raises(CompileError) as caught:
        map_nodes(graph, target)
    return caught.value


def test_element_types_can_be_cast() -> None:
    error = refusal(sum_of("int32"), kernel("int8"), kernel("float32"))
    assert error.where == "node 'sum' (Add)"
    assert "add_int8: A is int32, it takes int8; add_float32: A is int32, it takes float32" in error.what
    assert error.hint == "insert a Cast before it"


def test_a_cast_is_no_help_where_the_element_types_fit() -> None:
    error = refusal(sum_of("int8"), kernel("float32"), kernel("int8", "3 elements, 4 at least"))
    assert "add_int8: 3 elements, 4 at least" in error.what
    assert error.hint == "use another target or operator"


def test_no_kernel_at_all() -> None:
    assert refusal(sum_of("int8")).hint == "use another target or operator"
    assert refusal(sum_of("int8"), Kernel(Relu, "relu.c", "X -> Y", {})).what == "target small has no kernel for Add"


def test_more_axes_than_loops() -> None:
    shapes = (2, 1) * 4 + (2,), (1, 2) * 4 + (1,)
    made = model([node("Add", "a b", "y")], dict(zip("ab", shapes, strict=True)), ["y"])
    with pytest.raises(CompileError) as caught:
        pipeline.stage(pipeline.import_model(made), "generic", "mapped")
    assert "9 axes that cannot be merged; at most 8 are supported" in caught.value.what
    assert caught.value.hint == "join axes by a Reshape before it"
