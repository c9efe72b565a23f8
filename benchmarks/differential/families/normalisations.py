"""Normalisations, also of numbers whose mean is far larger than their spread."""

from __future__ import annotations

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import Choices
from benchmarks.differential.net import Net, grown


def batch_norm(net: Net, x: str) -> None:
    channels = (net.values[x].shape[1],)
    operands = [net.new(channels, constant=True) for _ in range(3)]
    net.add("BatchNormalization", [x, *operands, net.give(np.abs(net.array(channels)) + np.float32(0.25), True)])


def activations(net: Net, low: int, high: int) -> str:
    """A tensor of floats; some have a mean that is much larger than what is around it. Nothing else reads those: of
    what is computed from them, too few digits are left to compare."""
    shape = [max(size, 1) for size in net.shape(low, high)]
    if not net.chance(0.4):
        return net.pick("float32", low, high, lambda array: array.size > 0)
    mean = net.choice([10.0, 100.0, 1000.0, -3000.0])
    made = net.give(np.asarray(net.choices.numpy().normal(mean, 1.0, shape), np.float32), False)
    net.pool.remove(made)
    return made


def layer_norm(net: Net) -> None:
    x = activations(net, 1, 4)
    shape = net.values[x].shape
    axis = net.number(0, len(shape) - 1)
    operands = [x, net.new(shape[axis:])] + ([net.new(shape[axis:])] if net.chance(0.7) else [])
    if net.opset >= 17:
        net.add("LayerNormalization", operands, axis=net.choice([axis, axis - len(shape)]), epsilon=epsilon(net))


def epsilon(net: Net) -> float | None:
    return net.choice([0.01, None, 1e-3])


def instance_norm(net: Net) -> None:
    x = activations(net, 3, 4)
    channels = net.values[x].shape[1:2]
    net.add("InstanceNormalization", [x, net.new(channels), net.new(channels)], epsilon=epsilon(net))


def batch(net: Net) -> None:
    batch_norm(net, net.pick("float32", 2, 4, lambda array: array.size > 0))


def group_norm(net: Net) -> None:
    groups, inside = net.number(1, 4), net.number(1, 4)
    shape = (net.number(1, 2), groups * inside, *(net.number(1, 6) for _ in range(net.number(1, 2))))
    x = net.give(np.asarray(net.choices.numpy().normal(net.choice([0, 50]), 1.0, shape), np.float32), False)
    if net.opset >= 21:
        operands = [x, net.new(shape[1:2]), net.new(shape[1:2])]
        net.add("GroupNormalization", operands, num_groups=groups, epsilon=epsilon(net))


def rms_norm(net: Net) -> None:
    x = activations(net, 1, 4)
    axis = net.number(0, net.values[x].ndim - 1)
    if net.opset >= 23:
        net.add("RMSNormalization", [x, net.new(net.values[x].shape[axis:])], axis=axis, epsilon=epsilon(net))


def lengths(net: Net) -> None:
    x = activations(net, 1, 4)
    axis = net.number(0, net.values[x].ndim - 1)
    net.add("LpNormalization", [x], axis=axis, p=net.number(1, 2))


def mean_variance(net: Net) -> None:
    x = activations(net, 4, 4)
    if net.opset >= 9:
        net.add("MeanVarianceNormalization", [x], axes=net.choice([[0, 2, 3], [2, 3], [1], [0, 1, 2, 3]]))


def local_response(net: Net) -> None:
    x = net.pick("float32", 3, 4, lambda array: array.size > 0)
    net.add("LRN", [x], size=net.choice([3, 1, 5]), alpha=0.1, beta=0.75, bias=net.choice([1.0, 2.0]))


NODES = {
    layer_norm: 3, instance_norm: 2, batch: 2, group_norm: 2, rms_norm: 2, lengths: 1, mean_variance: 1,
    local_response: 1,
}  # fmt: skip
"""How often each is tried, relative to the others."""


def draw(choices: Choices, room: int) -> Case:
    return grown(Net(choices, room), NODES, choices.number(1, 3))
