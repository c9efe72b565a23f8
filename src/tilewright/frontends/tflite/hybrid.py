"""Float layers with 8-bit weights: activations are quantised as they come, each image or row by its own range.

Of a row from `least` to `most` (zero is always between them) 255 steps make a scale, and an integer stands for zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.windows import activated
from tilewright.ops._filters import Filters
from tilewright.ops.abs import Abs
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.conv import Conv
from tilewright.ops.div import Div
from tilewright.ops.floor import Floor
from tilewright.ops.matmul import MatMul
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.mul import Mul
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.sign import Sign
from tilewright.ops.sub import Sub

LOW, HIGH = -128.0, 127.0
SYMMETRIC = 127.0
LEAST = 1e-30


def convolution(node: Node, op: Filters, w: str, filters: int) -> Sequence[str]:
    """Images are quantised around a zero point of their own, unless one scale serves all weights of a dense layer."""
    if not isinstance(op, Conv):
        raise Refusal(
            "a transposed convolution of floats with 8-bit weights is not supported", "quantise activations too"
        )
    dense = node.operator.kind == "CONV_2D" and len(node.quantisation(1).scale) == 1
    quantise = _around_zero if dense else _around_zero_point
    integers, scale = quantise(node, node.input(0), (1, 2, 3))
    total = node.emit(op, integers, w)
    return [_finished(node, total, scale, filters)]


def product(node: Node, x: str, filters: int) -> str:
    quantise = _around_zero_point if node.option("AsymmetricQuantizeInputs", False) else _around_zero
    integers, scale = quantise(node, x, (1,))
    return _finished(node, node.emit(MatMul(trans_b=True), integers, node.input(1)), scale, filters)


def _finished(node: Node, total: str, scale: str, filters: int) -> str:
    """Totals times both scales, plus the bias."""
    weights = node.quantisation(1)
    if np.any(weights.zero_point) or len(weights.scale) not in (1, filters):
        raise Refusal(f"{len(weights.scale)} scales with zero points for {filters} filters", "quantise the model again")
    real = node.emit(Mul(), node.emit(Cast("float32"), total), node.add_constant(weights.scale, "weight_scales"))
    made = node.emit(Mul(), real, scale)
    if node.has(2):
        if node.type(2).elements != filters or node.dtype(2) != "float32":
            raise Refusal(f"a bias of {node.type(2)} for {filters} filters")
        made = node.emit(Add(), made, node.input(2))
    return activated(node, made)


def _constant(node: Node, value: float) -> str:
    return node.add_constant(np.asarray(value, np.float32), "number")


def _around_zero_point(node: Node, x: str, axes: tuple[int, ...]) -> tuple[str, str]:
    """Integers without their zero point (16 bits), and the scale of each row."""
    zero = _constant(node, 0.0)
    least = node.emit(Min(), node.emit(ReduceMin(axes, True), x), zero)
    most = node.emit(Max(), node.emit(ReduceMax(axes, True), x), zero)
    step = node.emit(Div(), node.emit(Sub(), most, least), _constant(node, HIGH - LOW))
    scale = _nonzero(node, step)
    point = _zero_point(node, least, most, scale)
    wide = node.emit(Add(), _rounded(node, node.emit(Div(), x, scale)), point)
    inside = node.emit(Sub(), node.emit(Clip(LOW, HIGH), wide), point)
    return node.emit(Cast("int16"), inside), scale


def _zero_point(node: Node, least: str, most: str, scale: str) -> str:
    """From the end of the range that is nearer to zero: less is lost there."""
    from_least = node.emit(Sub(), _constant(node, LOW), node.emit(Div(), least, scale))
    from_most = node.emit(Sub(), _constant(node, HIGH), node.emit(Div(), most, scale))
    lost_least = node.emit(Sub(), node.emit(Abs(), node.emit(Div(), least, scale)), _constant(node, LOW))
    lost_most = node.emit(Add(), node.emit(Abs(), node.emit(Div(), most, scale)), _constant(node, HIGH))
    nearer = node.onnx("Less", [lost_least, lost_most])[0]
    chosen = node.onnx("Where", [nearer, from_least, from_most])[0]
    return node.emit(Clip(LOW, HIGH), _rounded(node, chosen))


def _around_zero(node: Node, x: str, axes: tuple[int, ...]) -> tuple[str, str]:
    """Integers from -127 to 127, and the scale of each row."""
    largest = _nonzero(node, node.emit(ReduceMax(axes, True), node.emit(Abs(), x)))
    steps = node.emit(Div(), _constant(node, SYMMETRIC), largest)
    scale = node.emit(Div(), largest, _constant(node, SYMMETRIC))
    return node.emit(Cast("int8"), _rounded(node, node.emit(Mul(), x, steps))), scale


def _nonzero(node: Node, scale: str) -> str:
    """Rows of zeros have any scale; it has a reciprocal."""
    return node.emit(Max(), scale, _constant(node, LEAST))


def _rounded(node: Node, x: str) -> str:
    """Ties away from zero."""
    up = node.emit(Floor(), node.emit(Add(), node.emit(Abs(), x), _constant(node, 0.5)))
    return node.emit(Mul(), node.emit(Sign(), x), up)
