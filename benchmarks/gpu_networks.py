"""Well-known networks in plain torch.nn, with weights that are made by a rule: the same on every machine, and of so few
different values that a compiled network can be compressed to a small part of its size."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

PERIOD = 4093
"""Of weights: a tensor is a table of so many normal numbers again and again, from some place on."""
TABLE = np.random.default_rng(0).standard_normal(PERIOD).astype(np.float32)


def with_weights(module: nn.Module) -> nn.Module:
    for name, tensor in module.state_dict().items():
        if tensor.dtype == torch.float32:
            tensor.copy_(torch.from_numpy(values(name, tuple(tensor.shape))))
    return module.eval()


def values(name: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = name.rsplit(".", 1)[-1]
    if kind == "running_var" or (kind == "weight" and len(shape) == 1):
        return np.ones(shape, np.float32)
    inner = math.prod(shape[1:]) if len(shape) > 1 else 0
    scale = math.sqrt((2.0 if len(shape) == 4 else 1.0) / inner) if inner else 0.05
    start = zlib.crc32(name.encode()) % PERIOD
    return np.resize(np.roll(TABLE, start), math.prod(shape)).reshape(shape) * np.float32(scale)


# ---- convolutional ------------------------------------------------------------------------------------------------


def convolved(
    inner: int, outer: int, size: int, stride: int = 1, groups: int = 1, end: nn.Module | None = None
) -> nn.Module:
    layers = [nn.Conv2d(inner, outer, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outer)]
    return nn.Sequential(*layers, *([end] if end else []))


class Residual(nn.Module):
    def __init__(self, body: nn.Module, shortcut: nn.Module, end: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut, self.end = body, shortcut, end

    def forward(self, x: Tensor) -> Tensor:
        return self.end(self.body(x) + self.shortcut(x))


def resnet(depths: tuple[int, ...], bottleneck: bool) -> nn.Module:
    layers: list[nn.Module] = [convolved(3, 64, 7, 2, end=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        outer = 4 * width if bottleneck else width
        for number in range(depth):
            stride = 2 if stage and not number else 1
            sizes = [(inner, width, 1, 1), (width, width, 3, stride), (width, outer, 1, 1)]
            if not bottleneck:
                sizes = [(inner, width, 3, stride), (width, outer, 3, 1)]
            body = nn.Sequential(*(convolved(*one, end=nn.ReLU()) for one in sizes[:-1]), convolved(*sizes[-1]))
            changes = stride > 1 or inner != outer
            shortcut = convolved(inner, outer, 1, stride) if changes else nn.Identity()
            layers.append(Residual(body, shortcut, nn.ReLU()))
            inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 1000))


def mobilenet_v2() -> nn.Module:
    layers: list[nn.Module] = [convolved(3, 32, 3, 2, end=nn.ReLU6())]
    inner = 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, outer, depth, first in stages:
        for number in range(depth):
            wide, stride = factor * inner, first if not number else 1
            body = nn.Sequential(
                *([convolved(inner, wide, 1, end=nn.ReLU6())] if factor > 1 else []),
                convolved(wide, wide, 3, stride, wide, nn.ReLU6()), convolved(wide, outer, 1),
            )  # fmt: skip
            layers.append(Residual(body, nn.Identity(), nn.Identity()) if number else body)
            inner = outer
    return nn.Sequential(
        *layers, convolved(inner, 1280, 1, end=nn.ReLU6()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)
    )


class Excited(nn.Module):
    """Channels weighed by what all of the image says."""

    def __init__(self, wide: int, narrow: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(wide, narrow, 1), nn.Conv2d(narrow, wide, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.up(functional.silu(self.down(functional.adaptive_avg_pool2d(x, 1)))))


def efficientnet_b0() -> nn.Module:
    layers: list[nn.Module] = [convolved(3, 32, 3, 2, end=nn.SiLU())]
    inner = 32
    stages = (
        (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    )  # fmt: skip
    for factor, size, first, outer, depth in stages:
        for number in range(depth):
            wide, stride = factor * inner, first if not number else 1
            body = nn.Sequential(
                *([convolved(inner, wide, 1, end=nn.SiLU())] if factor > 1 else []),
                convolved(wide, wide, size, stride, wide, nn.SiLU()), Excited(wide, max(1, inner // 4)),
                convolved(wide, outer, 1),
            )  # fmt: skip
            layers.append(Residual(body, nn.Identity(), nn.Identity()) if number else body)
            inner = outer
    return nn.Sequential(
        *layers, convolved(inner, 1280, 1, end=nn.SiLU()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)
    )


# ---- transformers -------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.inside, self.outside = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        count, width = x.shape[1], x.shape[2]
        parts = self.inside(x).reshape(1, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        return self.outside(found.transpose(1, 2).reshape(1, count, width))


class Encoder(nn.Module):
    """Normalised before its parts, as vision transformers are, or behind their sums, as BERT is."""

    def __init__(self, width: int, heads: int, wide: int, before: bool) -> None:
        super().__init__()
        self.before, self.attention = before, Attention(width, heads)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x: Tensor) -> Tensor:
        if self.before:
            x = x + self.attention(self.first(x))
            return x + self.wide(self.second(x))
        x = self.first(x + self.attention(x))
        return self.second(x + self.wide(x))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 768, 16, 16)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, 768)), nn.Parameter(torch.zeros(1, 197, 768))
        self.layers = nn.Sequential(*(Encoder(768, 12, 3072, True) for _ in range(12)))
        self.last, self.classes = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.patches(x).flatten(2).transpose(1, 2)
        rows = torch.cat([self.token, rows], 1) + self.places
        return self.classes(self.last(self.layers(rows))[:, 0])


def bert_base() -> nn.Module:
    return nn.Sequential(*(Encoder(768, 12, 3072, False) for _ in range(12)))


@dataclass(frozen=True)
class Shape:
    """Of a decoder of the Llama kind."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    words: int
    head: int = 64
    context: int = 512


class DecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, inner = shape, shape.heads * shape.head
        self.norm1, self.norm2 = nn.RMSNorm(shape.width), nn.RMSNorm(shape.width)
        self.joined = nn.Linear(shape.width, (shape.heads + 2 * shape.kv_heads) * shape.head, bias=False)
        self.output = nn.Linear(inner, shape.width, bias=False)
        self.gate, self.up = (nn.Linear(shape.width, shape.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, shape.kv_heads, shape.context, shape.head), persistent=False)

    def forward(self, x: Tensor, position: Tensor, turns: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        heads, kv_heads = self.shape.heads, self.shape.kv_heads
        parts = self.joined(self.norm1(x)).reshape(1, heads + 2 * kv_heads, 1, self.shape.head)
        turned = _turned(parts[:, : heads + kv_heads], *turns)
        self.keys.index_copy_(2, position, turned[:, heads:])
        self.values.index_copy_(2, position, parts[:, heads + kv_heads :])
        found = functional.scaled_dot_product_attention(
            turned[:, :heads], self.keys, self.values, attn_mask=mask, enable_gqa=True
        )
        x = x + self.output(found.reshape(1, 1, -1))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    one, other = x.chunk(2, -1)
    return torch.cat([one * cosines - other * sines, other * cosines + one * sines], -1)


class Decoder(nn.Module):
    """One token behind those of its caches, as PyTorch has it; ours reads the same shape by its own front end."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, self.words = shape, nn.Embedding(shape.words, shape.width)
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        angles = torch.arange(shape.context)[:, None] * 10000.0 ** (-torch.arange(0, shape.head, 2) / shape.head)
        self.register_buffer("cosines", angles.cos(), persistent=False)
        self.register_buffer("sines", angles.sin(), persistent=False)

    def forward(self, ids: Tensor, position: Tensor) -> Tensor:
        x, turns = self.words(ids), (self.cosines[position], self.sines[position])
        mask = (torch.arange(self.shape.context, device=ids.device) <= position).reshape(1, 1, 1, -1)
        for layer in self.layers:
            x = layer(x, position, turns, mask)
        return functional.linear(self.norm(x), self.words.weight).argmax(-1)


@dataclass(frozen=True)
class Network:
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    """Of the input."""

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 4

    def module(self) -> nn.Module:
        return with_weights(self.make())

    def input(self) -> np.ndarray:
        return np.random.default_rng(1).standard_normal(self.shape).astype(np.float32)


IMAGE = (1, 3, 224, 224)
NETWORKS = {
    "resnet18": Network(lambda: resnet((2, 2, 2, 2), False), IMAGE),
    "resnet50": Network(lambda: resnet((3, 4, 6, 3), True), IMAGE),
    "mobilenet_v2": Network(mobilenet_v2, IMAGE),
    "efficientnet_b0": Network(efficientnet_b0, IMAGE),
    "vit_b_16": Network(VisionTransformer, IMAGE),
    "bert_base": Network(bert_base, (1, 128, 768)),
}
DECODERS = {
    "llama_3_2_1b": Shape(2048, 16, 32, 8, 8192, 128256),
    "qwen2_5_0_5b": Shape(896, 24, 14, 2, 4864, 151936),
    "smollm2_135m": Shape(576, 30, 9, 3, 1536, 49152),
}
