"""Padding, strides and fused activations of operators that slide a window over an image."""

from __future__ import annotations

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.quantisation import BOUNDS, NONE, RELU, activation_of
from tilewright.ir.types import Shape
from tilewright.ops.clip import Clip
from tilewright.ops.relu import Relu

SAME, VALID = 0, 1


def steps(node: Node, prefix: str, default: int = 1) -> Shape:
    """Of rows and columns."""
    found = int(node.option(f"{prefix}H", default)), int(node.option(f"{prefix}W", default))
    if min(found) < 1:
        raise Refusal(f"{prefix} is {found}; at least 1 is expected")
    return found


def padding(node: Node, image: Shape, taps: Shape, strides: Shape, dilations: Shape = (1, 1)) -> Shape:
    """Top, left, bottom, right; what is odd of SAME goes to the end."""
    kind = int(node.option("Padding", SAME))
    if kind == VALID:
        return (0, 0, 0, 0)
    if kind != SAME:
        raise Refusal(f"padding number {kind} is unknown", "SAME and VALID are known")
    walk = zip(image, taps, strides, dilations, strict=True)
    totals = [max(((size - 1) // step) * step + (n - 1) * apart + 1 - size, 0) for size, n, step, apart in walk]
    return (*(total // 2 for total in totals), *(total - total // 2 for total in totals))


def check_image(node: Node, position: int = 0) -> Shape:
    shape = node.shape(position)
    if len(shape) != 4 or 0 in shape:
        raise Refusal(f"input {position} has shape {list(shape)}; batch, rows, columns and channels are expected")
    return shape


def activated(node: Node, tensor: str) -> str:
    """The fused activation of a float operator."""
    kind = activation_of(node)
    if kind == NONE:
        return tensor
    return node.emit(Relu() if kind == RELU else Clip(*BOUNDS[kind]), tensor)
