"""The kernels of ITA: the core that moves data gives its jobs; and the way into tiles and out of them, by all cores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.target.in_c import HeadersInC
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.ita.attention import ItaAttend, ItaHead, ItaSoftmax
from tilewright.targets.ita.cycles import (
    LAYER_START,
    attend_cycles,
    head_cycles,
    job_cycles,
    product_cycles,
)
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.linear import ItaFeedForward, ItaLinear
from tilewright.targets.ita.op import MOST_TILES
from tilewright.targets.ita.sums import ItaSum
from tilewright.targets.ita.tiling import ItaRows, ItaTiles

BYTES8 = frozenset({"int8", "uint8"})
in_c = HeadersInC(Path(__file__).parent / "kernels")
CALL, LAYER, FORGETTING = 235, 30, 170
"""Cycles around the jobs of a call, on the virtual Snitch cluster: until ITA has the first of them and since it has
ended the last; more for each layer behind the first; more for each that it has to be cleared after."""
CONTEXTS = 4
"""Jobs that wait and run."""


def _fits(*sizes: int) -> str | None:
    most = max(sizes)
    return None if most <= MOST_TILES else f"{most} tiles of an axis do not fit ITA's registers, {MOST_TILES} do"


def _estimate(work: int, layers: int) -> CycleEstimate:
    """The core that gives more jobs than wait at once is held up, but has nothing else to do for ITA meanwhile."""
    engine = work + layers * LAYER_START + (layers - 1) * LAYER
    return CycleEstimate(submitting=CALL, engine=engine, fills_queue=work > CONTEXTS * job_cycles(True, True))


def _batch(types: Types, extents: Mapping[str, int], name: str) -> int:
    """Matrices of a tile, of those that an operand has."""
    return math.prod(extents[f"d{axis}"] for axis in range(len(types[name].shape) - 4))


# ---- products -------------------------------------------------------------------------------------------------------


def _linear_fits(op: Op, types: Types) -> str | None:
    """Rows and columns may be cut."""
    return _fits(types["X"].shape[-3])


def _linear_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    batch, tiles = _batch(types, extents, "X"), extents["r"] * extents["c"]
    return _estimate(batch * product_cycles(tiles, extents["k"], "bias" in types), batch)


def _feed_forward_fits(op: Op, types: Types) -> str | None:
    return _fits(types["X"].shape[-3], types["V"].shape[0])


def _feed_forward_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    batch, rows, e, f = _batch(types, extents, "X"), extents["r"], types["X"].shape[-3], types["V"].shape[0]
    return _estimate(batch * (product_cycles(rows * f, e) + product_cycles(rows * e, f)), batch)


def _sum_fits(op: Op, types: Types) -> str | None:
    return _fits(*types["A"].shape[-4:-2])


def _sum_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    batch = _batch(types, extents, "A")
    return _estimate(batch * product_cycles(extents["r"] * extents["c"], 2), batch)


# ---- attention ------------------------------------------------------------------------------------------------------


def _attend_fits(op: Op, types: Types) -> str | None:
    return _fits(types["K"].shape[-4], instance(op, ItaAttend).width)


def _attend_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    heads, keys = _batch(types, extents, "Q") * extents["h"], types["K"].shape[-4]
    forgets = FORGETTING * (extents["s"] != keys)
    return _estimate(heads * (attend_cycles(extents["s"], keys, instance(op, ItaAttend).width) + forgets), heads)


def _head_fits(op: Op, types: Types) -> str | None:
    return _fits(*types["X"].shape[:2], types["Wq"].shape[0])


def _head_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    (s, e), p = types["X"].shape[:2], types["Wq"].shape[0]
    return _estimate(head_cycles(s, e, p), 1)


# ---- into tiles and out ---------------------------------------------------------------------------------------------

COPY, FULL_ROW, OTHER_ROW = 300, 34, 200
"""Cycles of a call, and for 64 bytes of a row: where they are copied as they are, and otherwise."""


def _tiles_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    """Of both ways; the tensor in rows is the one with fewer axes."""
    rows = min(types["X"].shape, types["Y"].shape, key=len)[-2:]
    is_plain = not any(size % SIDE for size in rows) and types["X"].dtype == types["Y"].dtype
    matrices = math.prod(size for loop, size in extents.items() if loop.startswith("d"))
    count = matrices * extents["r"] * extents["c"] * SIDE
    return CycleEstimate(cores=COPY + -(-count // cores) * (FULL_ROW if is_plain else OTHER_ROW))


SOFTMAX_CALL, SOFTMAX_ROW, SHARE = 200, 60, 24
"""Cycles of the softmax by cores: of a call, of a row, of a share."""


def _softmax_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    length = types["X"].shape[-1]
    rows = math.prod(extents.values())
    return CycleEstimate(cores=SOFTMAX_CALL + -(-rows // cores) * (SOFTMAX_ROW + SHARE * length))


CORE_KERNELS = (Kernel(ItaSoftmax, "ita_softmax.c", "X:int8 -> Y:uint8", {}, cooperative=True, cycles=_softmax_cycles),)
"""What cores compute in its place."""

ON_ITA = partial(Kernel, offloaded=True, can_preprogram=True, in_order=True)

KERNELS = (
    ON_ITA(
        ItaLinear, "ita_linear.c", "X:int8 W:int8 bias:uint8 -> Y:int8", {}, unsupported_reason=_linear_fits,
        single_buffered=frozenset({"X", "W"}), unsplit_loops=frozenset({"k"}), cycles=_linear_cycles,
    ),
    ON_ITA(
        ItaFeedForward, "ita_feed_forward.c", "X:int8 V:int8 b:uint8 W:int8 c:uint8 -> Y:int8", {},
        scratch=in_c("tw_ita_feed_forward_scratch"), unsupported_reason=_feed_forward_fits, cycles=_feed_forward_cycles,
    ),
    ON_ITA(
        ItaSum, "ita_sum.c", "A:int8 B:int8 W:int8 bias:uint8 -> Y:int8", {}, unsupported_reason=_sum_fits,
        cycles=_sum_cycles,
    ),
    ON_ITA(
        ItaAttend, "ita_attend.c", "Q:int8 K:int8 V:int8 -> Y:int8", {}, scratch=in_c("tw_ita_attend_scratch"),
        unsupported_reason=_attend_fits, cycles=_attend_cycles,
    ),
    ON_ITA(
        ItaHead, "ita_head.c",
        "X:int8 Y:int8 Wq:int8 Wk:int8 Wv:int8 Wo:int8 bq:uint8 bk:uint8 bv:uint8 bo:uint8 -> Z:int8", {},
        scratch=in_c("tw_ita_head_scratch"), unsupported_reason=_head_fits, cycles=_head_cycles,
    ),
    Kernel(ItaTiles, "ita_tiles.c", "X -> Y:int8", {"X": BYTES8}, cooperative=True, cycles=_tiles_cycles),
    Kernel(ItaRows, "ita_rows.c", "X:int8 -> Y", {"Y": BYTES8}, cooperative=True, cycles=_tiles_cycles),
)  # fmt: skip
