"""Kernels of sums of products, with streams and repetition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
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


def copies_bytes(inner: int) -> int:
    """Of four rows for each core."""
    return 4 * CORES * min(COPIES, inner) * 8


def copied_bytes(op: Op, types: Types) -> int:
    return copies_bytes(cast(int, op.params(types)["inner"]))


def few_products(op: Op, types: Types) -> str | None:
    inner = cast(int, op.params(types)["inner"])
    return None if inner >= LEAST else f"it sums fewer than {LEAST} products"


MANY, SMALL = 8, 1024
"""As in C: so many matrices, whose factor and sums have at most so many elements, are taken by one core each."""


def is_one_each(matrices: int, elements: int) -> bool:
    return matrices >= MANY and elements <= SMALL


def turned_bytes(op: Op, types: Types) -> int:
    """The second factor with columns side by side, sums, copies."""
    p = cast("dict[str, int]", op.params(types))
    matrices = math.prod(cast("dict[str, list[int]]", p)["size"])
    elements = (p["inner"] + p["rows"]) * -(-p["columns"] // 2) * 2
    return 4 * elements * (CORES if is_one_each(matrices, elements) else 1) + copies_bytes(p["inner"])


def turned_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """As of other products, and matrices; elements of the second factor that a core writes down, and results that it
    places."""
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = (extents.get(name, 1) for name in ("m", "n", "k"))
    if not is_one_each(matrices, (inner + rows) * -(-columns // 2) * 2):
        moved = matrices * inner * columns / cores, matrices * rows * columns / cores
        return *product_features(op, types, extents, cores), float(matrices), *moved
    own = -(-matrices // cores)
    sums = float(own * rows * -(-columns // 2))
    of_sums = 1.0, float(own * rows), sums, sums * inner
    return *of_sums, float(own), float(own * inner * columns), float(own * rows * columns)


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


def largest_product(factors: Iterable[tuple[str, int]]) -> int:
    """Of types and the integers that stand for zero."""
    ends = [(limits(dtype), zero) for dtype, zero in factors]
    return math.prod(max(high - zero, zero - low) for (low, high), zero in ends)


def byte_sums_bytes(rows: int, inner: int, columns: int, largest: int) -> int:
    """Tables, a row of what sums begin with, the second factor as floats, sums, totals of longer ones, copies."""
    width, sums = -(-columns // 2) * 2, 1 + (inner > LARGEST_TOTAL // largest)
    return 4 * (512 + width + inner * width + sums * rows * width) + copies_bytes(inner)


def product_bytes(op: Op, types: Types) -> int:
    p, product = cast("dict[str, int]", op.params(types)), cast(MatMul, op)
    largest = largest_product(((types["A"].dtype, product.a_zero), (types["B"].dtype, product.b_zero)))
    return byte_sums_bytes(p["rows"], p["inner"], p["columns"], largest)


def bytes_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """As of floats; and elements of the second factor that a core converts."""
    inner, columns = extents.get("k", 1), extents.get("n", 1)
    return *product_features(op, types, extents, cores), inner * columns / cores


# ---- convolutions -----------------------------------------------------------------------------------------------


def conv_objection(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if conv.channels_last or conv.groups != 1:
        return "channels are last, or in several groups"
    inner = math.prod(types["W"].shape[1:])
    return None if inner >= LEAST else f"it sums fewer than {LEAST} products"


def conv_sizes(types: Types) -> tuple[int, int, int]:
    """Results of one filter and image, products of each, filters."""
    return math.prod(types["Y"].shape[2:]), math.prod(types["W"].shape[1:]), types["W"].shape[0]


def conv_bytes(op: Op, types: Types) -> int:
    conv = cast(Conv, op)
    largest = largest_product(((types["X"].dtype, conv.x_zero), (types["W"].dtype, conv.w_zero)))
    return byte_sums_bytes(*conv_sizes(types), largest)


def float_conv_bytes(op: Op, types: Types) -> int:
    """A row of what sums begin with, filters as columns, sums, copies."""
    pixels, inner, filters = conv_sizes(types)
    return 4 * (1 + inner + pixels) * -(-filters // 2) * 2 + copies_bytes(inner)


def conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; results of one filter, pairs of results, their products of two; filters that a core turns; products
    that it copies: of one core."""
    images, filters = extents.get("n", 1), extents.get("f", 1)
    pixels = math.prod(size for name, size in extents.items() if name not in ("n", "g", "f", "c", "r", "s"))
    inner = math.prod(extents.get(name, 1) for name in ("c", "r", "s"))
    own, pairs = images * -(-pixels // cores), -(-filters // 2)
    return 1.0, float(own), float(own * pairs), float(own * pairs * inner), inner * filters / cores, float(own * inner)


KERNELS = (
    Kernel(
        MatMul, "matmul_columns_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, scratch=copied_bytes,
        objection=columns_objection, cooperative=True, whole=frozenset({"k"}), multiples={"m": 8, "n": 16},
        features=product_features, header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_turned_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, scratch=turned_bytes,
        objection=few_products, cooperative=True, whole=frozenset({"k"}), multiples={"m": 8, "n": 16},
        features=turned_features, header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_bytes.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
        scratch=product_bytes, objection=few_products, cooperative=True, whole=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, features=bytes_features, header="matmul.h",
    ),
    Kernel(
        Conv, "conv_bytes.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
        scratch=conv_bytes, objection=conv_objection, cooperative=True, whole=frozenset({"c", "r", "s"}),
        multiples={"f": 16}, features=conv_features, header="conv.h",
    ),
    Kernel(
        Conv, "conv_streams_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {}, scratch=float_conv_bytes,
        objection=conv_objection, cooperative=True, whole=frozenset({"c", "r", "s"}), multiples={"f": 16},
        features=conv_features, header="conv.h", activations=(Relu,),
    ),
)  # fmt: skip
