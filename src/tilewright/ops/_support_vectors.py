"""Support vector machines of ai.onnx.ml: samples compared with support vectors."""

from __future__ import annotations

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.ops._compose import Compose
from tilewright.ops.exp import Exp
from tilewright.ops.max import Max
from tilewright.ops.pow import Pow
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.ops.tanh import Tanh

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def vectors(make: Compose, count: int, features: int) -> Array:
    given = np.asarray(make.node.attribute("support_vectors", ()), np.float32)
    if count < 1 or given.size != count * features:
        raise Refusal(f"{given.size} numbers for {count} support vectors of {features} features")
    return given.reshape(count, features)


def compared(make: Compose, x: str, support: Array) -> str:
    """For each sample and support vector the function that `kernel_type` names: [samples, vectors]."""
    kind = make.node.attribute("kernel_type", "LINEAR")
    gamma, offset, degree = (*make.node.attribute("kernel_params", ()), 0.0, 0.0, 0.0)[:3]
    if kind not in KERNELS:
        raise Refusal(f"kernel_type is {kind}", f"it is one of {', '.join(KERNELS)}")
    products = make.matmul(x, make.constant(support.T, "vectors"))
    if kind == "RBF":
        return _by_distance(make, x, products, support, gamma)
    if kind == "LINEAR":
        return products
    moved = make.scaled(products, gamma)
    moved = make.add(moved, make.like(offset, moved)) if offset else moved
    return make(Tanh(), moved) if kind == "SIGMOID" else make(Pow(), moved, make.like(degree, moved))


def _by_distance(make: Compose, x: str, products: str, support: Array, gamma: float) -> str:
    """exp(-gamma * |x - v|^2), the square as |x|^2 - 2 x v + |v|^2: never below 0, as rounding might have it."""
    lengths = np.sum(support.astype(np.float64) ** 2, axis=1).astype(np.float32)
    square = make.sub(make(ReduceSumSquare((1,), True), x), make.scaled(products, 2.0))
    square = make(Max(), make.add(square, make.constant(lengths, "lengths")), make.like(0.0, square))
    return make(Exp(), make.scaled(square, -gamma))
