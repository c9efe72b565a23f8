from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, Affine, axis_loops, loops, whole
from tilewright.ir.exact import exact_matmul
from tilewright.ir.op import Index
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW, check_bias, check_requant, requantised, result_dtype
from tilewright.ops._packed import WIDTHS, few_bits, row_bytes
from tilewright.records import dataclass


@dataclass(frozen=True)
class PackedMatMul(Internal):
    """A[..., k] times a constant matrix of few bits, plus C, requantised: a weight is its code plus `least`.

    B[n, ...] has the codes of a column in each row (`_packed.py`). C, `mul` and `add` have one value, or one for each
    column.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?", "mul?", "add?")
    bits: int = 4
    least: int = 0
    requant: Requant | None = None

    def index(self, shapes: Shapes) -> Index:
        (n,) = loops("n")
        rows = axis_loops(len(shapes["A"]) - 1)
        others = {name: (_along(n, shapes[name]),) for name in ("C", "mul", "add") if name in shapes}
        b = (n, whole(shapes["B"][1]))
        return {"A": (*rows, whole(shapes["A"][-1])), "B": b, **others, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["A"][:-1])} | {"n": shapes["B"][0]}

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["A"]) * shapes["B"][0]

    def check(self, types: Mapping[str, TensorType]) -> None:
        a, b = types["A"], types["B"]
        if self.bits not in WIDTHS or not -128 <= self.least <= 128 - 2**self.bits:
            raise Refusal(f"weights of {self.bits} bits from {self.least} on", f"bits are one of {WIDTHS}")
        if a.dtype not in NARROW or not a.shape:
            raise Refusal(f"A is {a}, rows of int8 or uint8 are expected")
        if b.dtype != "uint8" or len(b.shape) != 2 or b.shape[1] != row_bytes(a.shape[-1], self.bits):
            raise Refusal(f"B is {b}, for rows of {a.shape[-1]} codes of {self.bits} bits")
        for name in {"C", "mul", "add"} & set(types):
            if types[name].shape not in ((1,), (b.shape[0],)):
                raise Refusal(f"{name} has shape {types[name].shape} for {b.shape[0]} columns")
        check_bias("C", "A", types)
        check_requant(self, "A", types)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (result_dtype(self, dtypes["A"]),)

    def numpy(
        self, A: Array, B: Array, C: Array | None = None, mul: Array | None = None, add: Array | None = None
    ) -> Array:
        weights = few_bits(self.bits).unpack(B, (len(B), A.shape[-1])) + self.least
        total = exact_matmul(A.astype("int32"), weights.T)
        return requantised(self, total if C is None else total + C, mul, add)


def _along(n: Affine, shape: Shape) -> Affine:
    return FIRST if shape == (1,) else n
