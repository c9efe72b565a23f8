"""MobileViT: inverted residuals, and transformers on every fourth pixel of an image."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.quantised_zoo.layers import classified, encoder_layer, image, layer_norm, silu
from benchmarks.zoo_net import Net


@dataclass(frozen=True)
class Sizes:
    """Of MobileViT-XXS and -XS."""

    stem: int
    widths: tuple[int, int, int, int, int]
    inner: tuple[int, int, int]
    expansion: int
    last: int


XXS = Sizes(16, (16, 24, 48, 64, 80), (64, 80, 96), 2, 320)
XS = Sizes(16, (32, 48, 64, 80, 96), (96, 120, 144), 4, 384)
DEPTHS = (2, 4, 3)


def mobilevit(net: Net, sizes: Sizes) -> str:
    x = silu(net, net.conv(image(net), sizes.stem, 3, 2))
    x = _inverted(net, x, sizes.widths[0], sizes.expansion, 1)
    for stride in (2, 1, 1):
        x = _inverted(net, x, sizes.widths[1], sizes.expansion, stride)
    for number, (width, inner, depth) in enumerate(zip(sizes.widths[2:], sizes.inner, DEPTHS, strict=True)):
        x = _inverted(net, x, width, sizes.expansion, 2)
        side = 12 >> number
        x = _transformed(net, x, inner, depth, side, 2 if side % 2 == 0 else 1)
    return classified(net, silu(net, net.conv(x, sizes.last, 1)))


def _inverted(net: Net, x: str, width: int, expansion: int, stride: int) -> str:
    inner = silu(net, net.conv(x, net.channels[x] * expansion, 1))
    found = net.conv(silu(net, net.depthwise(inner, 3, stride)), width, 1)
    return net("Add", x, found) if stride == 1 and net.channels[x] == width else found


def _transformed(net: Net, x: str, inner: int, depth: int, side: int, patch: int) -> str:
    """Pixels at the same place of a patch are the tokens of one sequence."""
    width, cells = net.channels[x], side // patch
    found = net.conv(silu(net, net.conv(x, width, 3)), inner, 1)
    found = net("Transpose", net.reshape(found, inner, cells, patch, cells, patch), perm=[2, 4, 1, 3, 0])
    found = net.reshape(found, patch * patch, cells * cells, inner)
    for _ in range(depth):
        found = encoder_layer(net, found, cells * cells, inner, 4, 2 * inner, silu)
    found = net.reshape(layer_norm(net, found, inner), patch, patch, cells, cells, inner)
    found = net.reshape(net("Transpose", found, perm=[4, 2, 0, 3, 1]), 1, inner, side, side)
    net.channels[found] = inner
    joined = net("Concat", x, silu(net, net.conv(found, width, 1)), axis=1)
    net.channels[joined] = 2 * width
    return silu(net, net.conv(joined, width, 3))
