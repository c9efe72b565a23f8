"""What the cycles of kernels that go element by element, or row by row, grow with: work of the core that has most."""

from __future__ import annotations

from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.target.extents import Extents, up
from tilewright.target.kernel import Types


def binary_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, rows of byte_binary.h that a core has a part of, and its elements."""
    rows, length = joined_rows(types, extents)
    if rows < cores:
        return 1.0, float(rows), float(rows * 4 * up(length, 4 * cores))
    own = up(rows, cores)
    return 1.0, float(own), float(own * length)


def product_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """What a sum's cycles depend on, and elements of products with zero points."""
    product, found = cast(QLinearMul, op), binary_features(op, types, extents, cores)
    return *found, found[-1] * bool(product.a_zero or product.b_zero)


def joined_rows(types: Types, extents: Extents) -> tuple[int, int]:
    """Rows of two operands and how long they are, loops joined that both or one and the same go along."""
    rows, length, joined = 1, 1, None
    for axis, extent in enumerate(reversed(list(extents.values())), 1):
        shapes = [types[name].shape for name in "AB"]
        moving = tuple(len(shape) >= axis and shape[-axis] > 1 for shape in shapes)
        if extent > 1 and joined is None:
            joined = moving
        if extent == 1 or (moving == joined and rows == 1):
            length *= extent
        else:
            rows *= extent
    return rows, length


def repeated_features(op: Op, types: Types, extents: Extents, cores: int) -> tuple[float, ...]:
    """The call, elements of what is repeated, pairs of pieces of results and their elements."""
    elements, shape = prod(extents.values()), types["B"].shape
    loops = list(extents)[len(extents) - len(shape) :]
    length = prod(extents[loop] for loop, size in zip(loops, shape, strict=True) if size > 1)
    own, pairs = up(length, cores), up(elements // length, 2)
    return 1.0, float(own), float(up(own, 64) * pairs), float(own * pairs)


def is_high(softmax: iSoftmax) -> bool:
    """Whether products of its exponentials with a reciprocal need more than 32 bits: TW_SHORT_BITS in C."""
    return softmax.a * softmax.b**2 + softmax.c >= 2**11
