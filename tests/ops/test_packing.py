"""Arrays as kernels and devices read them: what an order says, and that every order is undone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import Refusal
from tilewright.ops._packed import WIDTHS, few_bits
from tilewright.ops._packing import (
    Packing,
    check_order,
    pack_rows,
    pack_values,
    stored_axes,
    unpack_rows,
    unpack_values,
)
from tilewright.targets.cortex_m import paired, vector_forms
from tilewright.targets.cpu import float_forms, packed_forms
from tilewright.targets.hwpe import encoding
from tilewright.targets.ita import layout
from tilewright.targets.microcontroller import blocked

pytestmark = pytest.mark.fast

ROWS = [
    blocked.ORDER, paired.ORDER, float_forms.panels(8), float_forms.tap_by_tap(8),
    *(vector_forms.VectorConv(vector=vector).order(3) for vector in (8, 16)),
    *(vector_forms.VectorDepthwise(vector=vector).order(1) for vector in (8, 16)),
    *(packed_forms.PackedConvolution(kernel=kernel).order(3) for kernel in ((1, 1), (3, 3))),
]  # fmt: skip
OTHERS = [
    layout.TILES, layout.BIASES, encoding.ONE_TAP, packed_forms.TAPS, vector_forms.FOURS, vector_forms.TWOS,
    vector_forms.HALVES, *(few_bits(bits) for bits in WIDTHS),
    *(encoding._windows(bits) for bits in (2, 5, 8)), *(encoding._channels(bits) for bits in (3, 8)),
]  # fmt: skip


def values(packing: Packing, shape: tuple[int, ...]) -> np.ndarray:
    most = 2**packing.bits if packing.bits else 1 << 31
    return np.random.default_rng(sum(shape)).integers(0, most, shape)


@given(st.sampled_from([*OTHERS, *(Packing("g f k", order) for order in ROWS)]), st.data())
def test_forms_are_undone(packing: Packing, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 70 if len(packing.axes) < 4 else 18)) for _ in packing.axes.split())
    array = values(packing, shape)
    stored = packing.pack(array)
    assert stored.shape == packing.stored_shape(shape)
    np.testing.assert_array_equal(packing.unpack(stored, shape), array)


@st.composite
def orders(draw: st.DrawFn) -> Packing:
    """Axes in up to three digits each, in any order, in brackets or not."""
    axes, bits = "abc"[: draw(st.integers(1, 3))], draw(st.sampled_from([0, 0, 3, 8]))
    loops = []
    for axis in axes:
        ends = [math.prod(draw(st.lists(st.sampled_from([2, 3, 4]), max_size=2))[:n]) for n in range(3)]
        ends = sorted({end for end in ends if end > 1})
        outer = [*(f":{end}" for end in ends), ""]
        inner = ["", *(f"/{end}" for end in ends)]
        chain = [end for end, more in itertools.pairwise(ends) if more % end]
        loops += [axis] if chain else [f"{axis}{a}{b}" for a, b in zip(outer, inner, strict=True)]
    loops = draw(st.permutations([*loops, *["#"] * bool(bits)]))
    cut = draw(st.integers(0, len(loops) - 1))
    order = " ".join([*loops[:cut], f"({' '.join(loops[cut:])})*{draw(st.sampled_from([8, 16, 40]))}"])
    return Packing(" ".join(axes), order, bits)


@pytest.mark.in_turns(6)
@given(orders(), st.lists(st.integers(1, 13), min_size=3, max_size=3))
def test_any_order_is_undone(packing: Packing, sizes: list[int]) -> None:
    shape = tuple(sizes[: len(packing.axes.split())])
    check_order(packing.order, [*packing.axes.split(), *["#"] * bool(packing.bits)])
    array = values(packing, shape)
    np.testing.assert_array_equal(packing.unpack(packing.pack(array), shape), array)


def test_what_lies_where() -> None:
    rows = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(
        pack_rows("(g f/2) k/4 f:2 k:4", rows),
        [
            [[[0, 1, 2, 3], [5, 6, 7, 8]], [[4, 0, 0, 0], [9, 0, 0, 0]]],
            [[[10, 11, 12, 13], [0, 0, 0, 0]], [[14, 0, 0, 0], [0, 0, 0, 0]]],
        ],
    )
    pairs = pack_rows("(g f/2) k/2 k:2 f:2", rows)
    np.testing.assert_array_equal(pairs[0], [[[0, 5], [1, 6]], [[2, 7], [3, 8]], [[4, 9], [0, 0]]])
    np.testing.assert_array_equal(pack_rows("(g f/2) k f:2", rows[:2, :3]), [[[0, 5], [1, 6], [2, 7]]])
    np.testing.assert_array_equal(pack_values("(g f/2 f:2)", np.array([1, 2, 3]), 3), [1, 0, 2, 0, 3, 0])
    np.testing.assert_array_equal(Packing("c", "(c/8 c:2 c:8/2)").pack(np.arange(8)), [0, 2, 4, 6, 1, 3, 5, 7])
    assert Packing("f c", "f # (c)*8", 2).pack(np.array([[1, 2, 3]])).tolist() == [[[0b101], [0b110]]]


def test_rows_and_values_of_groups() -> None:
    rows = np.arange(2 * 3 * 5).reshape(6, 5)
    for order in ROWS[:2]:
        np.testing.assert_array_equal(unpack_rows(order, pack_rows(order, rows, 2), 2, 3, 5), rows)
    values = pack_values("(g f/4 f:4)", rows[:, 0], 2)
    np.testing.assert_array_equal(unpack_values("(g f/4 f:4)", values, 2, 3), rows[:, 0])


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("f", "loop 'k' must be there once"),
        ("f k/2 k:4", "loop 'k' must be there once"),
        ("f k/4 k:4/2", "loop 'k' must be there once"),
        ("f k k", "loop 'k' must be there once"),
        ("f k #", "the operand has no loop '#'"),
        ("f k/1", "'k/1' has no block of at least 2"),
        ("f k:9/2 k/9 k:2", "'k:9/2' has no block of at least 2"),
        ("f (k", "'(' is no loop of an order"),
    ],
)
def test_orders_that_are_none(order: str, said: str) -> None:
    with pytest.raises(Refusal) as refusal:
        check_order(order, ["f", "k"])
    assert refusal.value.what == said


def test_an_order_is_read_once() -> None:
    assert stored_axes("f (k:16/4 k:4)*8") is stored_axes("f (k:16/4 k:4)*8")
