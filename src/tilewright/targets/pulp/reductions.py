"""Kernels that reduce axes or windows, all cores together: of bytes before the last axis, of floats any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ops._extreme import Extreme
from tilewright.ops._linear import NARROW
from tilewright.ops._reduction import Reduction
from tilewright.ops.argmax import ArgMax
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
from tilewright.target.extents import up
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import channels_last
from tilewright.targets.pulp.sizes import by_cores, in_c

BYTE = 255
"""How far from its zero point a byte may be."""
MEAN_FRACTION, LEAST_FRACTION = 20, 6
"""Bits of a mean's fraction at most, and at least for it to be worth while."""
MANY = 2**23
"""Bytes whose sum may not fit 31 bits."""


def rows_unsupported(op: Op, types: Types) -> str | None:
    op = instance(op, Reduction)
    shape = types["X"].shape
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    if wide and wide[-1] in op.axes:
        return "it reduces the last axis"
    count = op.count({"X": shape})
    return None if 0 < count < MANY else f"{count} elements for one result"


def column_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, words of four results of the core that has most, and of these the words that they are reduced from."""
    axes = instance(op, Reduction).axes
    kept = [size for axis, size in enumerate(extents.values()) if axis not in axes] or [1]
    own = up(math.prod(kept[:-1]) * up(kept[-1], 4), cores)
    return 1.0, float(own), own * math.prod(extents.values()) / math.prod(kept)


def columns(op: type[Reduction], source: str, header: str = "reduce.h") -> Kernel:
    types = {"X": NARROW, "Y": NARROW}
    return Kernel(
        op, source, "X -> Y", types, unsupported_reason=rows_unsupported, cooperative=True, features=column_features,
        header=header,
    )  # fmt: skip


def upper_mean(op: QLinearReduceMean, count: int) -> tuple[int, int, int]:
    """Factor, shift to the left before it, and bits of a mean's fraction in the upper word of the product. A shift of 0
    leaves every mean to the exact way."""
    largest = max(1, BYTE * count)
    up = 31 - largest.bit_length()
    divisor = max(1, count) << op.requant.shift
    room = (2**28 * divisor) // max(1, largest * abs(op.mul))
    shift = min(MEAN_FRACTION, room.bit_length() - 1)
    if shift < LEAST_FRACTION:
        return 0, 0, 0
    numerator = op.mul << (32 + shift)
    return round_half_up(numerator, divisor << up), up, shift


def round_half_up(numerator: int, divisor: int) -> int:
    return (2 * numerator + divisor) // (2 * divisor)


def mean_params(op: Op, types: Types) -> Params:
    mean = instance(op, QLinearReduceMean)
    mul, up, shift = upper_mean(mean, mean.count({"X": types["X"].shape}))
    return {"exact": params_of(op, types), "quick": {"mul": mul, "up": up, "shift": shift}}


def floats(op: type[Op], source: str, cores: int) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, scratch=by_cores("tw_reduce_floats_scratch", cores),
        cooperative=True, header="reduce.h",
    )  # fmt: skip


def float_pool(op: type[Op], source: str) -> Kernel:
    return Kernel(
        op, source, "X:float32 -> Y:float32", {}, unsupported_reason=channels_last, cooperative=True,
        unsplit_loops=frozenset({"r", "s"}), header="pool.h",
    )  # fmt: skip


def one_row(op: Op, types: Types) -> str | None:
    op, shape = instance(op, Extreme), types["X"].shape
    if op.select_last_index:
        return "it takes the last of equals"
    return None if types["X"].elements == shape[op.axis] else "it looks along several rows"


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            ArgMax, "argmax_row.c", "X -> Y:int64", {"X": frozenset({"int8", "uint8", "int16", "int32"})},
            scratch=by_cores("tw_argmax_row_scratch", cores), unsupported_reason=one_row, cooperative=True,
            work=in_c.work("tw_argmax_row_work"), header="extreme.h",
        ),
        columns(ReduceMax, "reducemax_columns.c"),
        columns(ReduceMean, "reducemean_columns.c"),
        replace(columns(QLinearReduceMean, "qlinearreducemean_columns.c", ""), params=mean_params),
        Kernel(
            QLinearAveragePool, "qlinearaveragepool_columns.c", "X -> Y", {"X": NARROW, "Y": NARROW},
            unsupported_reason=channels_last, cooperative=True, header="qlinearaveragepool.h",
        ),
        floats(ReduceL2, "reducel2_floats.c", cores),
        floats(ReduceMax, "reducemax_floats.c", cores),
        floats(ReduceMean, "reducemean_floats.c", cores),
        floats(ReduceMin, "reducemin_floats.c", cores),
        floats(ReduceSum, "reducesum_floats.c", cores),
        floats(ReduceSumSquare, "reducesumsquare_floats.c", cores),
        float_pool(AveragePool, "averagepool_floats.c"),
        float_pool(MaxPool, "maxpool_floats.c"),
    )  # fmt: skip
