"""Pools over windows of an image."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import activation_of, clamp, operand, result
from tilewright.frontends.tflite.windows import activated, check_image, padding, steps
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Shape, limits
from tilewright.ops.averagepool import AveragePool
from tilewright.ops.clip import Clip
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearreducemean import QLinearReduceMean


def average_pool_2d(node: Node) -> Sequence[str]:
    kernel, strides, pads = _window(node)
    if node.dtype() == "float32":
        pool = AveragePool(strides, (1, 1), pads, kernel, channels_last=True)
        return [activated(node, node.emit(pool, node.input(0)))]
    low, high = _range(node)
    # The mean of the integers themselves: operand and result have one scale and one zero point.
    requant = Requant(0, node.dtype(), low, high, 0, Rounding.HALF_AWAY)
    if kernel == node.shape(0)[1:3] and not any(pads):
        return [node.emit(QLinearReduceMean((1, 2), True, 0, 1, requant), node.input(0))]
    means = QLinearAveragePool(strides, (1, 1), pads, kernel, 0, 1, requant, channels_last=True)
    return [node.emit(means, node.input(0))]


def max_pool_2d(node: Node) -> Sequence[str]:
    kernel, strides, pads = _window(node)
    made = node.emit(MaxPool(strides, (1, 1), pads, kernel, channels_last=True), node.input(0))
    if node.dtype() == "float32":
        return [activated(node, made)]
    low, high = _range(node)
    return [made if (low, high) == limits(node.dtype()) else node.emit(Clip(low, high), made)]


def _range(node: Node) -> tuple[int, int]:
    """What the fused activation leaves; a pool changes no scale."""
    scale, zero, dtype = result(node)
    if operand(node, 0) != (scale, zero) or dtype != node.dtype():
        raise Refusal("operand and result differ in scale, zero point or type", "quantise the model again")
    return clamp(activation_of(node), scale, zero, dtype)


def _window(node: Node) -> tuple[Shape, Shape, Shape]:
    image, strides = check_image(node), steps(node, "Stride")
    kernel = int(node.option("FilterHeight", 0)), int(node.option("FilterWidth", 0))
    if min(kernel) < 1:
        raise Refusal(f"a window of {kernel} is not supported")
    return kernel, strides, padding(node, image[1:3], kernel, strides)


RULES = {"AVERAGE_POOL_2D": average_pool_2d, "MAX_POOL_2D": max_pool_2d}
