"""Sums of two tensors of bytes that vectors of 16 bits compute."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._elementwise import Elementwise
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.passes.collapse_tflite_add import Reach, same_sum
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.target.structs.common import requant_fields
from tilewright.target.target import Offer
from tilewright.targets.generic.quantised import BYTE

LOW_BITS = 15
"""TW_LOW_BITS in C: of a multiplier, below its upper part."""
LARGEST_FACTOR = 1 << 30
LARGEST_SUM = 1 << 39
REACH = Reach(39, 45, 2)
LARGEST_NEAR = 32000
"""That 16 bits hold with any zero point of a byte."""


@dataclass(frozen=True)
class ByteSum(QLinearAdd):
    """Elements that correspond, ties up, and results that 16 bits hold before they are limited."""

    accepts: ClassVar[frozenset[str] | None] = BYTE

    def check(self, types: Types) -> None:
        Elementwise.check(self, types)
        if not is_computed(self, types["A"].dtype, types["B"].dtype):
            raise Refusal("the sum does not fit the vectors that it is computed in")

    def params(self, types: Types) -> Params:
        return {"count": types["Y"].elements, "sum": self.parts()}

    def parts(self) -> Params:
        """tw_byte_sum in C."""
        found: Params = {}
        for name, value in (("a", self.mul_a), ("b", self.mul_b), ("offset", self.offset)):
            found |= {f"high_{name}": value >> LOW_BITS, f"low_{name}": value & ((1 << LOW_BITS) - 1)}
        return {**found, "requant": requant_fields(replace(self.requant, shift=self.requant.shift - LOW_BITS))}


def offer(graph: Graph, node: Node) -> Offer | None:
    found = byte_sum(graph, node)
    return None if found is None else Offer(found, node.inputs)


def byte_sum(graph: Graph, node: Node) -> ByteSum | None:
    """What a sum of tensors of bytes and of one shape is."""
    op = node.op
    if isinstance(op, ByteSum) or not isinstance(op, QLinearAdd | TfliteAdd):
        return None
    types = [graph.types[name] for name in (*node.inputs, node.key)]
    if not BYTE.issuperset(kind.dtype for kind in types) or len({kind.shape for kind in types}) > 1:
        return None
    return _found(op, types[0].dtype, types[1].dtype)


@lru_cache(maxsize=256)
def _found(op: QLinearAdd | TfliteAdd, a: str, b: str) -> ByteSum | None:
    plain = same_sum(op, a, b, REACH) if isinstance(op, TfliteAdd) else op
    if plain is None or plain.requant.rounding == Rounding.NATIVE:
        return None
    more = max(0, LOW_BITS + 1 - plain.requant.shift)
    requant = replace(plain.requant, shift=plain.requant.shift + more, rounding=Rounding.HALF_UP)
    made = ByteSum(plain.mul_a << more, plain.mul_b << more, plain.offset << more, requant)
    is_same = plain.requant.rounding == Rounding.HALF_UP or not _has_ties(made, a, b)
    return made if is_same and is_computed(made, a, b) else None


def is_computed(op: ByteSum, a: str, b: str) -> bool:
    shift, largest = op.requant.shift, op.largest(a, b)
    fits = max(abs(op.mul_a), abs(op.mul_b)) < LARGEST_FACTOR and largest < LARGEST_SUM
    return LOW_BITS < shift < LOW_BITS + 32 and fits and largest >> shift <= LARGEST_NEAR


def _has_ties(op: ByteSum, a: str, b: str) -> bool:
    """Looks at every pair of bytes."""
    half = 1 << (op.requant.shift - 1)
    sums = _every(a)[:, None] * op.mul_a + _every(b)[None] * op.mul_b + op.offset
    return bool(((sums & (2 * half - 1)) == half).any())


def _every(dtype: str) -> Array:
    low, high = limits(dtype)
    return np.arange(low, high + 1, dtype=np.int64)


KERNEL = Kernel(ByteSum, "qlinearadd_bytes.c", "A B -> Y", {"A": BYTE, "B": BYTE, "Y": BYTE})
