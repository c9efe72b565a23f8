"""Parameter structs of elementwise kernels."""

from __future__ import annotations

from dataclasses import fields

from tilewright.ir.op import Params
from tilewright.ops._elementwise import Elementwise, FloatUnary, Unary
from tilewright.ops.clip import Clip
from tilewright.ops.gelu import Gelu
from tilewright.ops.isinf import IsInf
from tilewright.ops.selu import Selu
from tilewright.ops.shrink import Shrink
from tilewright.target.params import Types, params_for
from tilewright.target.structs.common import broadcast_params


@params_for(Elementwise)
def elementwise_params(op: Elementwise, types: Types) -> Params:
    shapes = {name: kind.shape for name, kind in types.items()}
    operands = {name: shape for name, shape in shapes.items() if name != "Y"}
    return broadcast_params(shapes["Y"], operands)


@params_for(Unary)
def unary_params(op: Unary, types: Types) -> Params:
    return {"count": types["Y"].elements}


@params_for(FloatUnary)
def float_unary_params(op: FloatUnary, types: Types) -> Params:
    coefficients = {field.name: float(getattr(op, field.name)) for field in fields(op)}
    return {**unary_params(op, types), **coefficients}


@params_for(Clip)
def clip_params(op: Clip, types: Types) -> Params:
    low, high = op.bounds(types["X"].dtype)
    if types["X"].dtype == "float32":
        return {**unary_params(op, types), "low": float(low), "high": float(high)}
    return {**unary_params(op, types), "int_low": int(low), "int_high": int(high)}


@params_for(Gelu)
def gelu_params(op: Gelu, types: Types) -> Params:
    return unary_params(op, types)


@params_for(IsInf)
def is_inf_params(op: IsInf, types: Types) -> Params:
    flags = {"alpha": float(bool(op.detect_negative)), "beta": float(bool(op.detect_positive))}
    return {**unary_params(op, types), **flags}


@params_for(Selu)
def selu_params(op: Selu, types: Types) -> Params:
    return {**unary_params(op, types), "alpha": op.alpha, "beta": op.gamma}


@params_for(Shrink)
def shrink_params(op: Shrink, types: Types) -> Params:
    return {**unary_params(op, types), "alpha": op.lambd, "beta": op.bias}
