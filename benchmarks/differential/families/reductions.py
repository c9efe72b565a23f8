"""Sums, means, extremes, softmax and places of extremes along axes."""

from __future__ import annotations

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.families.moves import axis_of
from benchmarks.differential.net import Net, grown


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


def cumulative(net: Net) -> None:
    x = net.pick(net.choice(["float32", "int32", "int64"]), 1, 4, lambda array: array.size > 0)
    axis = net.number(0, net.values[x].ndim - 1)
    if net.opset >= 11:
        net.add("CumSum", [x, net.ints(axis)], exclusive=net.number(0, 1), reverse=net.number(0, 1))


def largest(net: Net) -> None:
    """Elements in order: no two are equal, of which other runtimes take any."""
    shape = [max(size, 1) for size in net.shape(1, 3)]
    axis = net.number(0, len(shape) - 1)
    x = net.give(np.asarray(net.choices.numpy().permutation(np.prod(shape)).reshape(shape), np.float32), False)
    if net.opset >= 11:
        count = net.ints(net.number(1, shape[axis]))
        net.add("TopK", [x, count], 2, axis=axis, largest=net.number(0, 1))


NODES = {reduce: 5, along_axis: 5, cumulative: 1, largest: 1}
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 4))
