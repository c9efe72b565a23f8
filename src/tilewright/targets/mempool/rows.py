"""Kernels on rows, windows and columns of bytes: softmaxes, normalisations, pools, reductions; all cores together."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops._dialect import INTEGERS
from tilewright.ops._linear import NARROW
from tilewright.ops._reduction import Reduction
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.linear import channels_last
from tilewright.targets.mempool.elementwise import PACKED, several_types
from tilewright.targets.pulp.dialect import long_rows, softmax_params, softmax_unsupported
from tilewright.targets.pulp.reductions import rows_unsupported

BYTES = {"X": NARROW, "Y": NARROW}


def pool_unsupported(op: Op, types: Types) -> str | None:
    return channels_last(op, types) or several_types(op, types)


def extreme_unsupported(op: Op, types: Types) -> str | None:
    return several_types(op, types) or rows_unsupported(op, types)


def no_elements(op: Op, types: Types) -> str | None:
    """Rows that have no largest one."""
    return None if types["X"].shape[-1] else "rows of no elements"


def mean(op: type[Reduction], source: str, header: str) -> Kernel:
    return Kernel(op, source, "X -> Y", BYTES, unsupported_reason=rows_unsupported, cooperative=True, header=header)


def halving(op: type[Op], source: str, header: str) -> Kernel:
    return Kernel(op, source, "X -> Y", BYTES, unsupported_reason=no_elements, cooperative=True, header=header)


KERNELS = (
    Kernel(
        iLayerNorm, "ilayernorm_lanes.c", "X W:int32 B:int32 -> Y:int8", {"X": NARROW}, unsupported_reason=long_rows,
        cooperative=True, header="integernorm.h",
    ),
    Kernel(
        iRMSNorm, "irmsnorm_lanes.c", "X W:int32 -> Y:int8", {"X": NARROW}, unsupported_reason=long_rows,
        cooperative=True, header="integernorm.h",
    ),
    Kernel(
        iNoNorm, "inonorm_shared.c", "X W B -> Y:int8", {"X": INTEGERS, "W": INTEGERS, "B": INTEGERS}, cooperative=True,
        header="inonorm.h",
    ),
    Kernel(
        iSoftmax, "isoftmax_lanes.c", "X -> Y", BYTES, softmax_params, unsupported_reason=softmax_unsupported,
        cooperative=True, header="isoftmax_bytes.h",
    ),
    halving(ITAMax, "itamax_lanes.c", "itamax.h"),
    halving(ITAPartialMax, "itapartialmax_lanes.c", "itapartialmax.h"),
    Kernel(
        MaxPool, "maxpool_lanes.c", "X -> Y", {"X": PACKED, "Y": PACKED}, unsupported_reason=pool_unsupported,
        cooperative=True, unsplit_loops=frozenset({"r", "s"}), header="pool.h",
    ),
    Kernel(
        QLinearAveragePool, "qlinearaveragepool_lanes.c", "X -> Y", BYTES, unsupported_reason=channels_last,
        cooperative=True, header="qlinearaveragepool.h",
    ),
    Kernel(
        ReduceMax, "reducemax_lanes.c", "X -> Y", BYTES, unsupported_reason=extreme_unsupported, cooperative=True,
        header="reduce.h",
    ),
    mean(ReduceMean, "reducemean_lanes.c", "reduce.h"),
    mean(QLinearReduceMean, "qlinearreducemean_lanes.c", "qlinearreducemean.h"),
)  # fmt: skip
