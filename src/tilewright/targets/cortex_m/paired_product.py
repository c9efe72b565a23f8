"""Rows of bytes or 16 bits times a constant matrix, whose columns are in pairs as filters are (`paired.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.exact import exact_matmul
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._linear import requantised, result_dtype
from tilewright.ops._rearranged import RowsProduct
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.records import dataclass
from tilewright.target.constant_layer import is_plain
from tilewright.target.structs.common import requant_params
from tilewright.target.target import Offer
from tilewright.targets.cortex_m.one_product_pairs import results
from tilewright.targets.cortex_m.paired import ELEMENTS, PairedConv, paired_constants, scaling_of, unpaired, words_of
from tilewright.targets.cortex_m.ways import FROM_TOTALS, ONE, RequantForm, from_pairs

MANY_ROWS = 4
"""Less are pixels of images of one pixel: a network has code for products only where these are many."""


@dataclass(frozen=True)
class PairedMatMul(RowsProduct):
    """A[..., k] times columns in pairs, with what they add and are scaled by."""

    operands: ClassVar[tuple[str, ...]] = ("A", "W")
    columns: int = 1
    way: RequantForm = FROM_TOTALS
    requant: Requant | None = None

    def columns_of(self, shapes: Shapes) -> int:
        return self.columns

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["A"].dtype not in ELEMENTS or types["W"].dtype != "int8":
            taken = ", ".join(sorted(ELEMENTS))
            raise Refusal(f"A is {types['A'].dtype} and W {types['W'].dtype}; {taken} and int8 are expected")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (result_dtype(self, dtypes["A"]),)

    def numpy(self, A: Array, W: Array) -> Array:
        found = from_pairs(scaling_of(W), self.requant, self.way, 1, self.columns)
        rows = unpaired(words_of(W), self.way.is_apart, 1, self.columns, A.shape[-1])
        total = exact_matmul(A.astype("int32"), rows.astype("int32").T) + found.start.astype("int32")
        if self.way.name == ONE:
            return np.moveaxis(results(scaling_of(W), self.requant, np.moveaxis(total, -1, 0), 1), 0, -1)
        return requantised(self, total, found.mul, found.add)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        inner = types["A"].shape[-1]
        return {
            "rows": types["A"].elements // max(inner, 1), "inner": inner, "columns": self.columns,
            "way": self.way.number, **requant_params(self, self.columns),
        }  # fmt: skip


def paired_product(graph: Graph, node: Node) -> Offer | None:
    """A product of rows and a constant matrix, with constants that differ from column to column at most."""
    op, operands = node.op, node.operands()
    matrix = graph.constants.get(operands.get("B", ""))
    if not isinstance(op, MatMul) or matrix is None or matrix.ndim != 2 or not is_plain(op):
        return None
    a = graph.types[operands["A"]]
    if a.dtype not in ELEMENTS or len(a.shape) < 2:
        return None
    rows = np.ascontiguousarray(matrix if op.trans_b else matrix.T).astype(np.int64) - op.b_zero
    made = paired_constants(graph, operands, "C", rows, op.a_zero, a.dtype, op.requant, 1)
    if made is None:
        return None
    way, pairs = made
    names = {f"{node.key}_pairs": pairs}
    found: Op = PairedMatMul(len(rows), way, op.requant)
    if len(a.shape) == 2 and a.shape[0] < MANY_ROWS:
        conv = Conv(x_zero=op.a_zero, requant=op.requant)
        found = PairedConv(len(rows), (1, 1), way, conv, is_row=True)
    return Offer(found, (operands["A"], *names), names)
