"""Sums of two tensors of bytes that vectors of 16 bits compute."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.types import limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.generic.quantised import BYTE

PART_BITS = 8
"""Of a multiplier, below its upper part."""
LARGEST_PART = 1 << 15
LARGEST_NEAR = 32000
"""That 16 bits hold with any zero point of a byte."""
EXACT = ("half_up", "half_even", "half_away")


@dataclass(frozen=True)
class ByteSum(QLinearAdd):
    """Elements that correspond, no sum of which is a tie, and results that 16 bits hold before they are limited."""

    accepts: ClassVar[frozenset[str] | None] = BYTE

    def params(self, types: Types) -> Params:
        parts: dict[str, int] = {}
        for name, mul in (("a", self.mul_a), ("b", self.mul_b)):
            parts |= {f"high_{name}": mul >> PART_BITS, f"low_{name}": mul & ((1 << PART_BITS) - 1)}
        return {"count": types["Y"].elements, **parts, "offset": self.offset, "requant": self.requant.params(1)}


def offer(graph: Graph, node: Node) -> Offer | None:
    op = node.op
    if type(op) is not QLinearAdd or not fits_bytes(graph, node):
        return None
    return Offer(ByteSum(**{field.name: getattr(op, field.name) for field in fields(op)}), node.inputs)


def fits_bytes(graph: Graph, node: Node) -> bool:
    """Whether a sum is of tensors of bytes and of one shape, and computed as ByteSum says."""
    op, types = node.op, [graph.types[name] for name in (*node.inputs, node.key)]
    if not isinstance(op, QLinearAdd) or not BYTE.issuperset(kind.dtype for kind in types):
        return False
    return len({kind.shape for kind in types}) == 1 and _fits(op, types[0].dtype, types[1].dtype)


def _fits(op: QLinearAdd, first: str, second: str) -> bool:
    """Looks at every pair of bytes."""
    shift = op.requant.shift
    if op.requant.rounding not in EXACT or not 0 < shift < 32:
        return False
    if max(abs(op.mul_a), abs(op.mul_b)) >> PART_BITS >= LARGEST_PART - 1:
        return False
    a, b = (np.arange(limits(dtype)[0], limits(dtype)[1] + 1, dtype=np.int64) for dtype in (first, second))
    sums = a[:, None] * op.mul_a + b[None] * op.mul_b + op.offset
    half = 1 << (shift - 1)
    fits = np.abs(sums).max() + half < 1 << 31 and (np.abs(sums).max() >> shift) <= LARGEST_NEAR
    return bool(fits and (op.requant.rounding == "half_up" or not ((sums & (2 * half - 1)) == half).any()))


KERNEL = Kernel(ByteSum, "qlinearadd_bytes.c", "A B -> Y", {"A": BYTE, "B": BYTE, "Y": BYTE})
