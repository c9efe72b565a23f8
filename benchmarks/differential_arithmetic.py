"""Random nodes that compute, in the forms that each opset has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks.differential_graphs import Net
from benchmarks.differential_moves import TYPES, axis_of
from onnx import helper

SINCE = {
    "Asinh": 9, "Celu": 12, "Cosh": 9, "Erf": 9, "Gelu": 20, "GreaterOrEqual": 12, "HardSwish": 14, "LessOrEqual": 12,
    "Mish": 18, "Round": 11, "Sign": 9, "Sinh": 9, "Where": 9,
}  # fmt: skip
UNARY = (
    "Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "LeakyRelu", "Mish", "Neg", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Tanh",
)  # fmt: skip


def known(net: Net, kinds: Sequence[str]) -> str:
    return net.choice([kind for kind in kinds if net.opset >= SINCE.get(kind, 7)])


def partner(net: Net, x: str) -> str:
    """A tensor that broadcasts with another."""
    value = net.values[x]
    shape = _thinned(net, value.shape)[net.number(0, value.ndim) if net.chance(0.4) else 0 :]
    same = [
        name for name in net.pool if net.values[name].dtype == value.dtype and net.values[name].shape == value.shape
    ]
    return net.choice(same) if same and net.chance(0.4) else net.new(shape, value.dtype.name)


def unary(net: Net) -> None:
    kind = known(net, UNARY)
    dtype = (
        net.choice(["int8", "int32", "int64"]) if kind in ("Abs", "Neg", "Identity") and net.chance(0.4) else "float32"
    )
    net.add(kind, [net.pick(dtype)])


def positive(net: Net) -> None:
    """Functions of positive numbers only."""
    (x,) = net.add("Abs", [net.pick()]) or [""]
    (x,) = net.add("Add", [x, net.constant(0.5, "float32")]) if x else [""]
    if x:
        net.add(net.choice(["Log", "Sqrt", "Reciprocal"]), [x])


def binary(net: Net) -> None:
    x = net.pick("float32" if net.chance(0.65) else net.choice(["int32", "int64"]))
    operands = [x, partner(net, x)]
    net.add(net.choice(["Add", "Sub", "Mul"]), operands[:: net.choice([1, -1])])


def several(net: Net) -> None:
    x = net.pick()
    net.add(net.choice(["Max", "Min", "Sum", "Mean"]), [x, *(partner(net, x) for _ in range(net.number(0, 3)))])


def divide(net: Net) -> None:
    x = net.pick(net.choice(["float32", "int32", "int64"]))
    dtype = net.values[x].dtype.name
    divisor = net.give(np.asarray(net.array((), dtype, 1, 3) + 1, dtype))
    kind = net.choice(["Div", "Mod"]) if net.opset >= 10 else "Div"
    net.add(kind, [x, divisor], fmod=1 if kind == "Mod" and dtype == "float32" else None)


def compare(net: Net) -> None:
    x = net.pick("float32" if net.opset < 11 else net.choice(["float32", "int32", "int64"]), exact=True)
    kinds = ["Less", "Greater", "LessOrEqual", "GreaterOrEqual"] + (["Equal"] if net.opset >= 11 else [])
    net.add(known(net, kinds), [x, partner(net, x)])


def logic(net: Net) -> None:
    x = net.pick("bool")
    kind = known(net, ["And", "Or", "Xor", "Not", "Where", "Where"])
    if kind == "Where":
        y = net.new(net.values[x].shape, net.choice(TYPES))
        net.add(kind, [x, y, partner(net, y)])
    else:
        net.add(kind, [x] if kind == "Not" else [x, partner(net, x)])


def cast(net: Net) -> None:
    x, to = net.pick(net.choice(TYPES), exact=True), net.choice(TYPES)
    value = net.values[x]
    bounds = np.iinfo(to) if to not in ("float32", "bool") else None
    # ONNX leaves open what becomes of a float that the integer type does not have.
    if value.dtype.kind == "f" and bounds and value.size and (value.min() < bounds.min or value.max() > bounds.max):
        return
    net.add("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def clip(net: Net) -> None:
    dtype = "float32" if net.opset < 12 else net.choice(["float32", "int8", "uint8", "int32", "int64"])
    x, low, high = net.pick(dtype), net.number(0, 2), net.number(3, 6)
    if net.opset < 11:
        net.add("Clip", [x], min=float(low), max=float(high) if net.chance(0.8) else None)
    else:
        net.add("Clip", [x, net.constant(low, dtype) if net.chance(0.8) else "", net.constant(high, dtype)])


def reduce(net: Net) -> None:
    kind = "Reduce" + net.choice(["Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"])
    dtype = "int32" if kind not in ("ReduceL2", "ReduceLogSumExp") and net.chance(0.2) else "float32"
    # Where squares of integers overflow, ONNX Runtime saturates.
    x = net.pick(dtype, 1, 6, lambda array: array.size > 0 and array.max() < 1000 and array.min() > -1000)
    rank = net.values[x].ndim
    axes = [axis_of(net, axis, rank) for axis in sorted(net.some(rank))]
    if net.opset < (13 if kind == "ReduceSum" else 18):
        net.add(kind, [x], axes=axes, keepdims=net.choice([0, 1, None]))
    else:
        net.add(kind, [x, net.ints(*axes)], keepdims=net.choice([0, 1, None]))


def along_axis(net: Net) -> None:
    kind = net.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin"])
    x = net.pick("float32", 1, 6, lambda array: array.size > 0)
    rank = net.values[x].ndim
    net.add(kind, [x], axis=axis_of(net, net.number(0, rank - 1), rank) if net.chance(0.8) else None)


def matmul(net: Net) -> None:
    dtype = "float32" if net.opset < 9 or net.chance(0.8) else "int32"
    rows, inner, columns = (net.number(1, 70 if net.chance(0.15) else 12) for _ in range(3))
    batch = [net.number(1, 3) for _ in range(net.number(0, 3))]
    left = [inner] if net.chance(0.15) else [*_thinned(net, batch), rows, inner]
    right = [inner] if net.chance(0.15) else [*_thinned(net, batch)[net.number(0, len(batch)) :], inner, columns]
    net.add("MatMul", [net.new(left, dtype), net.new(right, dtype)])


def _thinned(net: Net, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts to another of the same rank."""
    return [1 if net.chance(0.3) else size for size in shape]


def gemm(net: Net) -> None:
    rows, inner, columns = (net.number(1, 40 if net.chance(0.3) else 9) for _ in range(3))
    a, b = net.number(0, 1), net.number(0, 1)
    operands = [net.new((inner, rows) if a else (rows, inner)), net.new((columns, inner) if b else (inner, columns))]
    if net.opset < 11 or net.chance(0.7):
        operands.append(net.new(net.choice([(rows, columns), (1, columns), (rows, 1), (columns,), (1,), ()])))
    net.add("Gemm", operands, transA=a, transB=b, alpha=net.choice([None, 0.5]), beta=net.choice([None, 2.0]))


def window(net: Net, rank: int, largest: int, dilated: bool = True) -> dict[str, Any]:
    """Attributes of a convolution or a pool."""
    kernel = [net.number(1, largest) for _ in range(rank)]
    found: dict[str, Any] = {"kernel_shape": kernel, "strides": [net.number(1, 3) for _ in range(rank)]}
    if net.chance(0.2):
        return found | {"auto_pad": net.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}
    if dilated and net.chance(0.4):
        found["dilations"] = [net.number(1, 3) for _ in range(rank)]
    return found | {"pads": [net.number(0, size - 1) for size in kernel * 2]}


def conv(net: Net) -> None:
    rank, large = net.choice([1, 2, 2]), net.chance(0.15)
    groups, channels, filters = net.choice([1, 1, 2, 3]), *(net.number(1, 20 if large else 5) for _ in range(2))
    if net.chance(0.25):
        groups, channels, filters = net.number(1, 20), 1, net.number(1, 2)
    sizes = [net.number(1, 33 if large else 12) for _ in range(rank)]
    attributes = window(net, rank, 5)
    x = net.new((net.choice([1, 1, 2, 7]), groups * channels, *sizes))
    w = net.new((groups * filters, channels, *attributes["kernel_shape"]), constant=net.chance(0.8))
    bias = [net.new((groups * filters,))] if net.chance(0.6) else []
    made = net.add("Conv", [x, w, *bias], group=groups, **attributes)
    if made and net.chance(0.4):
        _batch_norm(net, made[0])


def _batch_norm(net: Net, x: str) -> None:
    channels = (net.values[x].shape[1],)
    operands = [net.new(channels, constant=True) for _ in range(3)]
    net.add("BatchNormalization", [x, *operands, net.give(np.abs(net.array(channels)) + np.float32(0.25), True)])


def conv_transpose(net: Net) -> None:
    rank, groups, channels, filters = net.number(1, 2), net.number(1, 3), net.number(1, 4), net.number(1, 4)
    kernel = [net.number(1, 4) for _ in range(rank)]
    x = net.new((net.number(1, 2), groups * channels, *(net.number(1, 7) for _ in range(rank))))
    w = net.new((groups * channels, filters, *kernel), constant=net.chance(0.8))
    strides = [net.number(1, 3) for _ in range(rank)]
    net.add(
        "ConvTranspose", [x, w], group=groups, strides=strides, dilations=[net.number(1, 2) for _ in range(rank)],
        pads=[net.number(0, 2) for _ in range(2 * rank)], output_padding=[net.number(0, step - 1) for step in strides],
    )  # fmt: skip


def pool(net: Net) -> None:
    rank, kind = net.number(1, 2), net.choice(["MaxPool", "AveragePool"])
    x = net.pick("float32", rank + 2, rank + 2, lambda array: array.size > 0)
    attributes = window(net, rank, 4, net.opset >= (10 if kind == "MaxPool" else 19))
    dilations = attributes.get("dilations", [1] * rank)
    reach = [(size - 1) * step + 1 for size, step in zip(attributes["kernel_shape"], dilations, strict=True)]
    # ONNX Runtime rounds the number of windows that do not fit at all to one.
    if any(size < span for size, span in zip(net.values[x].shape[2:], reach, strict=True)):
        return
    counted = net.number(0, 1) if kind == "AveragePool" else None
    net.add(kind, [x], ceil_mode=net.number(0, 1) if net.opset >= 10 else None, count_include_pad=counted, **attributes)


def global_pool(net: Net) -> None:
    x = net.pick("float32", 3, 4, lambda array: array.size > 0)
    net.add(net.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x])


def normalise(net: Net) -> None:
    x = net.pick("float32", 3, 4, lambda array: array.size > 0)
    shape = net.values[x].shape
    if net.opset >= 17 and net.chance(0.5):
        axis = net.number(0, len(shape) - 1)
        net.add("LayerNormalization", [x, net.new(shape[axis:]), net.new(shape[axis:])], axis=axis, epsilon=0.01)
    elif net.chance(0.5):
        net.add("InstanceNormalization", [x, net.new(shape[1:2]), net.new(shape[1:2])], epsilon=0.01)
    else:
        _batch_norm(net, x)


def integers(net: Net) -> None:
    """Products of bytes over their whole range, with zero points."""
    first, second = net.choice(["uint8", "int8"]), net.choice(["uint8", "int8"])
    a = net.array((net.number(1, 3), net.number(1, 12), net.number(1, 40)), first, -40, 40)
    b = net.array((a.shape[-1], net.number(1, 20)), second, -40, 40)
    zeros = [net.constant(net.number(0, 30), dtype) for dtype in (first, second)]
    if net.opset >= 10:
        net.add("MatMulInteger", [net.give(a), net.give(b), *zeros])


CASES = {
    unary: 5, positive: 1, binary: 5, several: 2, divide: 2, compare: 2, logic: 3, cast: 3, clip: 2, reduce: 4,
    along_axis: 4, matmul: 4, gemm: 2, conv: 6, conv_transpose: 3, pool: 4, global_pool: 1, normalise: 3, integers: 2,
}  # fmt: skip
"""How often each is tried, relative to the others."""
