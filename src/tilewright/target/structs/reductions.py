"""Parameter structs of reductions, and of what works on rows."""

from __future__ import annotations

import math

from tilewright.ir.op import Params
from tilewright.ops._extreme import Extreme
from tilewright.ops._loops import merge_loops, row_major
from tilewright.ops._normalisation import RowNormalisation
from tilewright.ops._reduction import Reduction
from tilewright.ops._softmax import SoftmaxLike
from tilewright.ops.fft import FFT
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.lrn import LRN
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.topk import TopK
from tilewright.target.params import Types, params_for


@params_for(Extreme)
def extreme_params(op: Extreme, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "outer": math.prod(shape[: op.axis]), "length": shape[op.axis],
        "inner": math.prod(shape[op.axis + 1 :]), "last": int(op.select_last_index),
    }  # fmt: skip


@params_for(RowNormalisation)
def row_normalisation_params(op: RowNormalisation, types: Types) -> Params:
    shape = types["X"].shape
    outer = op.axis % len(shape)
    return {"rows": math.prod(shape[:outer]), "length": math.prod(shape[outer:]), "epsilon": op.epsilon}


@params_for(Reduction)
def reduction_params(op: Reduction, types: Types) -> Params:
    shape = types["X"].shape
    strides, reduced = row_major(shape), sorted(op.axes)
    kept = [axis for axis in range(len(shape)) if axis not in op.axes]
    kept_sizes, kept_strides = merge_loops([shape[i] for i in kept], {"X": [strides[i] for i in kept]})
    sizes, steps = merge_loops([shape[i] for i in reduced], {"X": [strides[i] for i in reduced]})
    return {
        "kept_rank": len(kept_sizes), "kept_size": kept_sizes, "kept_stride": kept_strides["X"],
        "rank": len(sizes), "size": sizes, "stride": steps["X"],
    }  # fmt: skip


@params_for(SoftmaxLike)
def softmax_like_params(op: SoftmaxLike, types: Types) -> Params:
    shape = types["X"].shape
    axis = op.axis % len(shape)
    return {
        "outer": math.prod(shape[:axis]), "length": shape[axis], "inner": math.prod(shape[axis + 1 :]),
        "logarithm": int(op.logarithm),
    }  # fmt: skip


@params_for(FFT)
def fft_params(op: FFT, types: Types) -> Params:
    *rows, length, parts = types["X"].shape
    return {"rows": math.prod(rows), "length": length, "parts": parts, "factor": op.factor}


@params_for(GroupNormalization)
def group_normalization_params(op: GroupNormalization, types: Types) -> Params:
    n, channels, *spatial = types["X"].shape
    return {
        "batch": n, "groups": op.groups, "channels": channels // op.groups, "plane": math.prod(spatial),
        "epsilon": op.epsilon,
    }  # fmt: skip


@params_for(LRN)
def lrn_params(op: LRN, types: Types) -> Params:
    n, channels, *plane = types["X"].shape
    return {
        "batch": n, "channels": channels, "plane": math.prod(plane), "size": op.size,
        "alpha": op.alpha / op.size, "beta": op.beta, "bias": op.bias,
    }  # fmt: skip


@params_for(ReduceMean)
def reduce_mean_params(op: ReduceMean, types: Types) -> Params:
    count = op.count({"X": types["X"].shape})
    if types["X"].dtype == "float32":
        return reduction_params(op, types) | {"count": count, "shift": 0, "rounding": 0}
    rounding = {"shift": max(count.bit_length() - 1, 0), "rounding": op.rounding(count)}
    return reduction_params(op, types) | {"count": count} | rounding


@params_for(TopK)
def top_k_params(op: TopK, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "outer": math.prod(shape[: op.axis]), "length": shape[op.axis],
        "inner": math.prod(shape[op.axis + 1 :]), "k": op.k, "largest": int(op.largest),
    }  # fmt: skip
