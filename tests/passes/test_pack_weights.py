"""Weights of at most 4 bits are packed, mean the same, and take fewer bytes; all others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, changed_by
from tests.support.checks import Case, check_kernels, check_tiled
from tilewright.errors import Refusal
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops._packed import WIDTHS, few_bits, row_bytes, width_of
from tilewright.ops.conv import Conv
from tilewright.ops.gather import Gather
from tilewright.ops.matmul import MatMul
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes.pack_weights import PACK_WEIGHTS

RANDOM = np.random.default_rng(3)
TO_BYTES = full_range(9, "int8", 3)


def weights(low: int, high: int, *shape: int, dtype: str = "int8") -> Array:
    """With both ends."""
    array = RANDOM.integers(low, high, shape, endpoint=True).astype(dtype)
    array.flat[:2] = low, high
    return array


def one(op: Op, x: tuple[int, ...], w: Array, *rest: Array | None, dtype: str = "int8") -> Graph:
    small = Small()
    constants = ["" if array is None else small.constant(array) for array in rest]
    return small.graph(small.add(op, small.input("x", *x, dtype=dtype), small.constant(w), *constants))


def packed(graph: Graph) -> Op:
    (node,) = changed_by(graph, PACK_WEIGHTS).nodes
    return node.op


def integers(low: int, high: int, *shape: int) -> Array:
    return RANDOM.integers(low, high, shape, endpoint=True).astype(np.int32)


# ---- bytes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("length", [1, 3, 8, 16, 17, 172])
def test_rows_come_back_as_they_went_in(bits: int, length: int) -> None:
    codes = RANDOM.integers(0, 2**bits, (5, length))
    stored = few_bits(bits).pack(codes)
    assert stored.shape == (5, row_bytes(length, bits))
    assert stored.nbytes <= 5 * (length * bits / 8 + 4)
    np.testing.assert_array_equal(few_bits(bits).unpack(stored, codes.shape), codes)


def test_four_neighbours_are_in_the_same_bits_of_four_bytes() -> None:
    assert few_bits(4).pack(np.arange(8)[None]).tolist() == [[0x40, 0x51, 0x62, 0x73]]
    assert few_bits(2).pack(np.arange(16)[None] // 4).tolist() == [[0xE4] * 4]


def test_the_range_decides_the_width() -> None:
    assert [width_of(span) for span in (1, 3, 4, 15, 16)] == [2, 2, 4, 4, None]


# ---- the pass -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high", "bits"), [(-2, 1, 2), (-1, 1, 2), (-4, 3, 4), (-7, 7, 4), (-8, 7, 4)])
@pytest.mark.parametrize("trans_b", [True, False])
def test_products(low: int, high: int, bits: int, trans_b: bool) -> None:
    w = weights(low, high, *((24, 64) if trans_b else (64, 24)))
    op = packed(one(MatMul(trans_b=trans_b, requant=TO_BYTES), (3, 64), w, None, integers(1, 9, 24)))
    assert isinstance(op, PackedMatMul)
    assert (op.bits, op.least) == (bits, low)


def test_zero_points_become_part_of_the_bias_and_of_the_least_weight() -> None:
    w = weights(0, 15, 64, 24, dtype="uint8")
    op = packed(
        one(MatMul(a_zero=7, b_zero=8, requant=TO_BYTES), (2, 5, 64), w, None, integers(1, 9, 1), dtype="uint8")
    )
    assert isinstance(op, PackedMatMul)
    assert op.least == -8


@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (5, 1)])
def test_convolutions(kernel: tuple[int, int]) -> None:
    conv = Conv((2, 1), padding=(1, 0, 0, 1), x_zero=-3, w_zero=1, requant=TO_BYTES)
    rest = integers(-99, 99, 20), integers(1, 9, 20), integers(-99, 99, 1)
    op = packed(one(conv, (2, 60, 9, 8), weights(-3, 4, 20, 60, *kernel), *rest))
    assert isinstance(op, PackedConv)
    assert (op.bits, op.least) == (4, -4)


STAY = {
    "five bits": one(MatMul(), (3, 64), weights(-8, 8, 64, 24)),
    "few weights": one(MatMul(), (3, 16), weights(-8, 7, 16, 16)),
    "a weight beyond bytes": one(MatMul(b_zero=-100), (3, 64), weights(100, 107, 64, 24)),
    "several matrices": one(MatMul(), (4, 3, 64), weights(-8, 7, 4, 64, 24)),
    "a row order": one(MatMul(trans_a=True), (64, 3), weights(-8, 7, 64, 24)),
    "a bias by row": one(MatMul(), (3, 64), weights(-8, 7, 64, 24), integers(0, 9, 3, 1)),
    "groups": one(Conv(groups=2), (1, 64, 5, 5), weights(-8, 7, 64, 32, 3, 3)),
}


@pytest.mark.parametrize("reason", STAY)
def test_what_stays_as_it_is(reason: str) -> None:
    assert type(packed(STAY[reason])) in (MatMul, Conv)


def test_weights_that_others_read_are_not_stored_twice() -> None:
    small = Small()
    table = small.constant(weights(-8, 7, 64, 64))
    row = small.add(Gather(0), table, small.input("i", 1, dtype="int64"))
    after = changed_by(small.graph(small.add(MatMul(trans_b=True), row, table)), PACK_WEIGHTS)
    assert [node.op.kind for node in after.nodes] == ["Gather", "MatMul"]


# ---- operators and kernels ------------------------------------------------------------------------------------------


def product(bits: int, rows: int, inner: int, columns: int, requant: Requant | None) -> Case:
    codes = RANDOM.integers(0, 2**bits, (columns, inner))
    a = RANDOM.integers(-128, 127, (rows, inner), endpoint=True).astype(np.int8)
    rest = [integers(-99, 99, columns)] + ([integers(1, 9, 1), integers(-99, 99, columns)] if requant else [])
    return PackedMatMul(bits, -(2 ** (bits - 1)), requant), [a, few_bits(bits).pack(codes), *rest]


def convolution(bits: int, filters: int, kernel: tuple[int, ...], conv: Conv) -> Case:
    codes = RANDOM.integers(0, 2**bits, (filters, int(np.prod(kernel))))
    x = RANDOM.integers(0, 255, (2, kernel[0], 9, 7), endpoint=True).astype(np.uint8)
    return PackedConv(bits, -3, kernel, conv), [x, few_bits(bits).pack(codes), None, integers(1, 9, filters)]


def cases() -> list[Case]:
    found = [
        product(bits, *sizes, requant)
        for bits in WIDTHS
        for sizes in ((1, 64, 8), (3, 37, 5), (8, 16, 1))
        for requant in (None, TO_BYTES)
    ]
    convs = Conv(x_zero=5, requant=TO_BYTES), Conv((2, 3), (1, 2), (2, 1, 0, 3), x_zero=128, requant=TO_BYTES)
    kernels = (4, 1, 1), (3, 3, 2)
    return found + [convolution(b, 6, kernel, conv) for b in WIDTHS for conv in convs for kernel in kernels]


def test_kernels_of_the_generic_target() -> None:
    check_kernels(cases())


def test_tiles_are_parts_of_the_whole() -> None:
    for op, arrays in cases():
        sizes = {"n": 1, "d0": 2} if isinstance(op, PackedMatMul) else {"n": 1, "f": 4, "y": 2, "x": 3}
        extents = op.extents({name: array.shape for name, array in op.bind(arrays).items()})
        check_tiled(op, arrays, {loop: min(size, extents[loop]) for loop, size in sizes.items() if loop in extents})


@pytest.mark.parametrize(
    ("op", "b", "words"),
    [
        (PackedMatMul(3), (8, 32), "3 bits"),
        (PackedMatMul(4, 120), (8, 32), "from 120 on"),
        (PackedMatMul(4), (8, 31), "rows of 64 codes"),
        (PackedMatMul(2), (8, 32), "rows of 64 codes"),
    ],
)
def test_refusals(op: PackedMatMul, b: tuple[int, int], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        op.check({"A": TensorType("int8", (1, 64)), "B": TensorType("uint8", b)})


def test_floats_are_refused() -> None:
    with pytest.raises(Refusal, match="rows of int8 or uint8 are expected"):
        PackedMatMul().check({"A": TensorType("float32", (1, 64)), "B": TensorType("uint8", (8, 32))})
    with pytest.raises(Refusal, match="int8 or uint8 is expected"):
        PackedConv(filter=(4, 1, 1)).check({"X": TensorType("float32", (1, 4, 2, 2)), "W": TensorType("uint8", (8, 4))})


def test_filters_of_another_length_are_refused() -> None:
    with pytest.raises(Refusal, match="filters of 36 codes of 4 bits"):
        PackedConv(filter=(4, 3, 3)).check({"X": TensorType("int8", (1, 4, 5, 5)), "W": TensorType("uint8", (8, 4))})
