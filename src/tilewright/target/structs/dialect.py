"""Parameter structs of kernels of the integer dialect."""

from __future__ import annotations

from math import prod

from tilewright.ir.op import Params
from tilewright.ops._dialect import IntegerRows, IntegerSoftmax
from tilewright.ops.dequant import Dequant
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.quant import Quant
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.target.params import Types, params_for
from tilewright.target.structs.common import requant_fields, scaling_fields
from tilewright.target.structs.elementwise import elementwise_params, unary_params


@params_for(IntegerRows)
def integer_rows_params(op: IntegerRows, types: Types) -> Params:
    length = types["X"].shape[-1]
    return {"rows": types["X"].elements // length if length else 0, "length": length}


@params_for(IntegerSoftmax)
def integer_softmax_params(op: IntegerSoftmax, types: Types) -> Params:
    out: Params = {"requantised": int(op.out is not None), **({"out": scaling_fields(op.out)} if op.out else {})}
    return integer_rows_params(op, types) | {"top": op.top} | out


@params_for(Dequant)
def dequant_params(op: Dequant, types: Types) -> Params:
    return unary_params(op, types) | {"scale": op.scale, "zero_point": op.zero_point}


@params_for(iGELU)
def igelu_params(op: iGELU, types: Types) -> Params:
    return unary_params(op, types) | {"b": op.b, "one": op.one}


@params_for(iHardswish)
def ihardswish_params(op: iHardswish, types: Types) -> Params:
    fields = {"three": op.three, "six": op.six, "one_over_six": op.one_over_six}
    return unary_params(op, types) | fields


@params_for(iLayerNorm)
def ilayernorm_params(op: iLayerNorm, types: Types) -> Params:
    return integer_rows_params(op, types) | {"shift": op.shift}


@params_for(iNoNorm)
def inonorm_params(op: iNoNorm, types: Types) -> Params:
    return elementwise_params(op, types) | {"mul": op.mul, "shift": op.shift}


@params_for(IntegerDiv)
def integer_div_params(op: IntegerDiv, types: Types) -> Params:
    return {"loops": elementwise_params(op, types), "factor": op.delta * op.eta, "eta": op.eta, "eps": op.eps}


@params_for(iRMSNorm)
def irmsnorm_params(op: iRMSNorm, types: Types) -> Params:
    return integer_rows_params(op, types) | {"shift": op.shift}


@params_for(iSoftmax)
def isoftmax_params(op: iSoftmax, types: Types) -> Params:
    return integer_softmax_params(op, types) | {"ln2": op.ln2, "a": op.a, "b": op.b, "c": op.c}


@params_for(ITAPartialMax)
def itapartialmax_params(op: ITAPartialMax, types: Types) -> Params:
    return integer_softmax_params(op, types) | {"group_width": op.group_width}


@params_for(Quant)
def quant_params(op: Quant, types: Types) -> Params:
    fields: Params = {"scale": op.scale, "zero_point": op.zero_point, "low": op.low, "high": op.high}
    return unary_params(op, types) | fields


@params_for(RequantizedAdd)
def requantized_add_params(op: RequantizedAdd, types: Types) -> Params:
    scalings: Params = {
        "first": scaling_fields(op.first),
        "second": scaling_fields(op.second),
        "out": scaling_fields(op.out),
    }
    return {"loops": elementwise_params(op, types)} | scalings


@params_for(RequantShift)
def requant_shift_params(op: RequantShift, types: Types) -> Params:
    shape, axis = types["X"].shape, op.axis
    if axis < 0:
        return {"outer": 1, "inner": prod(shape), "requant": requant_fields(op.requant)}
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    return {"outer": outer, "inner": inner, "requant": requant_fields(op.requant, shape[axis])}


@params_for(TrueIntegerDiv)
def true_integer_div_params(op: TrueIntegerDiv, types: Types) -> Params:
    return unary_params(op, types) | {"numerator": op.numerator, "denominator": op.denominator}
