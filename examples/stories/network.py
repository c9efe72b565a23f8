"""A small Llama in PyTorch whose modules have the names of Hugging Face's checkpoints, and rounding while training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

LIMIT = 127
"""The largest int8 in use: scales are symmetric."""


@dataclass(frozen=True)
class Config:
    width: int = 128
    layers: int = 5
    heads: int = 8
    groups: int = 4
    """Heads of keys and values."""
    hidden: int = 352
    words: int = 1024
    context: int = 256
    theta: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head(self) -> int:
        return self.width // self.heads


@dataclass
class Rounding:
    """What is rounded to int8 in the forward pass: switched on for the last part of the training."""

    weights: bool = False
    activations: bool = False


def row_scales(weight: Tensor) -> Tensor:
    """One scale per row, so that the largest value of the row becomes 127."""
    return (weight.detach().abs().amax(1, keepdim=True) / LIMIT).clamp(min=1e-8)


def straight_through(value: Tensor, scale: Tensor) -> Tensor:
    """The value rounded to multiples of the scale; the gradient passes as if it were not."""
    return value + (torch.round(value / scale) * scale - value).detach()


class Rounded(nn.Module):
    """What all layers with weights share: where to look up whether to round."""

    def __init__(self, rounding: Rounding) -> None:
        super().__init__()
        self.rounding = rounding

    def of_weight(self, weight: Tensor) -> Tensor:
        return straight_through(weight, row_scales(weight)) if self.rounding.weights else weight

    def of_activation(self, value: Tensor) -> Tensor:
        if not self.rounding.activations:
            return value
        return straight_through(value, (value.detach().abs().amax() / LIMIT).clamp(min=1e-8))


class Linear(Rounded):
    def __init__(self, inputs: int, outputs: int, rounding: Rounding) -> None:
        super().__init__(rounding)
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(self.of_activation(x), self.of_weight(self.weight))


class Embedding(Rounded):
    """The table of words, used for looking up and, since it is tied, for the logits."""

    def __init__(self, words: int, width: int, rounding: Rounding) -> None:
        super().__init__(rounding)
        self.weight = nn.Parameter(torch.randn(words, width) * 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.of_weight(self.weight))

    def logits(self, x: Tensor) -> Tensor:
        return functional.linear(self.of_activation(x), self.of_weight(self.weight))


class RMSNorm(nn.Module):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotations(config: Config) -> tuple[Tensor, Tensor]:
    """Cosines and sines [context, head] of rotary positions, the two halves of a head being a pair."""
    frequencies = config.theta ** (-torch.arange(0, config.head, 2, dtype=torch.float64) / config.head)
    angles = torch.outer(torch.arange(config.context, dtype=torch.float64), frequencies).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat([-second, first], dim=-1) * sines


class Attention(Rounded):
    def __init__(self, config: Config, rounding: Rounding) -> None:
        super().__init__(rounding)
        self.config = config
        narrow = config.groups * config.head
        self.q_proj = Linear(config.width, config.width, rounding)
        self.k_proj = Linear(config.width, narrow, rounding)
        self.v_proj = Linear(config.width, narrow, rounding)
        self.o_proj = Linear(config.width, config.width, rounding)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        batch, length, width = x.shape
        query = rotate(self.split(self.q_proj(x)), cosines, sines)
        key = rotate(self.split(self.k_proj(x)), cosines, sines)
        shared = self.config.heads // self.config.groups
        keys, values = (
            self.of_activation(part).repeat_interleave(shared, dim=1) for part in (key, self.split(self.v_proj(x)))
        )
        seen = functional.scaled_dot_product_attention(self.of_activation(query), keys, values, is_causal=True)
        return self.o_proj(seen.transpose(1, 2).reshape(batch, length, width))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.config.head)).transpose(1, 2)


class MLP(nn.Module):
    def __init__(self, config: Config, rounding: Rounding) -> None:
        super().__init__()
        self.gate_proj = Linear(config.width, config.hidden, rounding)
        self.up_proj = Linear(config.width, config.hidden, rounding)
        self.down_proj = Linear(config.hidden, config.width, rounding)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: Config, rounding: Rounding) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.width, config.epsilon)
        self.self_attn = Attention(config, rounding)
        self.post_attention_layernorm = RMSNorm(config.width, config.epsilon)
        self.mlp = MLP(config, rounding)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cosines, sines)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, config: Config, rounding: Rounding) -> None:
        super().__init__()
        self.embed_tokens = Embedding(config.words, config.width, rounding)
        self.layers = nn.ModuleList(Layer(config, rounding) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.epsilon)


class Llama(nn.Module):
    """Logits of the token that follows each of the given ones."""

    cosines: Tensor
    sines: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.rounding = Rounding()
        self.model = Decoder(config, self.rounding)
        cosines, sines = rotations(config)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        for layer in self.model.layers:
            # What is added to the residual stream starts small: the stream has no outliers then.
            for last in (layer.self_attn.o_proj, layer.mlp.down_proj):
                nn.init.normal_(last.weight, std=0.02 / (2 * config.layers) ** 0.5)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.model.embed_tokens(ids)
        cosines, sines = self.cosines[: ids.shape[1]], self.sines[: ids.shape[1]]
        for layer in self.model.layers:
            x = layer(x, cosines, sines)
        return self.model.embed_tokens.logits(self.model.norm(x))
