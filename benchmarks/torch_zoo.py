"""Networks of PyTorch as people write them, small, with random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: bool = True) -> nn.Module:
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)]
    return nn.Sequential(*layers, nn.BatchNorm2d(outputs), *([nn.ReLU()] if act else []))


class Head(nn.Sequential):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def separable(inputs: int, outputs: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(conv(inputs, inputs, 3, stride, inputs), conv(inputs, outputs, 1))


def dscnn() -> Any:
    stem = nn.Sequential(nn.Conv2d(1, 16, (10, 4), 2, (5, 1), bias=False), nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(stem, *[separable(16, 16) for _ in range(4)], Head(16, 12)), torch.randn(1, 1, 49, 10)


def autoencoder() -> Any:
    layers: list[nn.Module] = []
    for inputs, outputs in ((64, 32), (32, 8), (8, 32)):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(32, 64)), torch.randn(1, 64)


def mobilenet1() -> Any:
    blocks = [separable(8, 16), separable(16, 32, 2), separable(32, 32), separable(32, 64, 2)]
    return nn.Sequential(conv(3, 8, 3, 2), *blocks, Head(64, 2)), torch.randn(1, 3, 32, 32)


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(inputs, outputs, 3, stride), conv(outputs, outputs, act=False))
        self.skip = nn.Identity() if inputs == outputs else conv(inputs, outputs, 1, stride, act=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.skip(x))


def resnet8() -> Any:
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 32, 2)]
    return nn.Sequential(conv(3, 8), *blocks, Head(32, 10)), torch.randn(1, 3, 32, 32)


class Inverted(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        wide = inputs * 4
        depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()
        )
        self.body = nn.Sequential(conv(inputs, wide, 1), depthwise, conv(wide, outputs, 1, act=False))
        self.residual = inputs == outputs and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


def mobilenet2() -> Any:
    blocks = [Inverted(8, 8, 1), Inverted(8, 16, 2), Inverted(16, 16, 1)]
    return nn.Sequential(conv(3, 8, 3, 2), *blocks, Head(16, 5)), torch.randn(1, 3, 32, 32)


class ConvNextBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.gamma * self.narrow(functional.gelu(self.wide(y)))).permute(0, 3, 1, 2)


def convnext() -> Any:
    stem = nn.Conv2d(3, 16, 4, 4)
    return nn.Sequential(stem, ConvNextBlock(16), ConvNextBlock(16), Head(16, 4)), torch.randn(1, 3, 32, 32)


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(100, 32), nn.Embedding(16, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 3)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.encoder(x, src_key_padding_mask=mask == 0)[:, 0])


def bert() -> Any:
    return Bert(), torch.randint(0, 100, (1, 16)), torch.tensor([[1] * 12 + [0] * 4])


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, 32))
        self.places = nn.Parameter(torch.randn(1, 17, 32) * 0.1)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), tokens], 1) + self.places
        return self.head(self.norm(self.encoder(x))[:, 0])


def vit() -> Any:
    return Vit(), torch.randn(1, 3, 32, 32)


class Causal(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, dilation=dilation))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.conv(functional.pad(x, (self.pad, 0)))) + x


def tcn() -> Any:
    return nn.Sequential(nn.Conv1d(4, 12, 1), *[Causal(12, 2**i) for i in range(4)], nn.Conv1d(12, 3, 1)), torch.randn(
        1, 4, 50
    )


class Unet(nn.Module):
    def __init__(self, up: nn.Module, channels: int = 16) -> None:
        super().__init__()
        self.down, self.low, self.up = conv(3, 8), conv(8, 16), up
        self.high, self.head = conv(8 + channels, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down(x)
        low = self.low(functional.max_pool2d(skip, 2))
        return self.head(self.high(torch.cat([skip, self.up(low)], 1)))


def unet(mode: str) -> Callable[[], Any]:
    def make() -> Any:
        aligned = {} if mode == "nearest" else {"align_corners": False}
        return Unet(nn.Upsample(scale_factor=2, mode=mode, **aligned)), torch.randn(1, 3, 16, 20)

    return make


def unet_transposed() -> Any:
    return Unet(nn.ConvTranspose2d(16, 12, 2, 2), 12), torch.randn(1, 3, 16, 20)


class SqueezeExcite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.Hardswish())
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1), nn.Hardsigmoid()
        )
        self.shuffle, self.pool, self.head = nn.PixelShuffle(2), nn.AdaptiveMaxPool2d((4, 4)), nn.Linear(64, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return self.head(self.pool(self.shuffle(x * self.gate(x))).flatten(1))


def squeeze_excite() -> Any:
    return SqueezeExcite(), torch.randn(1, 3, 16, 16)


def rotated(x: Tensor, places: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    angles = places[:, None] / 10000 ** (torch.arange(half) / half)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class LlamaBlock(nn.Module):
    """One layer for one new token; `kind` says what becomes of the keys and values of the tokens before."""

    def __init__(self, kind: str, width: int = 32, heads: int = 4, kv_heads: int = 2) -> None:
        super().__init__()
        self.kind, self.heads, self.kv_heads, self.size = kind, heads, kv_heads, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, kv_heads * self.size, bias=False) for _ in range(2))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 64, bias=False) for _ in range(2))
        self.down = nn.Linear(64, width, bias=False)

    def split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(1, -1, heads, self.size).transpose(1, 2)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.norm1(x)
        q = rotated(self.split(self.q(y), self.heads), place)
        k, v = rotated(self.split(self.k(y), self.kv_heads), place), self.split(self.v(y), self.kv_heads)
        mask = None
        if self.kind == "static":
            keys, values = keys.index_copy(2, place, k), values.index_copy(2, place, v)
            mask = torch.arange(keys.shape[2])[None] <= place[:, None]
        elif self.kind == "concatenated":
            keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        else:
            keys, values = k, v
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        found = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
        x = x + self.o(found.transpose(1, 2).reshape(1, -1, 32))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y)), keys, values


class Llama(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.words, self.block = nn.Embedding(50, 32), LlamaBlock(kind)
        self.norm, self.head = nn.RMSNorm(32), nn.Linear(32, 50, bias=False)

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor, place: Tensor) -> tuple[Tensor, ...]:
        x, keys, values = self.block(self.words(ids), keys, values, place)
        return self.head(self.norm(x)), keys, values


def llama(kind: str) -> Callable[[], Any]:
    def make() -> Any:
        cache = [torch.randn(1, 2, 8, 8) for _ in range(2)]
        return Llama(kind), torch.randint(0, 50, (1, 1)), *cache, torch.tensor([3 if kind == "static" else 8])

    return make


class LlamaPrompt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Llama("none")

    def forward(self, ids: Tensor) -> Tensor:
        empty = torch.zeros(1, 2, 0, 8)
        return self.inner(ids, empty, empty, torch.arange(ids.shape[1]))[0]


def llama_gqa() -> Any:
    return LlamaPrompt(), torch.randint(0, 50, (1, 7))


class GruKws(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(10, 24, batch_first=True), nn.Linear(24, 12)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0][:, -1])


def gru() -> Any:
    return GruKws(), torch.randn(1, 49, 10)


class LstmBi(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0])


def lstm_bi() -> Any:
    return LstmBi(), torch.randn(1, 20, 8)


class LstmState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> dict[str, Any]:
        found, after = self.lstm(x, state)
        return {"scores": self.head(found), "state": after}


def lstm_state() -> Any:
    return LstmState(), torch.randn(1, 4, 8), (torch.randn(1, 1, 12), torch.randn(1, 1, 12))


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(3, 8, 3, 2), conv(8, 16, 3, 2))
        self.scores, self.boxes = nn.Conv2d(16, 3, 1), nn.Conv2d(16, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.body(x)
        scores = self.scores(x).sigmoid().flatten(2).amax(1)
        best, which = torch.topk(scores, 5)
        boxes = self.boxes(x).flatten(2).transpose(1, 2)
        return best, which, boxes.gather(1, which[..., None].expand(-1, -1, 4))


def detector() -> Any:
    return Detector(), torch.randn(1, 3, 32, 32)


class Spectrogram(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("mel", torch.rand(33, 12))
        self.net = nn.Sequential(conv(1, 8, 3, 2), Head(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        found = torch.stft(x, 64, 32, window=self.window, return_complex=True, center=False)
        power = torch.view_as_real(found).pow(2).sum(-1)
        return self.net(torch.log(power.transpose(1, 2) @ self.mel + 1e-3)[:, None])


def stft() -> Any:
    return Spectrogram(), torch.randn(1, 640)


ZOO: dict[str, Callable[[], Any]] = {
    "dscnn": dscnn, "autoencoder": autoencoder, "mobilenetv1": mobilenet1, "resnet8": resnet8,
    "mobilenetv2": mobilenet2, "convnext": convnext, "bert-tiny, mask": bert, "vit-tiny": vit, "tcn, weight_norm": tcn,
    "unet nearest": unet("nearest"), "unet bilinear": unet("bilinear"), "unet bicubic": unet("bicubic"),
    "unet ConvTranspose": unet_transposed, "squeeze-excite": squeeze_excite, "llama, gqa": llama_gqa,
    "llama, concatenated cache": llama("concatenated"), "llama, static cache": llama("static"), "gru-kws": gru,
    "lstm-bi2": lstm_bi, "lstm with state": lstm_state, "detector with topk": detector, "stft + mel + cnn": stft,
}  # fmt: skip


def case(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The module and its example inputs, the same every time."""
    torch.manual_seed(sum(map(ord, name)))
    module, *inputs = ZOO[name]()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.normal_(part.running_mean, std=0.2)
            nn.init.uniform_(part.running_var, 0.5, math.e)
    return module.eval(), tuple(inputs)


def outputs(module: Any, inputs: tuple[Any, ...]) -> Any:
    with torch.no_grad():
        return module(*inputs)
