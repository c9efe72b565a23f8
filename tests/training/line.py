"""A line that learns its slopes, by hand: y = w x, the loss is the mean of squares."""

from __future__ import annotations

import numpy as np

from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, type_of
from tilewright.ops.add import Add
from tilewright.ops.mul import Mul
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.sub import Sub
from tilewright.ops.where import Where
from tilewright.training.graphs import FIRST, Training, checked

WEIGHTS = np.array([0.5, -1, 2, 0], np.float32)


def line(rate: float = 0.1, weights: Array = WEIGHTS) -> Training:
    return checked(Training("line", _train(weights), _update(rate, weights), _infer(weights), ("w",), ("w.gradient",)))


def _train(weights: Array) -> Graph:
    builder = Builder("line_train")
    x, target = builder.input("x", type_of(weights)), builder.input("label", type_of(weights))
    w, buffer = builder.state("w", weights), builder.state("w.gradient", np.zeros_like(weights))
    first = builder.state(FIRST, np.array([True]))
    (y,) = builder(Mul(), [w, x])
    (apart,) = builder(Sub(), [y, target])
    (square,) = builder(Mul(), [apart, apart])
    (loss,) = builder(ReduceMean(axes=(0,), keepdims=False), [square])
    (slope,) = builder(Mul(), [apart, x])
    (gradient,) = builder(Mul(), [slope, builder.constant(np.array(2 / weights.size, np.float32))])
    (total,) = builder(Add(), [buffer, gradient])
    (kept,) = builder(Where(), [first, gradient, total])
    builder.output(loss, "loss")
    builder.set_next_state("w", w)
    builder.set_next_state("w.gradient", kept)
    builder.set_next_state(FIRST, builder.constant(np.array([False])))
    return builder.build()


def _update(rate: float, weights: Array) -> Graph:
    builder = Builder("line_update")
    w, buffer = builder.state("w", weights), builder.state("w.gradient", np.zeros_like(weights))
    builder.state(FIRST, np.array([True]))
    (step,) = builder(Mul(), [buffer, builder.constant(np.array(rate, np.float32))])
    (new,) = builder(Sub(), [w, step])
    builder.set_next_state("w", new)
    builder.set_next_state("w.gradient", buffer)
    builder.set_next_state(FIRST, builder.constant(np.array([True])))
    return builder.build()


def _infer(weights: Array) -> Graph:
    builder = Builder("line_infer")
    x, w = builder.input("x", type_of(weights)), builder.state("w", weights)
    (y,) = builder(Mul(), [w, x])
    builder.output(y, "y")
    builder.set_next_state("w", w)
    return builder.build()
