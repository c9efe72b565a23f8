"""Kernels of sums of products: panels of four rows, blocks of 4 x 4 sums."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import NOT_AWAY
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.target.in_c import HeadersInC
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.generic.sizes import KERNELS
from tilewright.targets.mempool.native_samples import conv_samples, product_samples

PANEL = 4
"""TW_PANEL in C: rows side by side."""
MOST_CORES = 256
"""Of all members of the family."""
MOST_TAPS = 64
"""TW_MOST_TAPS in C."""
_FOLDER = Path(__file__).parent
in_c = HeadersInC(_FOLDER / "kernels", _FOLDER.parent / "cluster" / "kernels", KERNELS)


def conv_unsupported(op: Op, types: Types) -> str | None:
    conv = cast(Conv, op)
    if not conv.channels_last:
        return "it is not channels last"
    return "each group has one channel" if conv.groups > 1 and types["W"].shape[-1] == 1 else None


def depthwise_unsupported(op: Op, types: Types) -> str | None:
    conv, filters = cast(Conv, op), types["W"].shape[0]
    if not conv.channels_last:
        return "it is not channels last"
    if types["W"].shape[-1] != 1 or filters != conv.groups:
        return "not every group has one channel and one filter"
    if conv.w_zero or _taps(types) > MOST_TAPS:
        return f"filters have a zero point, or more than {MOST_TAPS} taps"
    return None


def _taps(types: Types) -> int:
    return math.prod(types["W"].shape[1:-1])


def kernels(l1: int) -> tuple[Kernel, ...]:
    """For an L1 of so many bytes."""

    chunk = in_c("tw_panels_chunk", l1)

    def conv_params(op: Op, types: Types) -> Params:
        fields = params_of(op, types)
        return {**fields, "chunk": chunk(fields, types)}

    return (
        Kernel(
            MatMul, "matmul_panels.c", "A B C:int32 mul:int32 add:int32 -> Y", {"A": NARROW, "B": NARROW, "Y": TOTALS},
            scratch=in_c("tw_matmul_panels_scratch", MOST_CORES), roundings=NOT_AWAY, cooperative=True,
            unsplit_loops=frozenset({"k"}), multiples={"m": PANEL, "n": PANEL},
            work=in_c.work("tw_matmul_panels_work"), header="matmul.h", samples=product_samples,
        ),
        Kernel(
            Conv, "depthwise_quads.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
            scratch=in_c("tw_depthwise_quads_scratch"), unsupported_reason=depthwise_unsupported, roundings=NOT_AWAY,
            cooperative=True, unsplit_loops=frozenset({"r", "s"}), multiples={"g": PANEL},
            work=in_c.work("tw_depthwise_quads_work"), header="conv.h",
        ),
        Kernel(
            Conv, "conv_panels.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
            params=conv_params, scratch=in_c("tw_conv_panels_scratch", MOST_CORES),
            unsupported_reason=conv_unsupported, roundings=NOT_AWAY, cooperative=True,
            unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": PANEL},
            work=in_c.work("tw_conv_panels_work"), header="conv.h", samples=conv_samples,
        ),
    )  # fmt: skip
