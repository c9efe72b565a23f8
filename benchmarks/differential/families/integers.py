"""Operators on bytes: QLinearConv, MatMulInteger, ONNX Runtime's QLinear ones, dynamic quantisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.net import Net, grown
from benchmarks.differential.windowed import draw_windowed

STEP = 1.0
"""Other runtimes multiply by factors in float32."""
MICROSOFT = "com.microsoft"


def scaled(net: Net, dtype: str, scale: float | None = None) -> list[str]:
    """A scale and a zero point."""
    info = np.iinfo(dtype)
    middle = (int(info.min) + int(info.max) + 1) // 2
    zero = net.choice([middle, net.number(int(info.min), int(info.max))])
    return [net.constant(scale or net.number(1, 99) / 500, "float32"), net.constant(zero, dtype)]


def byte(net: Net) -> str:
    return str(net.choice(["uint8", "int8"]))


def full(net: Net, shape: Sequence[int], dtype: str, constant: bool = False) -> str:
    info = np.iinfo(dtype)
    return net.give(net.choices.numpy().integers(info.min, info.max + 1, shape).astype(dtype), constant)


def qlinear_conv(net: Net) -> None:
    layer, dtype = draw_windowed(net, ["Conv"]), byte(net)
    x, w = full(net, layer.shape, dtype), full(net, layer.weights, "int8", True)
    filters = layer.weights[0]
    scales = net.choices.numpy().uniform(0.001, 0.02, filters if net.chance(0.5) else ()).astype(np.float32)
    weights = [net.give(np.asarray(scales), True), net.give(np.zeros(scales.shape, np.int8), True)]
    operands = [x, *scaled(net, dtype), w, *weights, *scaled(net, dtype, 0.05 * layer.terms**0.5)]
    if net.chance(0.6):
        operands.append(net.give(net.choices.numpy().integers(-3000, 3000, filters).astype(np.int32), True))
    net.add("QLinearConv", operands, steps=STEP, **layer.attributes)


def conv_integer(net: Net) -> None:
    layer, dtype = draw_windowed(net, ["Conv"]), "uint8"
    operands = [full(net, layer.shape, dtype), full(net, layer.weights, byte(net), True)]
    if net.chance(0.6):
        operands.append(scaled(net, dtype)[1])
    net.add("ConvInteger", operands, **layer.attributes)


def qlinear_matmul(net: Net) -> None:
    rows, inner, columns = (net.number(1, 30) for _ in range(3))
    dtype, batch = byte(net), [net.number(1, 3)] * net.number(0, 1)
    a, b = full(net, (*batch, rows, inner), dtype), full(net, (*batch, inner, columns), "int8", net.chance(0.7))
    wide = scaled(net, dtype, 0.02 * inner**0.5)
    net.add("QLinearMatMul", [a, *scaled(net, dtype, 0.02), b, *scaled(net, "int8", 0.02), *wide], steps=STEP)


def matmul_integer(net: Net) -> None:
    rows, inner, columns = (net.number(1, 40) for _ in range(3))
    first, second = byte(net), byte(net)
    operands = [full(net, (rows, inner), first), full(net, (inner, columns), second, net.chance(0.7))]
    if net.chance(0.7):
        operands += [scaled(net, first)[1], scaled(net, second)[1]]
    net.add("MatMulInteger", operands)


def pair(net: Net) -> None:
    shape, dtype = [max(size, 1) for size in net.shape(1, 4)], byte(net)
    other = [1 if net.chance(0.2) else size for size in shape][net.number(0, len(shape) - 1) :]
    operands = [
        full(net, shape, dtype),
        *scaled(net, dtype),
        full(net, other, dtype, net.chance(0.3)),
        *scaled(net, dtype),
    ]
    kind = net.choice(["QLinearAdd", "QLinearMul"])
    net.add(kind, [*operands, *scaled(net, dtype)], domain=MICROSOFT, steps=STEP)


def function(net: Net) -> None:
    """Rows have at least two elements: ONNX Runtime's softmax of one is 0."""
    shape, dtype = [max(size, 1) for size in net.shape(1, 4)], byte(net)
    shape[-1] += 1
    kind: str = net.choice(["QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"])
    given: dict[str, Any] = {"opset": net.opset, "axis": -1} if kind == "QLinearSoftmax" else {}
    result = scaled(net, dtype, 1 / 256 if kind != "QLinearLeakyRelu" else None)
    net.add(kind, [full(net, shape, dtype), *scaled(net, dtype), *result], domain=MICROSOFT, steps=STEP, **given)


def average(net: Net) -> None:
    shape, dtype = (net.number(1, 2), net.number(1, 9), net.number(1, 7), net.number(1, 7)), byte(net)
    operands = [full(net, shape, dtype), *scaled(net, dtype), *scaled(net, dtype)]
    net.add("QLinearGlobalAveragePool", operands, domain=MICROSOFT, steps=STEP, channels_last=0)


def joined(net: Net) -> None:
    dtype, rest = byte(net), [net.number(1, 6) for _ in range(net.number(0, 2))]
    parts = []
    for _ in range(net.number(1, 3)):
        parts += [full(net, [net.number(1, 7), *rest], dtype), *scaled(net, dtype)]
    net.add("QLinearConcat", [*scaled(net, dtype), *parts], domain=MICROSOFT, steps=STEP, axis=0)


def dynamic(net: Net) -> None:
    """Floats that are quantised while the network runs, and their product with constant bytes."""
    rows, inner, columns = net.number(1, 9), net.number(1, 40), net.number(1, 20)
    x = net.give(net.choices.numpy().standard_normal((rows, inner)).astype(np.float32), False)
    made = net.add("DynamicQuantizeLinear", [x], 3, steps=STEP)
    if made and net.chance(0.7):
        whole = STEP * 128 * inner
        net.add("MatMulInteger", [made[0], full(net, (inner, columns), "int8", True), made[2]], steps=whole)


NODES = {
    qlinear_conv: 4, conv_integer: 2, qlinear_matmul: 3, matmul_integer: 2, pair: 3, function: 2, average: 1, joined: 1,
    dynamic: 1,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room, choices.pick_one([13, 17, 21])), NODES, choices.number(1, 3))
