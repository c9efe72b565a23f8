"""The kernel of ITAPool's ITAs: cores bring blocks into place, sleep while ITAs work, and join results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.target.in_c import HeadersInC
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.ita.cycles import LAYER_START, head_cycles
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.pool.block import back_bytes, block_bytes, front_bytes
from tilewright.targets.ita.pool.op import PoolHeads
from tilewright.targets.ita.pool.product_op import PoolProduct

ITAS = 4
BYTES8 = frozenset({"int8", "uint8"})
in_c = HeadersInC(Path(__file__).parent / "kernels")
CALL, ROUND, WORD, ROW = 1500, 500, 4.0, 40.0
"""Cycles of a call; of up to four heads, besides those of ITA; of a word that a core copies; of a row of results."""


def _keys(types: Types) -> int:
    return types.get("Y", types["X"]).shape[-2]


def _cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    one, keys = instance(op, PoolHeads), _keys(types)
    batch = math.prod(size for loop, size in extents.items() if loop.startswith("d"))
    count, rounds = extents["h"], -(-extents["h"] // ITAS)
    work = LAYER_START + head_cycles(keys // SIDE, one.inner // SIDE, one.width // SIDE)
    words = count * (front_bytes(one.inner, one.width) + back_bytes(one.inner, one.width)) / 4
    words += batch * 2 * keys * one.inner / 4
    rows = batch * count * types["X"].shape[-2]
    around = CALL + batch * rounds * ROUND + (words * WORD + rows * ROW) / cores
    return CycleEstimate(cores=around + batch * rounds * work)


# ---- products -------------------------------------------------------------------------------------------------------


def _product_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    one, blocks = instance(op, PoolProduct), extents["c"]
    rows = math.prod(size for loop, size in extents.items() if loop != "c")
    starts = -(-rows // SIDE) * -(-blocks // ITAS)
    words = min(ITAS, blocks) * block_bytes(SIDE, one.inner, SIDE) / 8 + blocks * SIDE * one.inner / 4
    words += starts * SIDE * one.inner / 4
    around = CALL + starts * ROUND + (words * WORD + rows * blocks * ROW) / cores
    return CycleEstimate(cores=around + starts * (LAYER_START + head_cycles(1, one.inner // SIDE, 1)))


KERNELS = (
    Kernel(
        PoolHeads, "pool_heads.c", "X Y front:int8 back:int8 -> Z:int8", {"X": BYTES8, "Y": BYTES8},
        scratch=in_c("tw_pool_heads_scratch"), cooperative=True, cycles=_cycles,
    ),
    Kernel(
        PoolProduct, "pool_product.c", "X W:int8 bias:int32 -> Z", {"X": BYTES8, "Z": BYTES8},
        scratch=in_c("tw_pool_product_scratch"), cooperative=True, multiples={"m": SIDE}, cycles=_product_cycles,
    ),
)  # fmt: skip
