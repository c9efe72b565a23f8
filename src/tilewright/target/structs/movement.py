"""Parameter structs of kernels that move elements."""

from __future__ import annotations

import math

from tilewright.ir.op import Params
from tilewright.ir.types import Shape, limits
from tilewright.ops._interpolation import Interpolation
from tilewright.ops._loops import merge_loops, row_major
from tilewright.ops._movement import StridedCopy
from tilewright.ops.concat import Concat
from tilewright.ops.cumsum import CumSum
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gridsample import MODES, PADDINGS, GridSample
from tilewright.ops.lookup import Lookup
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.trilu import Trilu
from tilewright.ops.writerows import WriteRows
from tilewright.target.params import Types, params_for


@params_for(Interpolation)
def interpolation_params(op: Interpolation, types: Types) -> Params:
    x = types["X"].shape
    count, taps = types["taps"].shape
    return {
        "outer": math.prod(x[: op.axis]), "length": x[op.axis], "inner": math.prod(x[op.axis + 1 :]),
        "count": count, "taps": taps,
    }  # fmt: skip


@params_for(StridedCopy)
def strided_copy_params(op: StridedCopy, types: Types) -> Params:
    start, strides = op.walk(types["X"].shape)
    sizes, merged = merge_loops(types["Y"].shape, {"X": strides})
    return {"rank": len(sizes), "size": sizes, "stride": merged["X"], "start": start}


@params_for(Concat)
def concat_params(op: Concat, types: Types) -> Params:
    y = types["Y"].shape
    inner = math.prod(y[op.axis + 1 :])
    lengths = [kind.shape[op.axis] * inner for name, kind in types.items() if name != "Y"]
    return {"rows": math.prod(y[: op.axis]), "count": len(lengths), "length": lengths}


@params_for(CumSum)
def cum_sum_params(op: CumSum, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "outer": math.prod(shape[: op.axis]), "length": shape[op.axis],
        "inner": math.prod(shape[op.axis + 1 :]), "exclusive": int(op.exclusive), "reverse": int(op.reverse),
    }  # fmt: skip


@params_for(Gather)
def gather_params(op: Gather, types: Types) -> Params:
    x = types["X"].shape
    return {
        "outer": math.prod(x[: op.axis]), "length": x[op.axis], "inner": math.prod(x[op.axis + 1 :]),
        "count": types["indices"].elements,
    }  # fmt: skip


@params_for(GatherElements)
def gather_elements_params(op: GatherElements, types: Types) -> Params:
    strides = row_major(types["X"].shape)
    moving = [0 if axis == op.axis else stride for axis, stride in enumerate(strides)]
    sizes, merged = merge_loops(types["indices"].shape, {"X": moving})
    return {
        "rank": len(sizes), "size": sizes, "stride": merged["X"], "length": types["X"].shape[op.axis],
        "step": strides[op.axis],
    }  # fmt: skip


@params_for(GatherND)
def gather_nd_params(op: GatherND, types: Types) -> Params:
    x, indices, batch = types["X"].shape, types["indices"].shape, op.batch_dims
    sizes: Shape = x[batch : batch + indices[-1]]
    return {
        "groups": math.prod(x[:batch]), "count": math.prod(indices[batch:-1]), "depth": indices[-1], "size": sizes,
        "inner": math.prod(x[batch + indices[-1] :]),
    }  # fmt: skip


@params_for(GridSample)
def grid_sample_params(op: GridSample, types: Types) -> Params:
    x, grid = types["X"].shape, types["grid"].shape
    return {
        "batch": x[0], "channels": x[1], "points": math.prod(grid[1:-1]), "rank": len(x) - 2, "size": x[2:],
        "mode": MODES.index(op.mode), "padding": PADDINGS.index(op.padding), "align": int(op.align_corners),
    }  # fmt: skip


@params_for(Lookup)
def lookup_params(op: Lookup, types: Types) -> Params:
    table = types["table"].shape
    channels = table[0] if len(table) > 1 else 1
    return {**op.walk(types, channels), "lowest": limits(types["X"].dtype)[0]}


@params_for(OneHot)
def one_hot_params(op: OneHot, types: Types) -> Params:
    shape = types["indices"].shape
    return {
        "outer": math.prod(shape[: op.axis]), "depth": op.depth, "start": op.start, "length": op.length,
        "inner": math.prod(shape[op.axis :]),
    }  # fmt: skip


@params_for(Pad)
def pad_params(op: Pad, types: Types) -> Params:
    x, y = types["X"].shape, types["Y"].shape
    strides = row_major(y)
    sizes, merged = merge_loops(x, {"X": row_major(x), "Y": strides})
    return {
        "rank": len(sizes), "size": sizes, "stride": merged["Y"], "count": types["Y"].elements,
        "start": sum(before * stride for before, stride in zip(op.pads, strides, strict=False)),
        "value": float(op.value), "integer": 0 if types["X"].dtype == "float32" else int(op.value),
    }  # fmt: skip


@params_for(PlaceRows)
def place_rows_params(op: PlaceRows, types: Types) -> Params:
    held, rows = types["X"].shape, types["rows"].shape
    inner = math.prod(held[op.axis + 1 :])
    return {
        "planes": math.prod(held[: op.axis]), "held": held[op.axis] * inner,
        "length": rows[op.axis] * inner, "start": op.start * inner,
    }  # fmt: skip


@params_for(ScatterElements)
def scatter_elements_params(op: ScatterElements, types: Types) -> Params:
    strides = row_major(types["X"].shape)
    moving = [0 if axis == op.axis else stride for axis, stride in enumerate(strides)]
    sizes, merged = merge_loops(types["indices"].shape, {"X": moving})
    return {
        "count": types["X"].elements, "rank": len(sizes), "size": sizes, "stride": merged["X"],
        "length": types["X"].shape[op.axis], "step": strides[op.axis], "reduction": op.code,
    }  # fmt: skip


@params_for(ScatterND)
def scatter_nd_params(op: ScatterND, types: Types) -> Params:
    x, indices = types["X"].shape, types["indices"].shape
    return {
        "count": types["X"].elements, "tuples": math.prod(indices[:-1]), "depth": indices[-1],
        "size": x[: indices[-1]], "inner": math.prod(x[indices[-1] :]), "reduction": op.code,
    }  # fmt: skip


@params_for(Trilu)
def trilu_params(op: Trilu, types: Types) -> Params:
    *batch, rows, columns = types["X"].shape
    return {"batch": math.prod(batch), "rows": rows, "columns": columns, "upper": int(op.upper), "k": op.k}


@params_for(WriteRows)
def write_rows_params(op: WriteRows, types: Types) -> Params:
    shape = types["X"].shape
    return {"held": shape[1], "rows": types["rows"].shape[1], "length": math.prod(shape[2:])}
