"""Convolutions of floats with as many channels as networks have: three by three on images of odd sizes, one by one,
strided, one behind another and around sums."""

from __future__ import annotations

from math import prod

import numpy as np
from benchmarks.differential.case import Case
from benchmarks.differential.choices import TRIES, Choices, Dull
from benchmarks.differential.net import Net

CHANNELS = (12, 13, 16, 17, 24, 32, 36, 40, 48, 64)
SIZES = (1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 17, 21)
MOST_MACS = 1_000_000
"""Of a network."""


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room, choices.pick_one((13, 17, 21)))
    layers = Layers(net)
    for _ in range(choices.number(1, 3)):
        layers.convolution()
        if choices.chance(0.5):
            layers.behind()
    return net.case()


class Layers:
    """What is written so far; `x` is what the next layer reads."""

    def __init__(self, net: Net) -> None:
        self.net, self.macs = net, 0
        for _ in range(TRIES):
            shape = (net.choice((1, 1, 1, 2)), net.choice(CHANNELS), net.choice(SIZES), net.choice(SIZES))
            if prod(shape) <= net.room:
                break
        else:
            raise Dull("images are too large")
        self.x = self.values(shape, constant=False)

    def values(self, shape: tuple[int, ...], constant: bool) -> str:
        """Sums of their products depend on the order: other runtimes round otherwise."""
        name = self.net.give(self.net.choices.numpy().standard_normal(shape).astype(np.float32), constant)
        self.net.exact[name] = False
        return name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.net.values[self.x].shape

    def add(self, kind: str, inputs: list[str], **given: object) -> None:
        made = self.net.add(kind, inputs, **given)
        if not made:
            raise Dull(f"no runtime takes {kind}")
        self.x = made[0]

    def convolution(self) -> None:
        net, (batch, channels, *sizes) = self.net, self.shape
        taps = net.choice((3, 3, 3, 3, 1, 5))
        stride = net.choice((1, 1, 1, 2))
        pads = [taps // 2] * 4 if net.chance(0.6) else [net.number(0, taps - 1) for _ in range(4)]
        rooms = [size + pads[axis] + pads[axis + 2] for axis, size in enumerate(sizes)]
        if min(rooms) < taps:
            return
        filters = net.choice(CHANNELS)
        counts = prod((room - taps) // stride + 1 for room in rooms)
        self.macs += batch * channels * filters * taps * taps * counts
        if self.macs > MOST_MACS:
            raise Dull("too many products")
        bias = [self.values((filters,), constant=True)] if net.chance(0.7) else []
        operands = [self.x, self.values((filters, channels, taps, taps), constant=True), *bias]
        self.add("Conv", operands, pads=pads, strides=[stride] * 2)

    def behind(self) -> None:
        net, before = self.net, self.x
        kind = net.choice(("Relu", "Relu", "Clip", "Add", "MaxPool", "GlobalAveragePool"))
        if kind == "Add":
            self.add("Add", [before, self.values(self.shape, constant=net.chance(0.3))])
        elif kind == "Clip":
            self.add("Clip", [before, net.constant(0.0, "float32"), net.constant(6.0, "float32")])
        elif kind == "MaxPool" and min(self.shape[2:]) >= 2:
            self.add("MaxPool", [before], kernel_shape=[2, 2], strides=[2, 2])
        elif kind != "MaxPool":
            self.add(kind, [before])
