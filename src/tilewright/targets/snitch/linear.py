"""Kernels of sums of products, with streams and repetition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import limits
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.snitch import long_samples

CORES = 8
"""At most; each has working memory of its own."""
COPIES = 64
"""TW_COPIES in C: elements of a row of a that are copied at a time."""

LEAST = 4
"""Products of a sum, so that a stream of them is not read ahead into the row after the next; TW_LEAST in C."""


# ---- what sums take ---------------------------------------------------------------------------------------------

FLOAT_COPYING, BYTE_COPYING, POINT_COPYING, WINDOW_COPYING = 6, 10, 10, 20
"""Cycles for each element of the first factor that is copied, roughly."""


def column_steps(columns: int) -> int:
    """tw_steps_of in C."""
    pairs = -(-columns // 2)
    small = (pairs >> 2 & 1) + (pairs >> 1 & 1) + (pairs & 1)
    return (pairs & ~7) + 6 * small


def column_parts(rows: int, columns: int, copying: int, cores: int) -> int:
    """tw_column_parts in C."""
    found, fewest = 1, math.inf
    for parts in (parts for parts in (1, 2, 4, cores) if cores % parts == 0):
        steps = -(-rows // (cores // parts)) * max(column_steps(-(-columns // parts)), copying)
        found, fewest = (parts, steps) if steps <= fewest else (found, fewest)
    return found


def sum_features(rows: int, columns: int, inner: int, copying: int, cores: int) -> tuple[float, ...]:
    """Of the busiest core: streams that it describes, rows that these give, cycles of products or of copying where that
    takes longer, and pairs of sums."""
    width = -(-columns // 2) * 2
    parts = column_parts(rows, width, copying, cores)
    unit = 16 if width >= 16 * parts else 2
    own_rows = -(-rows // (cores // parts))
    units = -(-width // unit)
    own_pairs = min(-(-units // parts) * unit, width) // 2
    runs = -(-inner // COPIES)
    described, cycles, left = 0, 0.0, own_pairs
    for block in (8, 4, 2, 1):
        blocks, left = divmod(left, block)
        if blocks:
            described += runs
            products, copied = blocks * max(block, 4) * inner, copying * inner
            cycles += own_rows * (max(products, copied) if block >= 4 else products + copied)
    return float(described), float(described * own_rows), cycles, float(own_rows * own_pairs * runs)


def times(count: int, features: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(count * feature for feature in features)


def results(requant: Requant | None, count: float) -> tuple[float, float, float]:
    """As they are, requantised in words, and as tw_requantise has them, which takes longer."""
    if requant is None:
        return count, 0.0, 0.0
    return (0.0, 0.0, count) if requant.has_exponents or requant.shift == 0 else (0.0, count, 0.0)


# ---- floats -----------------------------------------------------------------------------------------------------


def columns_unsupported(op: Op, types: Types) -> str | None:
    """Two columns are 8 bytes, which begin at a multiple of 8 in all rows of all matrices."""
    p = cast("dict[str, int]", params_of(op, types))
    apart = cast("dict[str, list[int]]", params_of(op, types))
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
    return copies_bytes(cast(int, params_of(op, types)["inner"]))


MANY, SMALL = 8, 1024
"""As in C: so many matrices, whose factor and sums have at most so many elements, are taken by one core each."""


def is_one_each(matrices: int, elements: int) -> bool:
    return matrices >= MANY and elements <= SMALL


def turned_bytes(op: Op, types: Types) -> int:
    """The second factor with columns side by side, sums, copies."""
    p = cast("dict[str, int]", params_of(op, types))
    matrices = math.prod(cast("dict[str, list[int]]", p)["size"])
    inner = max(p["inner"], LEAST)
    elements = (inner + p["rows"]) * -(-p["columns"] // 2) * 2
    return 4 * elements * (CORES if is_one_each(matrices, elements) else 1) + copies_bytes(inner)


def turned_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """As of other products, and matrices; elements of the second factor that a core writes down, and results that it
    places."""
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = extents.get("m", 1), extents.get("n", 1), max(extents.get("k", 1), LEAST)
    one_each = is_one_each(matrices, (inner + rows) * -(-columns // 2) * 2)
    own, team = (-(-matrices // cores), 1) if one_each else (matrices, cores)
    of_sums = times(own, sum_features(rows, columns, inner, FLOAT_COPYING, team))
    return 1.0, *of_sums, float(own), own * inner * columns / team, own * rows * columns / team


def product_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = (extents.get(name, 1) for name in ("m", "n", "k"))
    return 1.0, *times(matrices, sum_features(rows, columns, inner, FLOAT_COPYING, cores))


# ---- bytes ------------------------------------------------------------------------------------------------------

LARGEST_TOTAL = 4194303
"""Of a sum of products that floats hold exactly beside 1.5 * 2**23, as in C."""


def largest_product(factors: Iterable[tuple[str, int]]) -> int:
    """Of types and the integers that stand for zero."""
    ends = [(limits(dtype), zero) for dtype, zero in factors]
    return math.prod(max(high - zero, zero - low) for (low, high), zero in ends)


def byte_sum_features(rows: int, columns: int, inner: int, largest: int, copying: int, cores: int) -> tuple[float, ...]:
    """As of floats, of all groups that a sum is taken in; sums of groups that a core adds up, where there are many."""
    safe = LARGEST_TOTAL // largest
    groups = [min(safe, inner - before) for before in range(0, inner, safe)]
    of_groups = (sum_features(rows, columns, group, copying, cores) for group in groups)
    added = len(groups) * rows * columns / cores if len(groups) > 1 else 0.0
    return *(sum(parts) for parts in zip(*of_groups, strict=True)), added


def largest_of_product(op: Op, types: Types) -> int:
    product = cast(MatMul, op)
    return largest_product(((types["A"].dtype, product.a_zero), (types["B"].dtype, product.b_zero)))


def largest_of_conv(op: Op, types: Types) -> int:
    conv = cast(Conv, op)
    return largest_product(((types["X"].dtype, conv.x_zero), (types["W"].dtype, conv.w_zero)))


def byte_sums_bytes(rows: int, inner: int, columns: int, largest: int) -> int:
    """Tables, a row of what sums begin with, the second factor as floats, sums, totals of longer ones, copies."""
    width, sums = -(-columns // 2) * 2, 1 + (inner > LARGEST_TOTAL // largest)
    return 4 * (512 + width + inner * width + sums * rows * width) + copies_bytes(inner)


def product_bytes(op: Op, types: Types) -> int:
    p = cast("dict[str, int]", params_of(op, types))
    return byte_sums_bytes(p["rows"], max(p["inner"], LEAST), p["columns"], largest_of_product(op, types))


def bytes_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; what sums take; elements of the second factor that a core converts, and its results, by the way to
    them."""
    matrices = math.prod(size for name, size in extents.items() if name not in ("m", "n", "k"))
    rows, columns, inner = extents.get("m", 1), extents.get("n", 1), max(extents.get("k", 1), LEAST)
    largest = largest_of_product(op, types)
    of_sums = times(matrices, byte_sum_features(rows, columns, inner, largest, BYTE_COPYING, cores))
    converted = inner * columns / cores * (1 if math.prod(types["B"].shape[:-2]) == 1 else matrices)
    return 1.0, *of_sums, converted, *results(cast(MatMul, op).requant, matrices * rows * columns / cores)


# ---- convolutions -----------------------------------------------------------------------------------------------


def conv_unsupported(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if conv.channels_last or conv.groups != 1:
        return "channels are last, or in several groups"
    inner = math.prod(types["W"].shape[1:])
    return None if inner >= LEAST else f"it sums fewer than {LEAST} products"


def conv_sizes(types: Types) -> tuple[int, int, int]:
    """Results of one filter and image, products of each, filters."""
    return math.prod(types["Y"].shape[2:]), math.prod(types["W"].shape[1:]), types["W"].shape[0]


def conv_bytes(op: Op, types: Types) -> int:
    return byte_sums_bytes(*conv_sizes(types), largest_of_conv(op, types))


def float_conv_bytes(op: Op, types: Types) -> int:
    """A row of what sums begin with, filters as columns, sums, copies."""
    pixels, inner, filters = conv_sizes(types)
    return 4 * (1 + inner + pixels) * -(-filters // 2) * 2 + copies_bytes(inner)


def conv_loops(extents: Mapping[str, int]) -> tuple[int, int, int, int, int]:
    """Images, results of one filter in each of them, filters, products of a result, cycles of copying one operand."""
    images, filters = extents.get("n", 1), extents.get("f", 1)
    pixels = math.prod(size for name, size in extents.items() if name not in ("n", "g", "f", "c", "r", "s"))
    taps = extents.get("r", 1) * extents.get("s", 1)
    return images, pixels, filters, extents.get("c", 1) * taps, POINT_COPYING if taps == 1 else WINDOW_COPYING


def conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; what products are of; elements of filters that a core turns; results."""
    images, pixels, filters, inner, copying = conv_loops(extents)
    of_sums = times(images, sum_features(pixels, filters, inner, copying, cores))
    return 1.0, *of_sums, inner * filters / cores, images * pixels * filters / cores


def byte_conv_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; what sums take; elements of filters that a core turns; results, by the way to them."""
    images, pixels, filters, inner, copying = conv_loops(extents)
    largest = largest_of_conv(op, types)
    of_sums = times(images, byte_sum_features(pixels, filters, inner, largest, copying, cores))
    found = results(cast(Conv, op).requant, images * pixels * filters / cores)
    return 1.0, *of_sums, inner * filters / cores, *found


KERNELS = (
    Kernel(
        MatMul, "matmul_columns_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, scratch=copied_bytes,
        unsupported_reason=columns_unsupported, cooperative=True, unsplit_loops=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, features=product_features, header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_strided_f32.c", "A:float32 B:float32 C:float32 -> Y:float32", {}, scratch=turned_bytes,
        cooperative=True, unsplit_loops=frozenset({"k"}), multiples={"m": 8, "n": 16},
        features=turned_features, header="matmul.h", activations=(Relu,),
    ),
    Kernel(
        MatMul, "matmul_bytes.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
        scratch=product_bytes, cooperative=True, unsplit_loops=frozenset({"k"}),
        multiples={"m": 8, "n": 16}, features=bytes_features, header="matmul.h",
        samples=long_samples.product_samples,
    ),
    Kernel(
        Conv, "conv_bytes.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
        scratch=conv_bytes, unsupported_reason=conv_unsupported, cooperative=True,
        unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 16}, features=byte_conv_features, header="conv.h",
        samples=long_samples.conv_samples,
    ),
    Kernel(
        Conv, "conv_streams_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {}, scratch=float_conv_bytes,
        unsupported_reason=conv_unsupported, cooperative=True, unsplit_loops=frozenset({"c", "r", "s"}),
        multiples={"f": 16}, features=conv_features, header="conv.h", activations=(Relu,),
    ),
)  # fmt: skip
