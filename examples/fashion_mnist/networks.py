"""Four small networks of PyTorch for pictures of 28 x 28: what microcontrollers run, and what is hard to quantise."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 10


def conv(inputs: int, outputs: int, kernel: int, stride: int, groups: int, act: nn.Module) -> nn.Sequential:
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), act)


class Head(nn.Sequential):
    def __init__(self, channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


def cnn() -> nn.Module:
    """Three convolutions with max pooling: 1.9 M MAC."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((1, 16), (16, 32), (32, 64)):
        layers += [conv(inputs, outputs, 3, 1, 1, nn.ReLU()), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, Head(64))


class Inverted(nn.Module):
    """MobileNetV2's block: wide by 1 x 1, depthwise 3 x 3, narrow by 1 x 1 without activation."""

    def __init__(self, inputs: int, outputs: int, stride: int, factor: int = 4) -> None:
        super().__init__()
        wide = inputs * factor
        self.body = nn.Sequential(
            conv(inputs, wide, 1, 1, 1, nn.ReLU6()),
            conv(wide, wide, 3, stride, wide, nn.ReLU6()),
            conv(wide, outputs, 1, 1, 1, nn.Identity()),
        )
        self.residual = inputs == outputs and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


def spread_channels(network: nn.Module, deviation: float) -> None:
    """Starts the batch norms with gains that differ from channel to channel, as long training makes them.

    Folded batch norms give the depthwise weights of large MobileNets ranges that differ by a factor of hundreds; a
    network trained for minutes keeps the gains it starts with, so this one starts with them.
    """
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.normal_(part.weight, 0.0, deviation)
            part.weight.data.exp_()


def mobilenet() -> nn.Module:
    """Depthwise separable blocks with batch norm and ReLU6."""
    blocks = [Inverted(16, 16, 1), Inverted(16, 24, 2), Inverted(24, 24, 1), Inverted(24, 40, 1), Inverted(40, 40, 1)]
    network = nn.Sequential(conv(1, 16, 3, 2, 1, nn.ReLU6()), *blocks, conv(40, 96, 1, 1, 1, nn.ReLU6()), Head(96))
    spread_channels(network, 1.0)
    return network


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Norm before attention and before the two linear layers, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))


class Vit(nn.Module):
    """49 patches of 4 x 4, four layers of width 64."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, 4, 4)
        self.places = nn.Parameter(torch.randn(1, 49, width) * 0.02)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(tokens)).mean(1))


class Lstm(nn.Module):
    """A keyword spotter's network; the rows of the picture stand for the frames of sound: 28 steps of 28 values."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(28, width, batch_first=True), nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x.squeeze(1))[0][:, -1])


NETWORKS: dict[str, Callable[[], nn.Module]] = {"cnn": cnn, "mobilenet": mobilenet, "vit": Vit, "lstm": Lstm}
