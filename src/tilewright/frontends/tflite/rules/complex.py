"""Complex numbers: spectra, and what may stand between a transform and the real numbers that are taken of it.

A complex tensor is two real ones: under its number the scope has the real part, beside it the imaginary one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.frontends.tflite.node import Node
from tilewright.frontends.tflite.rules import functions, movement
from tilewright.ops.add import Add
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.sqrt import Sqrt


def rfft2d(node: Node) -> Sequence[str]:
    """The transform of real numbers along the last two axes, cut or filled up with zeros; half of the last is given."""
    shape, lengths = node.shape(0), node.integers(1, "the lengths")
    if len(shape) < 2 or len(lengths) != 2 or min(lengths) < 1 or node.dtype() != "float32":
        raise Refusal(f"a transform of lengths {lengths} of {node.type(0)} is not supported")
    x = node.emit(Reshape((*shape, 1)), node.input(0))
    x = _transformed(node, x, lengths[1], len(shape) - 1, onesided=1)
    if (shape[-2], lengths[0]) != (1, 1):
        x = _transformed(node, x, lengths[0], len(shape) - 2)
    node.scope.imaginary[node.operator.outputs[0]] = _part(node, x, 1)
    return [_part(node, x, 0)]


def _transformed(node: Node, x: str, length: int, axis: int, onesided: int = 0) -> str:
    numbers = [node.add_constant(np.asarray(number, np.int64)) for number in (length, axis)]
    return node.onnx("DFT", [x, *numbers], onesided=onesided)[0]


def _part(node: Node, x: str, which: int) -> str:
    """The real (0) or imaginary part (1) along the last axis, without it."""
    *shape, _ = node.scope.builder.types[x].shape
    starts, steps = (0,) * len(shape) + (which,), (1,) * (len(shape) + 1)
    return node.emit(Reshape(tuple(shape)), node.emit(Slice(starts, steps, (*shape, 1)), x))


def _imaginary(node: Node) -> str | None:
    return node.scope.imaginary.get(node.operator.inputs[0])


def _of_both(rule: Callable[[Node], Sequence[str]]) -> Callable[[Node], Sequence[str]]:
    """A rule that only moves elements, for both parts of a complex tensor."""

    def apply(node: Node) -> Sequence[str]:
        made, imaginary = rule(node), _imaginary(node)
        if imaginary is None:
            return made
        number, real = node.operator.inputs[0], node.input(0)
        node.scope.define(number, imaginary)
        (node.scope.imaginary[node.operator.outputs[0]],) = rule(node)
        node.scope.define(number, real)
        return made

    return apply


def cast(node: Node) -> Sequence[str]:
    """To complex numbers is refused; of complex ones the real part is taken."""
    if node.result().dtype == "complex64":
        raise Refusal("to complex64 is not supported")
    return functions.cast(node)


def real(node: Node) -> Sequence[str]:
    return [node.input(0)]


def imag(node: Node) -> Sequence[str]:
    return [_known(node)]


def magnitude(node: Node) -> Sequence[str]:
    squares = [node.emit(Mul(), part, part) for part in (node.input(0), _known(node))]
    return [node.emit(Sqrt(), node.emit(Add(), *squares))]


def _known(node: Node) -> str:
    imaginary = _imaginary(node)
    if imaginary is None:
        raise Refusal("its operand is not complex")
    return imaginary


RULES = {
    "RFFT2D": rfft2d, "CAST": cast, "REAL": real, "IMAG": imag, "COMPLEX_ABS": magnitude,
    "RESHAPE": _of_both(movement.reshape), "SQUEEZE": _of_both(movement.squeeze),
    "EXPAND_DIMS": _of_both(movement.expand_dims),
}  # fmt: skip
"""The only rules that read or make complex tensors."""
