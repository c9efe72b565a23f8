"""Layers of TensorFlow Lite's integers as floats between DequantizeLinear and QuantizeLinear. ONNX rounds each result
once, to even; TensorFlow Lite's runtimes round up to three times, so that a result may be a step away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.refused import FLOAT_INSTEAD, of_dialect
from tilewright.export.registry import rule
from tilewright.export.writer import NodeWriter, Step
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.scale import SCALED, Scale
from tilewright.ir.tflite_rounding import SCALE_BITS
from tilewright.ir.types import Array, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.quant import Quant
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax

UNKNOWN = "integers that are requantised, whose scales no file states: ONNX has no such operator"
LEAST_SCALE = 2.0**-100
"""Scales are not 0, by which runtimes divide."""
STEEPEST = 32.0
"""Of a softmax whose second exponential is 0 already."""


def filtered(
    to: NodeWriter, requant: Requant, kind: str, x: str, w: Array, axis: int, w_zero: int, how: dict[str, Any]
) -> list[Step]:
    """A convolution of integers, to be requantised; `axis` is that of the filters in `w`."""
    units, filters = _units(to, requant), w.shape[axis]
    constants = [_real_constant(to, w, units / _scale(to, _tensor(to, "X")).scale, w_zero, axis)]
    if to.operand("B"):
        constants.append(_real_bias(to, "B", units, filters))
    return [Step(kind, (_real_at(to, x, "X"), *constants), how), *_stored(to, requant)]


def product(to: NodeWriter, requant: Requant, a: str, b: str, b_zero: int) -> list[Step]:
    """A matrix product of integers, to be requantised, of factors in ONNX's order of axes."""
    units, constant = _units(to, requant), to.to.constants.get(b, to.value("B"))
    if constant is None:
        second = _real_at(to, b, "B")
    else:
        scales = units / _scale(to, _tensor(to, "A")).scale
        second = _real_constant(to, constant, scales, b_zero, constant.ndim - 1)
    steps = [Step("MatMul", (_real_at(to, a, "A"), second))]
    if to.operand("C"):
        steps.append(Step("Add", (_real_bias(to, "C", units, to.result_type().shape[-1]),)))
    return [*steps, *_stored(to, requant)]


# ---- layers without constants ---------------------------------------------------------------------------------------


@rule(TfliteAdd)
def tflite_add(to: NodeWriter, op: TfliteAdd) -> None:
    _between(to, "Sub" if op.second.mul < 0 else "Add", "AB", op.requant)


@rule(QLinearAdd)
def qlinear_add(to: NodeWriter, op: QLinearAdd) -> None:
    _between(to, "Sub" if op.mul_b < 0 else "Add", "AB", op.requant)


@rule(QLinearMul)
def qlinear_mul(to: NodeWriter, op: QLinearMul) -> None:
    _between(to, "Mul", "AB", op.requant)


@rule(QLinearReduceMean)
def reduce_mean(to: NodeWriter, op: QLinearReduceMean) -> None:
    axes = to.integers(op.axes, "axes")
    _between(to, "ReduceMean", "X", _around_zero(to, op.requant), [axes], keepdims=int(op.keepdims))


@rule(QLinearAveragePool)
def average_pool(to: NodeWriter, op: QLinearAveragePool) -> None:
    how = {"kernel_shape": op.kernel, "strides": op.strides, "pads": op.padding}
    if set(op.dilations) != {1}:
        how["dilations"] = op.dilations
    x, back = to.operand("X"), list[Step]()
    if op.channels_last:
        x = to.add("Transpose", [x], perm=(0, op.rank + 1, *range(1, op.rank + 1)))
        back = [Step("Transpose", (), {"perm": (0, *range(2, op.rank + 2), 1)})]
    to.chain(Step("AveragePool", (_real_at(to, x, "X"),), how), *_stored(to, _around_zero(to, op.requant)), *back)


def _around_zero(to: NodeWriter, requant: Requant) -> Requant:
    """Means are of the integers themselves; as floats they are of what these stand for."""
    return replace(requant, zero_point=_scale(to, to.node.outputs[0]).zero_point)


@rule(RequantShift)
def requant(to: NodeWriter, op: RequantShift) -> None:
    """Totals have no zero point of their own."""
    if to.to.scale_of(to.node.outputs[0]) is None:
        raise of_dialect(op)
    scales = _units(to, op.requant).astype(np.float32)
    many = scales.size > 1
    scale = to.constant(scales if many else scales.reshape(()), "scale")
    how = {"axis": op.axis} if many else {}
    to.chain(Step("DequantizeLinear", (to.operand("X"), scale), how), *_stored(to, op.requant))


@rule(Quant)
def quant(to: NodeWriter, op: Quant) -> None:
    """Halves are rounded to even."""
    dtype = to.result_type().dtype
    low, high = limits(dtype)
    if dtype not in SCALED or not low <= op.zero_point <= high:
        raise Refusal(f"quantises to {dtype} around {op.zero_point}: ONNX has no such operator", FLOAT_INSTEAD)
    steps = _bounded(to, Scale(op.scale, op.zero_point), dtype, (op.low, op.high))
    to.chain(Step(steps[0].kind, (to.operand("X"), *steps[0].inputs)), *steps[1:])


@rule(TfliteSoftmax, QLinearSoftmax)
def softmax(to: NodeWriter, op: TfliteSoftmax | QLinearSoftmax) -> None:
    """Its table has the exponential of each distance in steps, and so what a step counts."""
    table = to.must_know("table").astype(np.float64)
    slope = -np.log(table[1] / table[0]) if table[1] > 0 else STEEPEST
    beta = float(slope / _scale(to, _tensor(to, "X")).scale)
    axis = op.axis if isinstance(op, QLinearSoftmax) else len(to.shape()) - 1
    sharper = (
        [] if np.isclose(beta, 1.0, rtol=1e-3) else [Step("Mul", (to.constant(np.asarray(beta, np.float32), "beta"),))]
    )
    steps = [*sharper, Step("Softmax", (), {"axis": axis}), *_quantised(to)]
    to.chain(*steps, first=_real(to, "X"))


@rule(TfliteSigmoid)
def sigmoid(to: NodeWriter, op: TfliteSigmoid) -> None:
    to.chain(Step("Tanh" if op.is_tanh else "Sigmoid"), *_quantised(to), first=_real(to, "X"))


@rule(TfliteL2Norm)
def l2_norm(to: NodeWriter, op: TfliteL2Norm) -> None:
    to.chain(Step("LpNormalization", (), {"axis": -1, "p": 2}), *_quantised(to), first=_real(to, "X"))


def _between(
    to: NodeWriter, kind: str, operands: str, requant: Requant, more: Sequence[str] = (), **how: Any
) -> None:  # fmt: skip
    """One float operator between quantisers."""
    to.chain(Step(kind, (*(_real(to, name) for name in operands), *more), how), *_stored(to, requant))


# ---- scales ---------------------------------------------------------------------------------------------------------


def _tensor(to: NodeWriter, operand: str) -> str:
    return to.node.operands()[operand]


def _scale(to: NodeWriter, tensor: str) -> Scale:
    found = to.to.scale_of(tensor)
    if found is None:
        raise Refusal(UNKNOWN, FLOAT_INSTEAD)
    return found


def _units(to: NodeWriter, requant: Requant) -> Array:
    """The real numbers that one step of a layer's totals stands for: one, or one for each filter."""
    mul, add = (
        to.must_know(name).reshape(-1) if to.operand(name) else np.zeros(1, np.int64) for name in ("mul", "add")
    )
    if requant.rounding == Rounding.FLOAT:
        steps = np.asarray(mul.astype(np.int32).view(np.float32), np.float64)
    elif requant.has_exponents:
        steps = np.asarray(mul * 2.0 ** (add.astype(np.float64) - SCALE_BITS))
    elif not np.any(add):
        steps = np.asarray(mul * 2.0**-requant.shift)
    else:
        raise Refusal(UNKNOWN, FLOAT_INSTEAD)
    # Runtimes divide by scales.
    return np.maximum(steps * _scale(to, to.node.outputs[0]).scale, LEAST_SCALE)


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _real(to: NodeWriter, operand: str) -> str:
    return _real_at(to, to.operand(operand), operand)


def _real_at(to: NodeWriter, stored: str, operand: str) -> str:
    """An operand, or what stands for it, as floats."""
    found = _scale(to, _tensor(to, operand))
    return to.add("DequantizeLinear", [stored, *_scale_operands(to, found, to.type(operand).dtype)])


def _scale_operands(to: NodeWriter, scale: Scale, dtype: str) -> tuple[str, str]:
    zero = to.constant(np.asarray(scale.zero_point, dtype), "zero_point")
    return to.constant(np.asarray(scale.scale, np.float32), "scale"), zero


def _real_constant(to: NodeWriter, value: Array, scales: Array, zero: int, axis: int) -> str:
    found = (scales if scales.size > 1 else scales.reshape(())).astype(np.float32)
    zeros = to.constant(np.full(found.shape, zero, value.dtype), "weight_zero_point")
    operands = [to.constant(value, "weights"), to.constant(found, "weight_scale"), zeros]
    if found.ndim:
        return to.add("DequantizeLinear", operands, axis=axis)
    return to.add("DequantizeLinear", operands)


def _real_bias(to: NodeWriter, operand: str, units: Array, count: int) -> str:
    """Integers in units of the totals, as floats."""
    bias = np.broadcast_to(to.must_know(operand).reshape(-1), (count,))
    scales = np.broadcast_to(units, (count,)).astype(np.float32)
    return to.add("DequantizeLinear", [to.constant(bias, "bias"), to.constant(scales, "bias_scale")], axis=0)


def _stored(to: NodeWriter, requant: Requant) -> list[Step]:
    """Floats as the result's integers, after the bounds that an activation has left."""
    scale = Scale(_scale(to, to.node.outputs[0]).scale, requant.zero_point)
    return _bounded(to, scale, requant.dtype, (requant.low, requant.high))


def _bounded(to: NodeWriter, scale: Scale, dtype: str, bounds: tuple[int, int]) -> list[Step]:
    """Floats as integers within bounds."""
    steps = [Step("QuantizeLinear", _scale_operands(to, scale, dtype))]
    if bounds == limits(dtype):
        return steps
    real = [np.float32((bound - scale.zero_point) * scale.scale) for bound in bounds]
    names = [to.constant(np.asarray(bound), name) for bound, name in zip(real, ("min", "max"), strict=True)]
    return [Step("Clip", tuple(names)), *steps]


def _quantised(to: NodeWriter) -> list[Step]:
    scale = _scale(to, to.node.outputs[0])
    return [Step("QuantizeLinear", _scale_operands(to, scale, to.result_type().dtype))]
