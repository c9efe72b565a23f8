"""Kernels of sums of floats over some axes, with streams and repetition."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducesum import ReduceSum
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.snitch.sizes import in_c

LOOPS = 3
"""That may be reduced beside the pairs of a run or of neighbours."""


def loops_of(op: Op, types: Types) -> dict[str, list[int]]:
    return cast("dict[str, list[int]]", params_of(op, types))


def reduce_unsupported(op: Op, types: Types) -> str | None:
    """Two elements are 8 bytes, which begin at a multiple of 8."""
    p = loops_of(op, types)
    if 0 in types["X"].shape or not p["size"] or not p["kept_size"]:
        return "there is nothing to reduce, or to keep"
    by_columns = p["kept_stride"][-1] == 1
    inner = "kept_size" if by_columns else "size"
    strides = [*p["stride"], *p["kept_stride"]]
    if (not by_columns and p["stride"][-1] != 1) or p[inner][-1] % 2 or len(p["size"]) > LOOPS:
        return f"neighbours are not in pairs, or more than {LOOPS} loops are reduced"
    return "rows begin between two multiples of 8 bytes" if sum(step % 2 for step in strides) > 1 else None


def sums(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, unsupported_reason=reduce_unsupported, cooperative=True,
        work=in_c.work("tw_reduce_streams_work"), header="reduce.h",
    )  # fmt: skip


KERNELS = (sums(ReduceMean, "reducemean_streams.c"), sums(ReduceSum, "reducesum_streams.c"))
