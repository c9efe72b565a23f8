"""Rows of bytes times a constant matrix, whose columns are in blocks as filters are (`blocked.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.exact import exact_matmul
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._linear import NARROW, check_requant, requantised, result_dtype
from tilewright.ops._packing import pack_rows, unpack_rows
from tilewright.ops._rearranged import RowsProduct, folded_zero, one_or_per_filter
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass
from tilewright.target.constant_layer import is_plain
from tilewright.target.structs.common import requant_params
from tilewright.target.target import Offer
from tilewright.targets.microcontroller.blocked import (
    BITS_ORDER,
    DOTS_ORDER,
    INT2,
    INT8,
    LARGEST_TOTAL,
    ORDER,
    bits_of,
    unsigned_zero,
    weights_of,
    without_tail,
)


@dataclass(frozen=True)
class BlockedMatMul(RowsProduct):
    """A[..., k] times columns in blocks, plus C for each of them, requantised; `mul` and `add` have one value, or one
    for each column."""

    operands: ClassVar[tuple[str, ...]] = ("A", "W", "C", "mul?", "add?")
    order: ClassVar[str] = ORDER
    stored: ClassVar[str] = "int8"
    weights: ClassVar[tuple[int, int]] = INT8
    requant: Requant | None = None

    def zero_of(self, a_zero: int, dtype: str) -> int:
        """What totals have been freed of for each weight."""
        return a_zero

    @classmethod
    def packed(cls, rows: Array) -> Array:
        return pack_rows(cls.order, rows.astype(np.int8)).view(cls.stored)

    @classmethod
    def in_order(cls, packed: Array) -> Array:
        """Each weight as a byte."""
        return packed.view(np.int8)

    def columns_of(self, shapes: Shapes) -> int:
        return shapes["C"][0]

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["A"].dtype not in NARROW or types["W"].dtype != self.stored:
            raise Refusal(
                f"A is {types['A'].dtype} and W {types['W'].dtype}, int8 or uint8 and {self.stored} are expected"
            )
        check_requant(self, "A", types)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (result_dtype(self, dtypes["A"]),)

    def numpy(self, A: Array, W: Array, C: Array, mul: Array | None = None, add: Array | None = None) -> Array:
        rows = unpack_rows(self.order, self.in_order(W), 1, len(C), A.shape[-1]).astype("int32")
        values = A.astype("int32") + self.zero_of(0, A.dtype.name)
        total = exact_matmul(values, rows.T) + C
        return requantised(self, total, mul, add)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        inner = types["A"].shape[-1]
        steps = {f"{name}_step": int(name in types and types[name].shape != (1,)) for name in ("mul", "add")}
        return {
            "rows": types["A"].elements // max(inner, 1), "inner": inner, "columns": types["C"].shape[0], **steps,
            **requant_params(self, types["mul"].elements if "mul" in types else 0),
        }  # fmt: skip


class DottedMatMul(BlockedMatMul):
    """Four weights of a column lie side by side, as a word; unsigned bytes are multiplied as signed ones."""

    order: ClassVar[str] = DOTS_ORDER
    stored: ClassVar[str] = "int32"

    def zero_of(self, a_zero: int, dtype: str) -> int:
        return folded_zero(a_zero, dtype)


class UnsignedDottedMatMul(DottedMatMul):
    """Signed bytes are multiplied as unsigned ones."""

    def zero_of(self, a_zero: int, dtype: str) -> int:
        return unsigned_zero(a_zero, dtype)


class BitsMatMul(UnsignedDottedMatMul):
    """Sixteen weights of two bits lie in a word: their lower bits in its lower half."""

    order: ClassVar[str] = BITS_ORDER
    weights: ClassVar[tuple[int, int]] = INT2

    @classmethod
    def packed(cls, rows: Array) -> Array:
        return bits_of(pack_rows(cls.order, rows.astype(np.int8)))

    @classmethod
    def in_order(cls, packed: Array) -> Array:
        return weights_of(packed)


def blocked_product(graph: Graph, node: Node, form: type[BlockedMatMul] = BlockedMatMul) -> Offer | None:
    """A product of rows of bytes and a constant matrix, with constants that differ from column to column at most."""
    op, operands = node.op, node.operands()
    matrix = graph.constants.get(operands.get("B", ""))
    if not isinstance(op, MatMul) or matrix is None or matrix.ndim != 2 or not is_plain(op):
        return None
    rows = (matrix if op.trans_b else matrix.T).astype(np.int64) - op.b_zero
    a = graph.types[operands["A"]]
    least, most = form.weights
    if a.dtype not in NARROW or len(a.shape) < 2 or not rows.size or rows.min() < least or rows.max() > most:
        return None
    added = {
        name: one_or_per_filter(graph, operands[name], len(rows)) for name in ("C", "mul", "add") if name in operands
    }
    if any(values is None for values in added.values()):
        return None
    summand = added.get("C")
    start = (np.zeros(1, np.int64) if summand is None else summand.astype(np.int64)) - form().zero_of(
        op.a_zero, a.dtype
    ) * rows.sum(1)
    if (np.abs(start) + np.abs(rows).sum(1) * 255).max() >= LARGEST_TOTAL:
        return None
    stored = f"{node.key}_{form.__name__}"
    made = {stored: form.packed(rows), f"{node.key}_starts": start.astype(np.int32)}
    names = {"W": stored, "C": f"{node.key}_starts"}
    for name in ("mul", "add"):
        if (values := added.get(name)) is not None:
            made[f"{node.key}_{name}"] = values
            names[name] = f"{node.key}_{name}"
    inputs = (operands["A"], *(names.get(name, "") for name in ("W", "C", "mul", "add")))
    return Offer(form(op.requant), without_tail(inputs), made)
