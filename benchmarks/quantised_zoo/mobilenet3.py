"""MobileNet V3: inverted residuals with 5 x 5 windows, squeeze and excitation, and hard swish."""

from __future__ import annotations

from benchmarks.quantised_zoo.layers import CLASSES, excited, hard_sigmoid, hard_swish, image, relu, scaled, scores
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
    return _network(net, SMALL, multiplier, scaled(16, multiplier), scaled(1024, multiplier), CLASSES)


def large(net: Net, multiplier: float) -> str:
    return _network(net, LARGE, multiplier, scaled(16, multiplier), scaled(1280, multiplier), CLASSES)


def small_with_whole_ends(net: Net, multiplier: float) -> str:
    """As timm and Keras have it: stem, head and classes are those of the whole network."""
    return _network(net, _inner_by_ratio(SMALL, 16, multiplier), multiplier, 16, 1024, 1000)


def _inner_by_ratio(blocks: tuple[Block, ...], stem: int, multiplier: float) -> tuple[Block, ...]:
    """Blocks with inner channels in the published ratio to the channels that they get, which are rounded."""
    widths = [width for _, _, width, *_ in blocks[:-1]]
    published, rounded = [stem, *widths], [stem, *(scaled(width, multiplier) for width in widths)]
    return tuple(
        (block[0], round(block[1] / whole * given / multiplier), *block[2:])
        for block, whole, given in zip(blocks, published, rounded, strict=True)
    )


def _network(net: Net, blocks: tuple[Block, ...], multiplier: float, stem: int, inner: int, classes: int) -> str:
    x = hard_swish(net, net.conv(image(net), stem, 3, 2))
    for block in blocks:
        x = _inverted(net, x, block, multiplier)
    x = hard_swish(net, net.conv(x, scaled(6 * blocks[-1][2], multiplier), 1))
    pooled = net("Flatten", net("GlobalAveragePool", x))
    wide = net("Gemm", pooled, net.weights(inner, net.channels[x]), net.weights(inner, fan=4), transB=1)
    return scores(net, hard_swish(net, wide), inner, classes)


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
