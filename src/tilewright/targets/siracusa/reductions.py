"""Kernels that reduce axes or windows, all cores together: of bytes before the last axis, of floats any."""

from __future__ import annotations

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ops._linear import NARROW
from tilewright.ops._reduction import Reduction
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.linear import channels_last

MANY = 2**23
"""Bytes whose sum may not fit 31 bits."""


def rows_objection(op: Op, types: Types) -> str | None:
    op = instance(op, Reduction)
    shape = types["X"].shape
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    if wide and wide[-1] in op.axes:
        return "it reduces the last axis"
    count = op.count({"X": shape})
    return None if 0 < count < MANY else f"{count} elements for one result"


def columns(op: type[Reduction], source: str, header: str = "reduce.h") -> Kernel:
    types = {"X": NARROW, "Y": NARROW}
    return Kernel(op, source, "X -> Y", types, objection=rows_objection, cooperative=True, header=header)


def floats(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X:float32 -> Y:float32", {}, cooperative=True, header="reduce.h")


def float_pool(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, objection=channels_last, cooperative=True,
        whole=frozenset({"r", "s"}), header="pool.h",
    )  # fmt: skip


KERNELS = (
    columns(ReduceMax, "reducemax_columns.c"),
    columns(ReduceMean, "reducemean_columns.c"),
    columns(QLinearReduceMean, "qlinearreducemean_columns.c", "qlinearreducemean.h"),
    Kernel(
        QLinearAveragePool, "qlinearaveragepool_columns.c", "X -> Y", {"X": NARROW, "Y": NARROW},
        objection=channels_last, cooperative=True, header="qlinearaveragepool.h",
    ),
    floats(ReduceL2, "reducel2_floats.c"),
    floats(ReduceMax, "reducemax_floats.c"),
    floats(ReduceMean, "reducemean_floats.c"),
    floats(ReduceMin, "reducemin_floats.c"),
    floats(ReduceSum, "reducesum_floats.c"),
    floats(ReduceSumSquare, "reducesumsquare_floats.c"),
    float_pool(AveragePool, "averagepool_floats.c"),
    float_pool(MaxPool, "maxpool_floats.c"),
)  # fmt: skip
