"""Networks of bytes between quantisers with as many channels as networks have: one by one, three by three, each channel
alone, around sums, and products behind."""

from __future__ import annotations

from math import prod

from benchmarks.differential.case import Case
from benchmarks.differential.choices import TRIES, Choices, Dull
from benchmarks.differential.families.quantised import Drawing, Quantised
from benchmarks.differential.net import Net

CHANNELS = (8, 15, 16, 24, 31, 32, 33, 48, 64, 65, 96, 128)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12)
MOST_MACS = 600_000
"""Of a layer."""


class Wide(Drawing):
    def layer(self, x: Quantised) -> Quantised:
        return self.convolution_of(x) if self.net.values[x.name].ndim == 4 else self.product(x)

    def convolution_of(self, x: Quantised) -> Quantised:
        net, (batch, channels, *sizes) = self.net, self.net.values[x.name].shape
        kind = net.choice(("pointwise", "pointwise", "depthwise", "depthwise", "full"))
        taps = 1 if kind == "pointwise" else net.choice((3, 3, 5))
        groups, stride = channels if kind == "depthwise" else 1, net.choice((1, 1, 2))
        filters = channels if kind == "depthwise" else net.choice(CHANNELS)
        counts = prod((size - 1) // stride + 1 for size in sizes)
        if batch * filters * (channels // groups) * taps * taps * counts > MOST_MACS:
            return self.product(x) if channels * prod(sizes) < 2000 else x
        weights, scale = self.weights((filters, channels // groups, taps, taps), 0)
        operands = [self.floats(x), weights]
        if net.chance(0.8):
            operands.append(self.bias(filters, x.scale * scale))
        made = self.sums("Conv", x, operands, group=groups, pads=[taps // 2] * 4, strides=[stride] * 2)
        return self._activated(made, x.steps)


def draw(choices: Choices, room: int) -> Case:
    net = Net(choices, room, choices.pick_one((13, 17, 21)))
    drawing = Wide(net)
    x = drawing.input(_shape(net))
    for _ in range(choices.number(1, 4)):
        x = choices.pick_one((drawing.layer, drawing.layer, drawing.layer, drawing.pair, drawing.average))(x)
    return net.case()


def _shape(net: Net) -> tuple[int, ...]:
    for _ in range(TRIES):
        shape = (net.choice((1, 1, 1, 2)), net.choice(CHANNELS), net.choice(SIZES), net.choice(SIZES))
        if prod(shape) <= net.room:
            return shape
    raise Dull("images are too large")
