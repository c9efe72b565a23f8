"""Operators on permuted axes do the same, and a Transpose means the same before and after a Reshape."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.checks import same
from tests.support.examples import examples
from tests.tiling.test_windows import CASES
from tilewright import ops
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops._elementwise import Elementwise
from tilewright.passes.layout.min_cut import FORBIDDEN, min_cut
from tilewright.passes.layout.permuting import before_reshape, inverse, on_permuted_axes, through_reshape

pytestmark = pytest.mark.fast

MOVABLE = [
    operator
    for operator in ops.all_operators()
    if operator.__name__ in CASES and on_permuted_axes.dispatch(operator) is not on_permuted_axes.dispatch(Op)
]


def on_axes(array: Array, perm: tuple[int, ...]) -> Array:
    """An operand that broadcasts to as many axes, permuted."""
    return array.reshape((1,) * (len(perm) - array.ndim) + array.shape).transpose(perm)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("operator", MOVABLE, ids=lambda operator: operator.__name__)
@examples(8)
@given(data=st.data())
def test_operators_on_permuted_axes(operator: type[Op], data: st.DataObject) -> None:
    op, arrays = data.draw(CASES[operator.__name__])
    shapes = [() if array is None else array.shape for array in arrays]
    rank = max(map(len, shapes)) if issubclass(operator, Elementwise) else len(shapes[0])
    assume(rank > 0)
    orders = st.permutations(range(rank)).map(tuple)
    perm = data.draw(orders | st.sampled_from([(0, 2, 1, 3), (0, 1, 3, 2)]) if rank == 4 else orders)
    moved = on_permuted_axes(op, perm, shapes)
    if moved is None:
        return
    changed = [a if a is None or i not in moved.operands else on_axes(a, perm) for i, a in enumerate(arrays)]
    with np.errstate(all="ignore"):
        wanted, found = np.asarray(op.numpy(*arrays)), np.asarray(moved.op.numpy(*changed))
    same(found, wanted.transpose(perm) if moved.result else wanted)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Factors joined in two ways: a shape, an order of its axes, and another shape of as many elements."""
    factors = draw(st.lists(st.sampled_from([1, 2, 2, 3]), min_size=1, max_size=6))
    shapes = []
    for _ in range(2):
        cuts = sorted(draw(st.sets(st.integers(1, len(factors)))) | {0, len(factors)})
        shapes.append(tuple(math.prod(factors[a:b]) for a, b in pairwise(cuts)))
    perm = draw(st.permutations(range(len(shapes[0]))))
    return shapes[0], tuple(perm), shapes[1]


@pytest.mark.in_turns(3)
@examples(75)
@given(reshapes())
def test_transposes_move_through_reshapes(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> None:
    wanted, perm, shape = case
    given_shape = tuple(wanted[axis] for axis in inverse(perm))
    x = np.arange(math.prod(shape)).reshape(given_shape)
    found = through_reshape(perm, given_shape, shape)
    if found is not None:
        blocks, order = found
        np.testing.assert_array_equal(x.reshape(blocks).transpose(order), x.transpose(perm).reshape(shape))
    y = np.arange(math.prod(shape)).reshape(shape)
    earlier = before_reshape(shape, wanted, perm)
    if earlier is not None:
        np.testing.assert_array_equal(y.transpose(earlier[0]).reshape(earlier[1]), y.reshape(wanted).transpose(perm))


def test_heads_move_through_a_reshape() -> None:
    assert through_reshape((0, 2, 1, 3), (1, 64, 16, 4), (16, 64, 4)) == ((64, 16, 4), (1, 0, 2))
    assert through_reshape((0, 2, 1, 3), (1, 64, 16, 4), (1, 16, 256)) is None
    assert through_reshape((0, 3, 1, 2), (1, 8, 8, 32), (1, 32, 64)) == ((1, 64, 32), (0, 2, 1))
    assert before_reshape((64, 64), (64, 16, 4), (1, 0, 2)) is None
    assert before_reshape((16, 4, 64), (64, 64), (1, 0)) == ((2, 0, 1), (64, 64))


def test_the_cheapest_cut() -> None:
    capacities = {("s", "a"): 3, ("a", "b"): 2, ("b", "t"): FORBIDDEN, ("s", "b"): 1}
    assert min_cut(capacities, "s", "t") == {"s", "a"}
    assert min_cut({("s", "a"): 1, ("a", "t"): 1}, "s", "t") == {"s"}
    assert min_cut({("s", "a"): 2, ("a", "t"): 1}, "s", "t") == {"s", "a"}
