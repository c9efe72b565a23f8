"""Parameter structs of kernels of quantised tensors."""

from __future__ import annotations

import math
from dataclasses import asdict

from tilewright.ir.op import Params
from tilewright.ir.types import BYTES, limits
from tilewright.ops._rows_beside import rows_beside
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction, fraction_bits
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.qlinearsteps import QLinearSteps, step_bits
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16
from tilewright.target.params import Types, params_for
from tilewright.target.structs.common import broadcast_params, requant_fields, scaling_fields
from tilewright.target.structs.linear import pool_params
from tilewright.target.structs.movement import interpolation_params
from tilewright.target.structs.reductions import reduction_params


@params_for(DequantizeLinear)
def dequantize_linear_params(op: DequantizeLinear, types: Types) -> Params:
    return op.walk(types, types["scale"].elements)


@params_for(FusedAttention)
def fused_attention_params(op: FusedAttention, types: Types) -> Params:
    return {"rows": op.geometry(types), "scale": op.scale}


@params_for(LimitedAttention)
def limited_attention_params(op: LimitedAttention, types: Types) -> Params:
    return {**fused_attention_params(op, types), "window": op.window, "cap": op.cap}


@params_for(QLinearAdd)
def qlinear_add_params(op: QLinearAdd, types: Types) -> Params:
    return {
        "loops": broadcast_params(types["Y"].shape, {name: types[name].shape for name in "AB"}),
        "requant": requant_fields(op.requant),
        "mul_a": op.mul_a, "mul_b": op.mul_b, "offset": op.offset,
    }  # fmt: skip


@params_for(QLinearAttention)
def qlinear_attention_params(op: QLinearAttention, types: Types) -> Params:
    return {
        "rows": op.geometry(types), "q_zero": op.q_zero, "k_zero": op.k_zero, "v_zero": op.v_zero,
        "score": scaling_fields(op.score), "bits": op.softmax.bits,
        "coarse": types["table"].elements - (1 << op.softmax.bits), "numerator": op.softmax.numerator,
        "share": requant_fields(op.softmax.requant), "mix": scaling_fields(op.mix),
    }  # fmt: skip


@params_for(QLinearAveragePool)
def qlinear_average_pool_params(op: QLinearAveragePool, types: Types) -> Params:
    rounding: Params = {"x_zero": op.x_zero, "mul": op.mul, "requant": requant_fields(op.requant)}
    return pool_params(op, types) | rounding


@params_for(QLinearFunction)
def qlinear_function_params(op: QLinearFunction, types: Types) -> Params:
    bits = fraction_bits(types["table"].shape)
    return {"count": types["X"].elements, "bits": bits, "requant": requant_fields(op.requant)}


@params_for(QLinearSteps)
def qlinear_steps_params(op: QLinearSteps, types: Types) -> Params:
    return {"count": types["X"].elements, "bits": step_bits(types["table"].elements)}


@params_for(QLinearGather)
def qlinear_gather_params(op: QLinearGather, types: Types) -> Params:
    length, inner = types["X"].shape
    count = math.prod(types["indices"].shape)
    return {"length": length, "inner": inner, "count": count, "requant": requant_fields(op.requant)}


@params_for(QLinearMaskedSoftmax)
def qlinear_masked_softmax_params(op: QLinearMaskedSoftmax, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "rows": rows_beside(shape, types["mask"].shape), "length": shape[-1], "bits": op.bits,
        "coarse": types["table"].elements - (1 << op.bits), "numerator": op.numerator,
        "requant": requant_fields(op.requant),
    }  # fmt: skip


@params_for(QLinearMul)
def qlinear_mul_params(op: QLinearMul, types: Types) -> Params:
    return {
        "loops": broadcast_params(types["Y"].shape, {name: types[name].shape for name in "AB"}),
        "requant": requant_fields(op.requant),
        "a_zero": op.a_zero, "b_zero": op.b_zero, "mul": op.mul, "add": op.add,
    }  # fmt: skip


@params_for(QLinearReduceMean)
def qlinear_reduce_mean_params(op: QLinearReduceMean, types: Types) -> Params:
    loops = reduction_params(op, types) | {"count": op.count({"X": types["X"].shape})}
    return {"loops": loops, "x_zero": op.x_zero, "mul": op.mul, "requant": requant_fields(op.requant)}


@params_for(QLinearResize)
def qlinear_resize_params(op: QLinearResize, types: Types) -> Params:
    return interpolation_params(op, types) | {"x_zero": op.x_zero, "requant": requant_fields(op.requant)}


@params_for(QLinearRotate)
def qlinear_rotate_params(op: QLinearRotate, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "rows": rows_beside(shape, types["cosine"].shape), "length": shape[-1],
        "interleaved": int(op.interleaved), "x_zero": op.x_zero, "mul": op.mul,
        "requant": requant_fields(op.requant),
    }  # fmt: skip


@params_for(QLinearRowNorm)
def qlinear_row_norm_params(op: QLinearRowNorm, types: Types) -> Params:
    shape, (first, end) = types["X"].shape, op.block(types["mul"].shape)
    return {
        "rows": math.prod(shape[: op.axis]), "length": math.prod(shape[op.axis :]),
        "groups": math.prod(shape[first : op.axis]), "repeat": math.prod(shape[end:]),
        "centred": int(op.centred), "x_zero": op.x_zero, "fraction": op.fraction, "lift": op.lift,
        "epsilon": op.epsilon, "requant": requant_fields(op.requant),
    }  # fmt: skip


@params_for(QLinearSoftmax)
def qlinear_softmax_params(op: QLinearSoftmax, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "outer": math.prod(shape[: op.axis]), "count": shape[op.axis],
        "inner": math.prod(shape[op.axis + 1 :]), "numerator": op.numerator,
        "requant": requant_fields(op.requant),
    }  # fmt: skip


@params_for(QuantizeLinear)
def quantize_linear_params(op: QuantizeLinear, types: Types) -> Params:
    low, high = limits(types["Y"].dtype)
    return {**op.walk(types, types["scale"].elements), "low": low, "high": high}


@params_for(TfliteAdd)
def tflite_add_params(op: TfliteAdd, types: Types) -> Params:
    return {
        "loops": broadcast_params(types["Y"].shape, {name: types[name].shape for name in "AB"}),
        "requant": requant_fields(op.requant), "left": op.left, "first": asdict(op.first),
        "second": asdict(op.second), "mul": op.mul, "exponent": op.exponent,
    }  # fmt: skip


@params_for(TfliteL2Norm)
def tflitel2norm_params(op: TfliteL2Norm, types: Types) -> Params:
    shape = types["X"].shape
    return {"rows": math.prod(shape[:-1]), "length": shape[-1], "x_zero": op.x_zero}


@params_for(TfliteSigmoid)
def tflite_sigmoid_params(op: TfliteSigmoid, types: Types) -> Params:
    return {"count": types["X"].elements, "mul": op.mul, "shift": op.shift, **op.fields()}


@params_for(TfliteSoftmax)
def tflite_softmax_params(op: TfliteSoftmax, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "rows": math.prod(shape[:-1]), "length": shape[-1], "bits": 31 - 8 * BYTES[op.dtype],
        "low": limits(op.dtype)[0], "high": limits(op.dtype)[1],
    }  # fmt: skip


@params_for(TfliteSoftmax16)
def tflite_softmax16_params(op: TfliteSoftmax16, types: Types) -> Params:
    shape = types["X"].shape
    return {
        "rows": math.prod(shape[:-1]), "length": shape[-1], "mul": op.mul, "exponent": op.exponent,
        "rounding": op.rounding.number,
    }  # fmt: skip
