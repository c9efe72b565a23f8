"""MobileNet V3: inverted residuals with 5 x 5 windows, squeeze and excitation, and hard swish."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import excited, hard_sigmoid, hard_swish, image, relu, scaled, scores
from benchmarks.zoo_net import Net

Block = tuple[int, int, int, bool, bool, int]
"""Window, inner channels, channels, whether excited, whether hard swish (or ReLU), stride."""
SMALL: tuple[Block, ...] = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip
LARGE: tuple[Block, ...] = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip


def small(net: Net, multiplier: float) -> str:
    return _network(net, SMALL, multiplier, 1024)


def large(net: Net, multiplier: float) -> str:
    return _network(net, LARGE, multiplier, 1280)


def _network(net: Net, blocks: tuple[Block, ...], multiplier: float, hidden: int) -> str:
    x = hard_swish(net, net.conv(image(net), scaled(16, multiplier), 3, 2))
    for block in blocks:
        x = _inverted(net, x, block, multiplier)
    x = hard_swish(net, net.conv(x, scaled(6 * blocks[-1][2], multiplier), 1))
    width, inner = net.channels[x], scaled(hidden, multiplier)
    pooled = net("Flatten", net("GlobalAveragePool", x))
    wide = net("Gemm", pooled, net.weights(inner, width), net.weights(inner, fan=4), transB=1)
    return scores(net, hard_swish(net, wide), inner)


def _inverted(net: Net, x: str, block: Block, multiplier: float) -> str:
    window, inner, width, is_excited, swishes, stride = block
    activation = hard_swish if swishes else relu
    wide, narrow = scaled(inner, multiplier), scaled(width, multiplier)
    found = x if wide == net.channels[x] else activation(net, net.conv(x, wide, 1))
    found = activation(net, net.depthwise(found, window, stride))
    if is_excited:
        found = excited(net, found, scaled(wide // 4, 1), relu, hard_sigmoid)
    found = net.conv(found, narrow, 1)
    return net("Add", x, found) if stride == 1 and net.channels[x] == narrow else found
