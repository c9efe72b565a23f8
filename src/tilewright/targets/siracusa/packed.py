"""Products with weights of few bits, as the cores take them: packed, and unpacked on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ops._linear import NARROW
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes.pack_weights import packed_product
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.siracusa.features import up

RESULTS = frozenset({"int8", "uint8", "int32"})
MOST_NARROW_SHIFT = 20
"""TW_LARGEST_SHIFT in C."""
ROWS = 4
"""TW_ROWS in C: of a strip, at a time."""
CALL, STRIP, OWN_FACTORS = 600.0, 30.0, 300.0
"""Cycles of a core: the call, a strip of four columns, its factors."""
ROW, CODE, REST, NARROWED, EXACT = 125.0, 3.1, 160.0, 80.0, 450.0
"""A row of a strip, a code of each of the four columns, codes that do not fill a word; results of fewer bits, made in
32 bits or in 64."""
ROW_SUM, APART = 0.8, 0.55
"""For each byte of a row: its part in a sum that every core needs; and where rows do not begin at words."""


def packed_forms(graph: Graph, node: Node) -> Sequence[Offer]:
    found = packed_product(graph, node)
    if found is None:
        return ()
    names = {name: f"{node.key} packed {name}" for name in found.constants}
    inputs = [found.image, *(names.get(name.rstrip("?"), "") for name in found.op.operands[1:])]
    while not inputs[-1]:
        inputs.pop()
    return (Offer(found.op, tuple(inputs), {names[name]: array for name, array in found.constants.items()}),)


def objection(op: Op, types: Types) -> str | None:
    if types["B"].shape[0] < 4:
        return f"{types['B'].shape[0]} columns; at least 4 are needed"
    wide = types["Y"].dtype == "int32" and cast(PackedMatMul, op).requant is not None
    return "it is requantised to int32" if wide else None


def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    product, inner = cast(PackedMatMul, op), types["A"].shape[-1]
    rows = math.prod(size for loop, size in extents.items() if loop != "n")
    strips = up(up(extents["n"], 4), cores)
    differ = any(name in types and types[name].elements > 1 for name in ("mul", "add"))
    total = CALL + rows * ROW_SUM * inner * bool(product.least)
    own = up(rows, ROWS) * (STRIP + OWN_FACTORS * differ) + rows * _row_cycles(product, types, rows)
    return CycleEstimate(total + strips * own)


def _row_cycles(op: PackedMatMul, types: Types, rows: int) -> float:
    """Of four columns."""
    inner, codes = types["A"].shape[-1], 32 // op.bits
    along = CODE + APART * (rows > 1 and inner % 4 > 0)
    finish = 0.0 if op.requant is None else EXACT if _is_exact(op.requant, types) else NARROWED
    return ROW + along * (inner - inner % codes) + REST * bool(inner % codes) + finish


def _is_exact(requant: Requant, types: Types) -> bool:
    """Whether totals are requantised in 64 bits, as far as that is known here; columns.h has the rules."""
    clips_at_once = requant.low == (-requant.high - 1 if types["Y"].dtype == "int8" else 0)
    if requant.has_exponents or not clips_at_once:
        return True
    if requant.shift > MOST_NARROW_SHIFT:
        return requant.shift <= 32 or "add" in types
    return requant.rounding == "half_even"


KERNELS = (
    Kernel(
        PackedMatMul, "matmul_packed_dots.c", "A B:uint8 C:int32 mul:int32 add:int32 -> Y",
        {"A": NARROW, "Y": RESULTS}, objection=objection, cooperative=True, multiples={"n": 4}, least={"n": 4},
        cycles=cycles, header="matmul_packed.h",
    ),
)  # fmt: skip
