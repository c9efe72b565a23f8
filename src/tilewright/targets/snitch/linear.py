"""Kernels of sums of products, with streams and repetition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.linear import TOTALS

CORES = 8
"""At most; each has working memory of its own."""
COPIES = 64
"""TW_COPIES in C: elements of a row of a that are copied at a time."""

LEAST = 4
"""Products of a sum, so that a stream of them is not read ahead into the row after the next."""


def columns_objection(op: Op, types: Types) -> str | None:
    """Two columns are 8 bytes, which begin at a multiple of 8 in all rows of all matrices."""
    p = cast("dict[str, int]", op.params(types))
    apart = cast("dict[str, list[int]]", op.params(types))
    if p["b_column"] != 1 or p["y_column"] != 1 or ("C" in types and p["c_column"] != 1):
        return "columns of its operands or its result are not side by side"
    steps = [p["columns"], p["b_row"], p["y_row"], p["c_row"]]
    steps += [step for name in ("stride_b", "stride_c", "stride_y") for step in apart[name]]
    if any(step % 2 for step in steps):
        return "rows of its operands or its result begin between two multiples of 8 bytes"
    if p["inner"] < LEAST or (p["alpha"], p["beta"]) != (1.0, 1.0):
        return f"it scales its product or its summand, or sums fewer than {LEAST} products"
    return None


def copied_bytes(op: Op, types: Types) -> int:
    """Of four rows for each core."""
    inner = cast(int, op.params(types)["inner"])
    return 4 * CORES * min(COPIES, inner) * 8


def product_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; rows of matrices, their blocks and the products of two in these, of one core."""
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = (extents.get(name, 1) for name in ("m", "n", "k"))
    by_rows = rows >= 4 * cores or rows % cores == 0
    own_rows = -(-rows // cores) if by_rows else rows
    own_pairs = -(-columns // 2) if by_rows else -(-columns // (2 * cores))
    sums = float(matrices * own_rows * own_pairs)
    return 1.0, float(matrices * own_rows), sums, sums * inner


# ---- bytes ------------------------------------------------------------------------------------------------------

LARGEST_TOTAL = 4194303
"""Of a sum of products that floats hold exactly beside 1.5 * 2**23, as in C."""


def largest_product(op: MatMul, types: Types) -> int:
    ends = [(limits(types[name].dtype), zero) for name, zero in (("A", op.a_zero), ("B", op.b_zero))]
    return math.prod(max(high - zero, zero - low) for (low, high), zero in ends)


def bytes_objection(op: Op, types: Types) -> str | None:
    inner = cast(int, op.params(types)["inner"])
    return None if inner >= LEAST else f"it sums fewer than {LEAST} products"


def floats_bytes(op: Op, types: Types) -> int:
    """Tables, a row of what sums begin with, the second factor as floats, sums, totals of longer ones, copies."""
    p = cast("dict[str, int]", op.params(types))
    width, rows, inner = -(-p["columns"] // 2) * 2, p["rows"], p["inner"]
    sums = 1 + (inner > LARGEST_TOTAL // largest_product(cast(MatMul, op), types))
    return 4 * (512 + width + inner * width + sums * rows * width) + copied_bytes(op, types)


def bytes_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """As of floats; and elements of the second factor that a core converts."""
    inner, columns = extents.get("k", 1), extents.get("n", 1)
    return *product_features(op, types, extents, cores), inner * columns / cores


KERNELS = (
    Kernel(
        MatMul, "matmul_columns_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, scratch=copied_bytes,
        objection=columns_objection, cooperative=True, whole=frozenset({"k"}), multiples={"m": 8, "n": 16},
        features=product_features, header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_bytes.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
        scratch=floats_bytes, objection=bytes_objection, cooperative=True, whole=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, features=bytes_features, header="matmul.h",
    ),
)  # fmt: skip
