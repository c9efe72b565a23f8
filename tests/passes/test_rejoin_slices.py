import numpy as np
import pytest

from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import TensorType
from tilewright.ops.add import Add
from tilewright.ops.concat import Concat
from tilewright.ops.neg import Neg
from tilewright.ops.slice import Slice
from tilewright.passes import apply
from tilewright.passes.rejoin_slices import REJOIN_SLICES


def part(builder: Builder, x: str, axis: int, first: int, end: int) -> str:
    shape = builder.types[x].shape
    sizes = tuple(end - first if number == axis else size for number, size in enumerate(shape))
    starts = tuple(first if number == axis else 0 for number in range(len(shape)))
    return builder.add(Slice(starts, (1,) * len(shape), sizes), [x])[0]


def added_to_a_part(rows: int = 1, columns: int = 1) -> Graph:
    """y = x; y[:, rows:, columns:] += b; y[:, rows:] is written once more; -y"""
    builder = Builder("part")
    x, b = (
        builder.input("x", TensorType("float32", (2, 5, 9))),
        builder.input("b", TensorType("float32", (2, 5 - rows, 9 - columns))),
    )
    lower = part(builder, x, 1, rows, 5)
    (total,) = builder.add(Add(), [b, part(builder, lower, 2, columns, 9)])
    (joined,) = builder.add(Concat(2), [part(builder, lower, 2, 0, columns), total])
    (whole,) = builder.add(Concat(1), [part(builder, x, 1, 0, rows), joined])
    (again,) = builder.add(Concat(1), [part(builder, whole, 1, 0, rows), part(builder, whole, 1, rows, 5)])
    builder.output(*builder.add(Neg(), [again]))
    return builder.build()


@pytest.mark.fast
def test_what_is_added_to_a_part_is_added_to_the_whole() -> None:
    graph = added_to_a_part()
    made = apply(graph, (REJOIN_SLICES,))
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(graph.types[name].shape).astype(np.float32) for name in ("x", "b")}
    assert [node.op.kind for node in made.nodes] == ["Pad", "Add", "Neg"]
    np.testing.assert_array_equal(*(evaluate(one, feeds)[one.outputs[0]] for one in (graph, made)))


@pytest.mark.fast
def test_small_parts_and_parts_in_another_order_stay() -> None:
    few = apply(added_to_a_part(columns=5), (REJOIN_SLICES,))
    assert [node.op.kind for node in few.nodes].count("Concat") == 2  # the last one joins what is there
    builder = Builder("turned")
    x = builder.input("x", TensorType("float32", (6, 4)))
    builder.output(*builder.add(Concat(0), [part(builder, x, 0, 3, 6), part(builder, x, 0, 0, 3)]))
    turned = builder.build()
    assert apply(turned, (REJOIN_SLICES,)).nodes == turned.nodes
