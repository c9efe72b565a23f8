"""What classifiers and regressors of ai.onnx.ml share: labels of classes, and functions of scores."""

from __future__ import annotations

import math

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Array
from tilewright.ops._compose import Compose
from tilewright.ops.abs import Abs
from tilewright.ops.argmax import ArgMax
from tilewright.ops.div import Div
from tilewright.ops.equal import Equal
from tilewright.ops.exp import Exp
from tilewright.ops.gather import Gather
from tilewright.ops.greater import Greater
from tilewright.ops.log import Log
from tilewright.ops.neg import Neg
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.sign import Sign
from tilewright.ops.softmax import Softmax
from tilewright.ops.sqrt import Sqrt
from tilewright.ops.where import Where
from tilewright.records import dataclass

DOMAIN = ("ai.onnx.ml",)
ALMOST_ZERO = 1e-7
"""What SOFTMAX_ZERO takes as no score."""
WINITZKI = 0.147
"""The constant of the approximation of the inverse error function that PROBIT is defined by."""


@dataclass(frozen=True)
class Labels:
    """What the classes are called; texts are known by their numbers."""

    values: tuple[int, ...]

    @staticmethod
    def of(make: Compose, integers: str, texts: str) -> Labels:
        numbers, words = make.node.attribute(integers, ()), make.node.attribute(texts, ())
        if bool(numbers) == bool(words):
            raise Refusal(f"either '{integers}' or '{texts}' says what the classes are called")
        return Labels(tuple(numbers) or tuple(make.emit.word(word) for word in words))

    def of_best(self, make: Compose, scores: str) -> str:
        """The label of the largest score in every row, the first of equals."""
        return self.at(make, make(ArgMax(1, keepdims=False), scores))

    def at(self, make: Compose, positions: str) -> str:
        if self.values == tuple(range(len(self.values))):
            return make.cast(positions, "int64")
        return make(Gather(0), make.constant(np.asarray(self.values, np.int64), "labels"), positions)


def rows_of_floats(node: OnnxNode, make: Compose) -> str:
    """The operand as a matrix of float32, one sample a row."""
    shape = node.type(0).shape
    if len(shape) not in (1, 2):
        raise Refusal(f"samples have shape {list(shape)}", "one or two axes: samples, features")
    return make.reshape(make.cast(node.inputs[0], "float32"), shape if len(shape) == 2 else (1, *shape))


def numbers(node: OnnxNode, name: str) -> Array:
    """An attribute that is a list of floats, or a tensor under a second name."""
    listed = node.attribute(name, ())
    if any(isinstance(one, str) for one in listed):
        raise Refusal(f"attribute '{name}' has texts, but numbers are expected")
    given = np.asarray(listed, np.float64)
    tensor = node.attribute(f"{name}_as_tensor", None)
    return given if tensor is None else np.asarray(tensor, np.float64).reshape(-1)


def refuse_ambiguous(transform: str) -> None:
    """Of one score for two classes ONNX Runtime and ONNX's reference make different things."""
    if transform not in ("NONE", "LOGISTIC"):
        raise Refusal(
            f"post_transform {transform} of one score for two classes: runtimes disagree on what it is",
            "export a score for each class, or without post_transform",
        )


def transformed(make: Compose, scores: str, kind: str) -> str:
    """What `post_transform` makes of rows of scores."""
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return make(Sigmoid(), scores)
    if kind == "SOFTMAX":
        return make(Softmax(1), scores)
    if kind == "SOFTMAX_ZERO":
        return _softmax_zero(make, scores)
    if kind == "PROBIT":
        return _probit(make, scores)
    raise Refusal(f"post_transform is {kind}", "it is NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT")


def _softmax_zero(make: Compose, scores: str) -> str:
    """Softmax in which a score of zero has next to no share; where nothing has one, all have a half."""
    largest = make(ReduceMax((1,), True), scores)
    scored = make(Greater(), make(Abs(), scores), make.like(ALMOST_ZERO, scores))
    zero = make.mul(scores, make(Exp(), make(Neg(), largest)))
    shares = make(Where(), scored, make(Exp(), make.sub(scores, largest)), zero)
    total = make(ReduceSum((1,), True), shares)
    none = make(Equal(), total, make.like(0.0, total))
    divided = make(Div(), shares, make(Where(), none, make.like(1.0, total), total))
    return make(Where(), none, make.like(0.5, total), divided)


def _probit(make: Compose, scores: str) -> str:
    """sqrt(2) times the inverse error function of 2 x - 1, as ONNX Runtime approximates it."""
    x = make.sub(make.scaled(scores, 2.0), make.like(1.0, scores))
    log = make(Log(), make.sub(make.like(1.0, x), make.mul(x, x)))
    half = make.add(make.scaled(log, 0.5), make.like(2 / (math.pi * WINITZKI), x))
    root = make(Sqrt(), make.sub(make.mul(half, half), make.scaled(log, 1 / WINITZKI)))
    size = make(Sqrt(), make.sub(root, half))
    return make.scaled(make.mul(make(Sign(), x), size), 1.41421356)
