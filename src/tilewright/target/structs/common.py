"""What parameter structs of several kinds of kernels have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.ir.op import Op, Params
from tilewright.ir.requant import Requant
from tilewright.ir.types import Shape
from tilewright.ops._activation import CLAMP, CURVE, CURVES, HARD_SIGMOID, HARD_SWISH, LEAKY
from tilewright.ops._filters import Filters
from tilewright.ops._linear import Requantised
from tilewright.ops._loops import broadcast_strides, merge_loops
from tilewright.ops._scaling import Scaling
from tilewright.ops._windows import Windowed, pair
from tilewright.ops.clip import Clip
from tilewright.ops.hardsigmoid import HardSigmoid
from tilewright.ops.leakyrelu import LeakyRelu
from tilewright.ops.relu import Relu
from tilewright.ops.swish import Swish
from tilewright.target.params import Types


def activation_params(op: Op | None) -> Params:
    """The field of kernels that know activations; absent where there is none, which is 0 in C."""
    if op is None:
        return {}
    kind, alpha, beta = _numbers(op)
    return {"activation": {"kind": kind, "alpha": float(alpha), "beta": float(beta)}}


def broadcast_params(result: Shape, operands: Mapping[str, Shape]) -> Params:
    """Sizes of the loop nest and each operand's stride per loop (0 where it is broadcast), adjacent loops merged."""
    strides = {name: broadcast_strides(shape, result) for name, shape in operands.items()}
    sizes, merged = merge_loops(result, strides)
    fields: Params = {"rank": len(sizes), "size": sizes}
    return fields | {f"stride_{name.lower()}": values for name, values in merged.items()}


def filter_params(op: Filters, types: Types) -> Params:
    """Zero points, how far apart the values of neighbouring filters are (0: one for all), the requantisation."""
    steps = {name: int(name in types and types[name].shape != (1,)) for name in ("B", "mul", "add")}
    values = types["mul"].elements if "mul" in types else 0
    return {
        "groups": op.groups, "x_zero": op.x_zero, "w_zero": op.w_zero, "bias_step": steps["B"],
        "mul_step": steps["mul"], "add_step": steps["add"], **requant_params(op, values),
        **activation_params(op.activation),
    }  # fmt: skip


def requant_params(op: Requantised, values: int) -> Params:
    """The fields that every kernel with a requantisation has; `values` is how many `mul` holds."""
    if op.requant is None:
        return {"requantised": 0}
    return {"requantised": 1, "requant": requant_fields(op.requant, values)}


def requant_fields(requant: Requant, values: int = 1) -> Params:
    """Those of tw_requant; `values` is how many `mul` holds."""
    return {
        "shift": requant.shift, "rounding": requant.rounding.number, "zero_point": requant.zero_point,
        "low": requant.low, "high": requant.high, "channels": values,
    }  # fmt: skip


def scaling_fields(scaling: Scaling) -> Params:
    """Those of tw_scaling."""
    return {"mul": scaling.mul, "add": scaling.add, "requant": requant_fields(scaling.requant)}


def window_params(op: Windowed, x: Shape, y: Shape, taps: Shape) -> Params:
    """The fields that the kernels of all windows share; one spatial axis is two with a height of 1."""
    (in_h, in_w), (out_h, out_w) = pair(op.spatial(x)), pair(op.spatial(y))
    (kernel_h, kernel_w), (stride_h, stride_w) = pair(taps), pair(op.strides)
    dilation_h, dilation_w = pair(op.dilations)
    top, left = pair(op.padding[: op.rank], 0)
    return {
        "batch": x[0], "in_h": in_h, "in_w": in_w, "out_h": out_h, "out_w": out_w, "kernel_h": kernel_h,
        "kernel_w": kernel_w, "stride_h": stride_h, "stride_w": stride_w, "dilation_h": dilation_h,
        "dilation_w": dilation_w, "pad_top": top, "pad_left": left,
    }  # fmt: skip


def _numbers(op: Op) -> tuple[int, float, float]:
    if isinstance(op, Relu):
        return CLAMP, 0.0, math.inf
    if isinstance(op, Clip):
        return CLAMP, *op.bounds("float32")
    if isinstance(op, LeakyRelu):
        return LEAKY, op.alpha, 0.0
    if isinstance(op, HardSigmoid):
        return HARD_SIGMOID, op.alpha, op.beta
    if isinstance(op, CURVES):
        return CURVE, op.alpha if isinstance(op, Swish) else 0.0, 0.0
    return HARD_SWISH, 1 / 6, 0.5
