"""Products with weights of few bits, as the cores take them: packed, and unpacked on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import NOT_AWAY, Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes.pack_weights import packed_product
from tilewright.target.extents import up
from tilewright.target.kernel import Kernel, Types
from tilewright.target.target import Offer

RESULTS = frozenset({"int8", "uint8", "int16", "int32"})
MOST_NARROW_SHIFT = 20
"""TW_LARGEST_SHIFT in C."""
ROWS = 4
"""TW_ROWS in C: of a strip, at a time."""


def packed_forms(graph: Graph, node: Node) -> Sequence[Offer]:
    found = packed_product(graph, node)
    if found is None:
        return ()
    names = {name: f"{node.key} packed {name}" for name in found.constants}
    inputs = [found.image, *(names.get(name.rstrip("?"), "") for name in found.op.operands[1:])]
    while not inputs[-1]:
        inputs.pop()
    return (Offer(found.op, tuple(inputs), {names[name]: array for name, array in found.constants.items()}),)


def unsupported_reason(op: Op, types: Types) -> str | None:
    if types["B"].shape[0] < 4:
        return f"{types['B'].shape[0]} columns; at least 4 are needed"
    wide = types["Y"].dtype == "int32" and cast(PackedMatMul, op).requant is not None
    return "it is requantised to int32" if wide else None


def features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call and the sums of its rows; strips of four columns, and those with factors of their own; rows of them,
    their codes, those of rows that do not begin at words, and those with a word that is not whole; results of fewer
    bits, made in 32 bits and in 64."""
    product, inner = cast(PackedMatMul, op), types["A"].shape[-1]
    rows = math.prod(size for loop, size in extents.items() if loop != "n")
    strips, rest = up(up(extents["n"], 4), cores), inner % (32 // product.bits)
    blocks, own = float(strips * up(rows, ROWS)), float(strips * rows)
    differ = any(name in types and types[name].elements > 1 for name in ("mul", "add"))
    exact = product.requant is not None and _is_exact(product.requant, types)
    codes = own * (inner - rest)
    return (
        1.0, float(rows * inner * (product.least != 0)), blocks, blocks * differ, own, codes,
        codes * (rows > 1 and inner % 4 > 0), own * (rest > 0), own * (product.requant is not None and not exact),
        own * exact,
    )  # fmt: skip


def _is_exact(requant: Requant, types: Types) -> bool:
    """Whether totals are requantised in 64 bits, as far as that is known here; columns.h has the rules."""
    if types["Y"].dtype == "int16":
        return requant.has_exponents or "add" in types
    clips_at_once = requant.low == (-requant.high - 1 if types["Y"].dtype == "int8" else 0)
    if requant.has_exponents or not clips_at_once:
        return True
    if requant.shift > MOST_NARROW_SHIFT:
        return requant.shift <= 32 or "add" in types
    return requant.rounding == Rounding.HALF_EVEN


KERNELS = (
    Kernel(
        PackedMatMul, "matmul_packed_dots.c", "A B:uint8 C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "Y": RESULTS},
        unsupported_reason=unsupported_reason, roundings=NOT_AWAY, cooperative=True, multiples={"n": 4},
        min_tile={"n": 4}, features=features, header="matmul_packed.h",
    ),
)  # fmt: skip
