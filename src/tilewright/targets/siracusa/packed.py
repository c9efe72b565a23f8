"""Products with weights of few bits, as the cores take them: packed, and unpacked on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes.pack_weights import packed_product
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.target.target import Offer
from tilewright.targets.siracusa.features import is_exact, up

RESULTS = frozenset({"int8", "uint8", "int32"})
CALL, STRIP, OWN_FACTORS, ROW, WORD, REST = 320.0, 40.0, 110.0, 120.0, 1.5, 60.0
"""Cycles of a core: the call, a strip of four columns, its factors, a row of it, four codes of four columns, and codes
that do not fill a word."""
ROW_SUM = 2.6
"""Cycles for four bytes of a row, whose sum every core needs."""
EXACT = 330.0
"""A row of a strip that is requantised in 64 bits."""


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
    codes = 32 // product.bits
    differ = any(name in types and types[name].elements > 1 for name in ("mul", "add"))
    row = ROW + 2 * WORD * (codes // 4) * 4 * (inner // codes) / 2 + REST * bool(inner % codes)
    row += EXACT * is_exact(product.requant, types)
    total = CALL + rows * ROW_SUM * up(inner, 4) * bool(product.least)
    return CycleEstimate(total + strips * (up(rows, 8) * (STRIP + OWN_FACTORS * differ) + rows * row))


KERNELS = (
    Kernel(
        PackedMatMul, "matmul_packed_dots.c", "A B:uint8 C:int32 mul:int32 add:int32 -> Y",
        {"A": NARROW, "Y": RESULTS}, objection=objection, cooperative=True, multiples={"n": 4}, least={"n": 4},
        cycles=cycles, header="matmul_packed.h",
    ),
)  # fmt: skip
