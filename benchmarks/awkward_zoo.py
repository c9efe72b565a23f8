"""Modules of PyTorch that are awkward to export: rare functions, odd paddings, complex numbers, masks, shapes that are
computed, parametrised weights, cells in loops. Small, with random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.torch_zoo import outputs as outputs
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, weight_norm

from tilewright.frontends.torch.own import copied as copied

Made = tuple[nn.Module, tuple[Any, ...]]
IMAGE, ROWS = (2, 4, 9, 7), (3, 8)


class Of(nn.Module):
    """A function of tensors, and the modules that it reads."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *given: Any) -> Any:
        return self.function(*given, **dict(self.named_children()))


def of(function: Callable[..., Any], *shapes: tuple[int, ...], **parts: nn.Module) -> Callable[[], Made]:
    return lambda: (Of(function, **parts), tuple(torch.randn(shape) for shape in shapes))


def near(module: Callable[[], nn.Module], *shapes: tuple[int, ...]) -> Callable[[], Made]:
    return lambda: (module(), tuple(torch.randn(shape) for shape in shapes))


# ---- blocks of older networks ---------------------------------------------------------------------------------------


class Fire(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(4, 3, 1)
        self.one, self.three = nn.Conv2d(3, 5, 1), nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.squeeze(x), inplace=True), 3, 2, ceil_mode=True)
        return torch.cat([functional.relu_(self.one(x)), functional.relu_(self.three(x))], 1)


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleDict({
            "wide": nn.Sequential(nn.Conv2d(4, 3, (1, 7), padding=(0, 3)), nn.Conv2d(3, 3, (7, 1), padding=(3, 0))),
            "pool": nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), nn.Conv2d(4, 2, 1)),
            "even": nn.Conv2d(4, 2, (2, 4), padding="same", dilation=(1, 2)),
        })  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches.values()], dim=1)


class Shuffle(nn.Module):
    """Channel shuffle by views, with a split that depends on the shape."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.split(x.shape[1] // 2, 1)
        x = torch.cat((kept, self.conv(torch.cat([changed, changed], 1))[:, ::2]), 1)
        n, c, h, w = x.size()
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)


class Involution(nn.Module):
    """Filters made from the image, applied to unfolded windows."""

    def __init__(self) -> None:
        super().__init__()
        self.reduce, self.span = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 9 * 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        weights = self.span(functional.relu(self.reduce(x))).view(n, 2, 9, h, w).unsqueeze(2)
        windows = functional.unfold(x, 3, padding=1).view(n, 2, c // 2, 9, h, w)
        return (weights * windows).sum(3).view(n, c, h, w)


class Deformable(nn.Module):
    """Offsets learnt from the image, by grid_sample."""

    def __init__(self) -> None:
        super().__init__()
        self.offset, self.mix = nn.Conv2d(4, 2, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        n, _, h, w = x.shape
        y, z = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack([z, y], -1).expand(n, h, w, 2) + 0.2 * self.offset(x).permute(0, 2, 3, 1).tanh()
        return self.mix(
            functional.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
        )


class Windows(nn.Module):
    """Swin's shifted windows, with a mask and biases by relative position."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.bias = nn.Linear(8, 24), nn.Parameter(torch.randn(2, 9, 9))

    def forward(self, x: Tensor) -> Tensor:
        n, h, w, c = x.shape
        pad = (0, 0, 0, -w % 3, 0, -h % 3)
        x = torch.roll(functional.pad(x, pad), (-1, -1), (1, 2))
        tall, wide = x.shape[1:3]
        x = x.view(n, tall // 3, 3, wide // 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 9, c)
        q, k, v = self.qkv(x).view(-1, 9, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.mT) * 0.5 + self.bias[None]
        mask = torch.zeros(1, 1, 9, 9).masked_fill_(torch.ones(9, 9).triu(6).bool(), float("-inf"))
        x = (torch.softmax(scores + mask, -1) @ v).transpose(1, 2).reshape(-1, 9, c)
        x = x.view(n, tall // 3, wide // 3, 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(n, tall, wide, c)
        return torch.roll(x, (1, 1), (1, 2))[:, :h, :w].contiguous()


# ---- weights that are computed --------------------------------------------------------------------------------------


def normalised_weights() -> Made:
    layers = nn.Sequential(
        weight_norm(nn.Linear(8, 6)), nn.Tanh(), parametrizations.weight_norm(nn.Linear(6, 6), dim=None),
        parametrizations.spectral_norm(nn.Linear(6, 5)), parametrizations.orthogonal(nn.Linear(5, 5)),
    )  # fmt: skip
    return layers, (torch.randn(ROWS),)


class Ternary(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, threshold: float) -> Tensor:
        return torch.where(w.abs() < threshold, torch.zeros_like(w), w.sign())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return gradients[0], None


class Binarised(nn.Module):
    """Weights and signs by an autograd function of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, 8))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(Ternary.apply(x, 0.3), Ternary.apply(self.w, 0.5)) * self.w.abs().mean()


class Standardised(nn.Conv2d):
    """Weight standardisation, with circular padding."""

    def forward(self, x: Tensor) -> Tensor:
        w = self.weight
        w = (w - w.mean((1, 2, 3), keepdim=True)) / (w.std((1, 2, 3), keepdim=True, unbiased=True) + 1e-5)
        return self._conv_forward(x, w, self.bias)


class Hyper(nn.Module):
    """A filter for each sample, by groups."""

    def __init__(self) -> None:
        super().__init__()
        self.make = nn.Linear(4, 3 * 4 * 9)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        filters = self.make(x.mean((-1, -2))).view(n * 3, c, 3, 3)
        return functional.conv2d(x.reshape(1, n * c, h, w), filters, padding=1, groups=n).view(n, 3, h, w)


# ---- sequences ------------------------------------------------------------------------------------------------------


class Cells(nn.Module):
    """Three kinds of cells in a loop, of which the first goes backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.lstm, self.rnn = nn.GRUCell(5, 6), nn.LSTMCell(6, 4), nn.RNNCell(4, 3, nonlinearity="relu")

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, state, last = x.new_zeros(x.shape[1], 6), None, None
        found = []
        for at in reversed(range(x.size(0))):
            h = self.gru(x[at], h)
            state = self.lstm(h, state)
            last = self.rnn(state[0], last)
            found.append(last)
        return torch.stack(found[::-1]), h


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(5, 4, 2, bidirectional=True, batch_first=True, dropout=0.3)
        self.lstm = nn.LSTM(8, 6, 2, proj_size=3, bidirectional=True, bias=False)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        y, last = self.gru(x, h)
        z, (_, c) = self.lstm(y.transpose(0, 1))
        return z[-1] + z.mean(0), torch.cat([last.flatten(), c.flatten()])


class Attended(nn.Module):
    """Keys of other widths, biases beside them, padding, and the weights as a result."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, kdim=5, vdim=6, add_bias_kv=True, add_zero_attn=True)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        padding = torch.arange(k.shape[0])[None] >= lengths[:, None]
        return self.attention(q, k, v, key_padding_mask=padding, need_weights=True, average_attn_weights=False)


class Translated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Transformer(8, 2, 1, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)

    def forward(self, source: Tensor, wanted: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(wanted.shape[1])
        ignored = source.sum(-1) > 2.5
        return self.body(source, wanted, tgt_mask=causal, src_key_padding_mask=ignored, memory_key_padding_mask=ignored)


class Relative(nn.Module):
    """Transformer-XL's shift by views."""

    def forward(self, q: Tensor, r: Tensor) -> Tensor:
        scores = torch.einsum("bhid,hjd->bhij", q, r)
        b, h, i, j = scores.shape
        shifted = functional.pad(scores, (1, 0)).view(b, h, j + 1, i)[:, :, 1:].view(b, h, i, j)
        return shifted.softmax(-1)


def complex_rotary(x: Tensor) -> Tensor:
    n, length, heads, width = x.shape
    angles = torch.outer(torch.arange(length).float(), 100.0 ** (-torch.arange(0, width, 2) / width))
    turned = torch.view_as_complex(x.float().reshape(n, length, heads, -1, 2)) * torch.polar(
        torch.ones_like(angles), angles
    ).view(1, length, 1, -1)
    return torch.view_as_real(turned).flatten(3).type_as(x)


class SelectiveScan(nn.Module):
    """Mamba's recurrence as a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.log_a = nn.Linear(6, 6 + 2 * 4), nn.Parameter(torch.randn(6, 4))

    def forward(self, u: Tensor) -> Tensor:
        delta, b, c = self.project(u).split([6, 4, 4], -1)
        delta = functional.softplus(delta)
        a = torch.exp(delta.unsqueeze(-1) * -self.log_a.exp())
        inputs = delta.unsqueeze(-1) * b.unsqueeze(2) * u.unsqueeze(-1)
        state, found = u.new_zeros(u.shape[0], 6, 4), []
        for t in range(u.shape[1]):
            state = a[:, t] * state + inputs[:, t]
            found.append(torch.einsum("bds,bs->bd", state, c[:, t]))
        return torch.stack(found, 1)


class Forward(nn.Module):
    """The forward algorithm of a conditional random field, and the best path."""

    def __init__(self) -> None:
        super().__init__()
        self.moves = nn.Parameter(torch.randn(4, 4))

    def forward(self, scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        alpha, best, back = scores[:, 0], scores[:, 0], []
        for t in range(1, scores.shape[1]):
            after = torch.logsumexp(alpha.unsqueeze(2) + self.moves, 1) + scores[:, t]
            alpha = torch.where(mask[:, t : t + 1] > 0, after, alpha)
            best, place = (best.unsqueeze(2) + self.moves).max(1)
            best, back = best + scores[:, t], [*back, place]
        path = [best.argmax(1)]
        for place in reversed(back):
            path.insert(0, place.gather(1, path[0].unsqueeze(1)).squeeze(1))
        return alpha.logsumexp(1), torch.stack(path, 1)


# ---- signals --------------------------------------------------------------------------------------------------------


def mel(x: Tensor) -> Tensor:
    spectrum = torch.stft(x, 32, 8, 24, torch.hann_window(24), center=True, pad_mode="reflect", return_complex=True)
    edges = torch.linspace(0, 17, 8)
    bins = torch.arange(17.0)[:, None]
    up, down = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    bank = torch.minimum(up, down).clamp(min=0)
    return torch.log10((spectrum.abs() ** 2).mT @ bank + 1e-6)


def restored(x: Tensor) -> Tensor:
    spectrum = torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)
    return torch.istft(spectrum * 0.5, 16, 4, window=torch.hann_window(16), length=x.shape[-1])


def filtered(x: Tensor) -> Tensor:
    """A convolution by multiplying spectra."""
    kernel = torch.tensor([0.25, 0.5, 0.25, 0.1])
    return torch.fft.irfft(torch.fft.rfft(x, 64) * torch.fft.rfft(kernel, 64), 64)[..., : x.shape[-1]]


def by_fft2(x: Tensor) -> Tensor:
    return torch.fft.fft2(x, norm="ortho").real + torch.fft.fftshift(torch.fft.fft2(x), (-2, -1)).imag


def cosines(x: Tensor) -> Tensor:
    """DCT-II by an FFT of twice the length."""
    n = x.shape[-1]
    spectrum = torch.fft.fft(torch.cat([x, x.flip(-1)], -1))[..., :n]
    return (spectrum * torch.exp(-1j * math.pi * torch.arange(n) / (2 * n))).real


# ---- scattered and gathered -----------------------------------------------------------------------------------------


def suppressed(boxes: Tensor, scores: Tensor) -> Tensor:
    """Non-maximum suppression without a loop that data ends."""
    boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].abs() + 0.1], 1)
    scores, order = scores.sort(descending=True)
    boxes = boxes[order]
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    begin, end = torch.max(boxes[:, None, :2], boxes[None, :, :2]), torch.min(boxes[:, None, 2:], boxes[None, :, 2:])
    overlap = (end - begin).clamp(min=0).prod(2)
    iou = overlap / (area[:, None] + area[None] - overlap)
    kept = torch.ones(len(boxes), dtype=torch.bool)
    for at in range(len(boxes)):
        later = torch.arange(len(boxes)) > at
        kept = kept & ~(kept[at] & later & (iou[at] > 0.3))
    return torch.where(kept[:, None], torch.cat([boxes, scores[:, None]], 1), torch.zeros(()))


class Graph(nn.Module):
    """Attention along edges: a softmax over those that end at a node."""

    def __init__(self) -> None:
        super().__init__()
        self.lift, self.score = nn.Linear(5, 6), nn.Linear(12, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.lift(x)
        source, end = edges
        e = functional.leaky_relu(self.score(torch.cat([h[source], h[end]], -1)), 0.2).squeeze(-1)
        most = torch.full((len(x),), float("-inf")).scatter_reduce(0, end, e, "amax", include_self=True)
        e = (e - most[end]).exp()
        total = torch.zeros(len(x)).index_add(0, end, e)
        shares = e / (total[end] + 1e-9)
        return torch.zeros_like(h).index_add_(0, end, shares[:, None] * h[source])


def edge_features(points: Tensor) -> Tensor:
    """The features of the nearest neighbours."""
    near = torch.cdist(points, points).topk(3, largest=False).indices
    found = points[torch.arange(points.shape[0])[:, None, None], near]
    return torch.cat([found - points.unsqueeze(2), points.unsqueeze(2).expand_as(found)], -1).amax(2)


class Routed(nn.Module):
    """Top-2 experts with weights of their own, gathered."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.w = nn.Linear(8, 4), nn.Parameter(torch.randn(4, 8, 6))

    def forward(self, x: Tensor) -> Tensor:
        shares, chosen = self.router(x).softmax(-1).topk(2, -1)
        found = torch.einsum("ni,neio->neo", x, self.w[chosen])
        return (found * (shares / shares.sum(-1, keepdim=True)).unsqueeze(-1)).sum(1)


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sums, self.most = nn.EmbeddingBag(9, 4, mode="sum", padding_idx=2), nn.EmbeddingBag(9, 4, mode="max")

    def forward(self, words: Tensor, weights: Tensor) -> Tensor:
        return self.sums(words, per_sample_weights=weights) + self.most(words)


class Quantised(nn.Module):
    """Vector quantisation: the nearest row of a table, straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        flat = x.permute(0, 2, 3, 1).reshape(-1, 4)
        far = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.table.weight.t() + self.table.weight.pow(2).sum(1)
        nearest = far.argmin(1)
        found = self.table(nearest).view(x.shape[0], *x.shape[2:], 4).permute(0, 3, 1, 2)
        return x + (found - x).detach(), nearest


class Kept(nn.Module):
    """Running statistics of its own, changed in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.mean.lerp_(x.mean(0), 0.25)
        return (x - self.mean) / self.count


def sinkhorn(x: Tensor) -> Tensor:
    plan = (-x.abs()).exp()
    for _ in range(6):
        plan = plan / plan.sum(0, keepdim=True)
        plan /= plan.sum(1, keepdim=True)
    return plan


def written(x: Tensor) -> Tensor:
    """In place, in slices, through views."""
    y = x.clone()
    y[:, 1:3] += 1
    y[..., ::2].mul_(2)
    y.view(-1)[3:7] = 0
    y[y > 1] = -1
    y[0], y[1] = y[1].clone(), y[0].clone()
    y.diagonal(dim1=0, dim2=1).fill_(9)
    y[:, -1].clamp_(max=0.5)
    return y


def sorted_stably(x: Tensor) -> tuple[Tensor, Tensor]:
    values, places = torch.sort((x * 2).round(), dim=-1, stable=True)
    return values, places


def ranks(x: Tensor) -> Tensor:
    return x.argsort(dim=-1, stable=True).argsort(dim=-1, stable=True).float() / x.shape[-1]


def counted(x: Tensor, edges: Tensor) -> tuple[Tensor, ...]:
    places = torch.bucketize(x, edges)
    many = torch.bincount(places.flatten(), minlength=6)
    return places, torch.searchsorted(edges, x, right=True), functional.one_hot(places, 6), many


def integers(shape: tuple[int, ...], low: int, high: int) -> Tensor:
    return torch.randint(low, high, shape)


def of_given(function: Callable[..., Any] | nn.Module, *makers: Callable[[], Tensor]) -> Callable[[], Made]:
    return lambda: (
        function if isinstance(function, nn.Module) else Of(function),
        tuple(make() for make in makers),
    )


def resized(mode: str, **given: Any) -> Callable[[], Made]:
    shape = {"linear": (2, 3, 9), "trilinear": (1, 2, 3, 5, 4)}.get(mode, IMAGE)
    return of(lambda x: functional.interpolate(x, mode=mode, **given), shape)


def sampled(mode: str, padding: str, align: bool) -> Callable[[], Made]:
    def function(x: Tensor, grid: Tensor) -> Tensor:
        return functional.grid_sample(x, grid, mode, padding, align)

    return of(function, IMAGE, (2, 5, 6, 2))


def scattered(reduce: str, include: bool) -> Callable[[], Made]:
    def function(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
        return x.scatter_reduce(1, index, source, reduce, include_self=include)

    return of_given(function, lambda: torch.randn(3, 5), lambda: integers((3, 8), 0, 5), lambda: torch.randn(3, 8))


ZOO: dict[str, Callable[[], Made]] = {
    "fire": near(Fire, IMAGE),
    "inception": near(Inception, IMAGE),
    "shuffle": near(Shuffle, IMAGE),
    "involution": near(Involution, IMAGE),
    "deformable": near(Deformable, IMAGE),
    "windows": near(Windows, (2, 7, 5, 8)),
    "normalised weights": normalised_weights,
    "binarised": near(Binarised, ROWS),
    "standardised": near(lambda: Standardised(4, 6, 3, padding=2, padding_mode="circular"), IMAGE),
    "hyper": near(Hyper, IMAGE),
    "cells": near(Cells, (4, 2, 5)),
    "stacked": near(Stacked, (2, 6, 5), (4, 2, 4)),
    "attended": of_given(
        Attended(),
        lambda: torch.randn(3, 2, 8),
        lambda: torch.randn(5, 2, 5),
        lambda: torch.randn(5, 2, 6),
        lambda: torch.tensor([3, 5]),
    ),
    "translated": near(Translated, (2, 5, 8), (2, 4, 8)),
    "relative": near(Relative, (2, 3, 4, 5), (3, 4, 5)),
    "complex rotary": of(complex_rotary, (2, 5, 2, 8)),
    "selective scan": near(SelectiveScan, (2, 5, 6)),
    "forward": near(Forward, (2, 6, 4), (2, 6)),
    "mel": of(mel, (2, 96)),
    "restored": of(restored, (2, 64)),
    "filtered": of(filtered, (2, 40)),
    "fft2": of(by_fft2, (2, 6, 8)),
    "cosines": of(cosines, (3, 12)),
    "suppressed": of(suppressed, (7, 4), (7,)),
    "graph": of_given(Graph(), lambda: torch.randn(6, 5), lambda: integers((2, 14), 0, 6)),
    "edges": of(edge_features, (2, 7, 3)),
    "routed": near(Routed, (5, 8)),
    "bags": of_given(Bags(), lambda: integers((3, 5), 0, 9), lambda: torch.randn(3, 5)),
    "vector quantised": near(Quantised, (2, 4, 3, 5)),
    "kept": near(Kept, ROWS),
    "sinkhorn": of(sinkhorn, (5, 5)),
    "written": of(written, (4, 6)),
    "stable sort": of(sorted_stably, (4, 9)),
    "ranks": of(ranks, (3, 7)),
    **{
        f"resize {mode} {i}": resized(mode, **given)
        for i, (mode, given) in enumerate(
            [
                ("nearest", {"size": (5, 11)}),
                ("nearest-exact", {"scale_factor": (1.7, 0.6)}),
                ("bilinear", {"size": (4, 13)}),
                ("bilinear", {"size": (12, 3), "align_corners": True}),
                ("bilinear", {"size": (4, 3), "antialias": True}),
                ("bicubic", {"scale_factor": 1.5, "recompute_scale_factor": True}),
                ("bicubic", {"size": (5, 4), "antialias": True}),
                ("area", {"size": (4, 3)}),
                ("linear", {"size": 14}),
                ("trilinear", {"size": (5, 4, 7), "align_corners": True}),
            ]
        )
    },
    **{
        f"sampled {mode} {padding} {align}": sampled(mode, padding, align)
        for mode, padding, align in [
            ("bilinear", "zeros", True),
            ("bilinear", "border", False),
            ("nearest", "reflection", True),
            ("bicubic", "zeros", False),
            ("bicubic", "reflection", True),
        ]
    },
    "sampled volume": of(
        lambda x, g: functional.grid_sample(x, g, align_corners=False), (1, 2, 3, 4, 5), (1, 2, 3, 4, 3)
    ),
    "affine grid": of(
        lambda x, t: functional.grid_sample(x, functional.affine_grid(t, list(x.shape), False), align_corners=False),
        IMAGE,
        (2, 2, 3),
    ),
    **{
        f"scatter {reduce} {include}": scattered(reduce, include)
        for reduce, include in [
            ("sum", True),
            ("amax", False),
            ("mean", True),
            ("mean", False),
            ("prod", True),
            ("amin", True),
        ]
    },
    "put accumulated": of_given(
        lambda x, i, v: x.index_put((i, torch.arange(4)), v, accumulate=True),
        lambda: torch.randn(3, 4),
        lambda: integers((4,), 0, 3),
        lambda: torch.randn(4),
    ),
    "index copy and fill": of_given(
        lambda x, i, v: x.index_copy(1, i, v).index_fill(0, i[:1] % 2, 3.0),
        lambda: torch.randn(3, 5),
        lambda: torch.tensor([4, 1]),
        lambda: torch.randn(3, 2),
    ),
    "masked scatter": of(lambda x, v: x.masked_scatter(x > 0, v), (3, 4), (12,)),
    "take": of_given(
        lambda x, i: x.take(i) + torch.take_along_dim(x, i, 1),
        lambda: torch.randn(4, 5),
        lambda: integers((4, 3), 0, 5),
    ),
    "cumulative": of(
        lambda x: (x.logcumsumexp(1), x.cummax(0), x.diff(n=2, dim=1), torch.trapezoid(x, dx=0.5), x.cumprod(-1)),
        (3, 6),
    ),
    "einsums": of(
        lambda a, b: (
            torch.einsum("...ij,...jk->...ki", a, b),
            torch.einsum("bii->bi", a),
            torch.einsum("bij,bkl,bjk->il", a, b, a),
            torch.einsum("bij->", a),
        ),
        (2, 4, 4),
        (2, 4, 4),
    ),
    "folded": of(
        lambda x: functional.fold(functional.unfold(x, (3, 2), (1, 2), 1, 2), (9, 7), (3, 2), (1, 2), 1, 2), IMAGE
    ),
    "frames": of(lambda x: (x.unfold(-1, 6, 4) * torch.hamming_window(6)).norm(p=3, dim=-1), (2, 25)),
    "strided": of(lambda x: torch.as_strided(x, (3, 4), (2, 5), 1) + x[:3, -4:], (5, 6)),
    "padded": of(
        lambda x: (
            functional.pad(x, (-1, 2, 3, -2), value=0.5),
            functional.pad(x, (2, 1, 3, 0), "circular"),
            functional.pad(x, (1, 3), "reflect"),
            functional.pad(x, (3, 0, 1, 2), "replicate"),
        ),
        (2, 4, 9)[:3],
    ),
    "moved": of(
        lambda x: (
            x.roll((1, -2), (0, 2)),
            x.flip(0, 3),
            x.rot90(1, (2, 3)),
            x.movedim(1, -1).swapaxes(0, 1),
            torch.kron(x[0, 0], torch.eye(2)),
        ),
        (2, 3, 4, 4),
    ),
    "products": of(
        lambda a, b: (
            torch.tensordot(a, b, ([1], [0])),
            torch.linalg.multi_dot([a, b, a]),
            torch.cross(a[:, :3], b.T[:, :3], dim=1),
            torch.baddbmm(a[None], a[None], (b @ a)[None], beta=0.5),
            torch.linalg.vecdot(a, b.T),
        ),
        (5, 4),
        (4, 5),
    ),
    "bilinear layer": near(lambda: nn.Bilinear(3, 4, 5), (6, 3), (6, 4)),
    "distances": of(
        lambda a, b: (
            functional.cosine_similarity(a[:, None], b[None], -1),
            functional.pairwise_distance(a, b[:3], 3.0),
            torch.cdist(a, b, 1.0),
        ),
        (3, 6),
        (5, 6),
    ),
    "curves": of(
        lambda x: torch.cat(
            [
                functional.hardshrink(x),
                functional.softshrink(x),
                functional.tanhshrink(x),
                functional.threshold(x, 0.1, 20),
                functional.glu(x),
                functional.celu(x, 0.7),
                functional.hardtanh(x, -0.4, 0.3),
                functional.logsigmoid(x),
                functional.softmin(x, 0),
            ],
            1,
        ),
        ROWS,
    ),
    "rare curves": of(
        lambda x: torch.stack(
            [
                torch.special.entr(x.sigmoid()),
                torch.special.expit(x),
                torch.special.xlogy(x.abs(), x.abs() + 1),
                torch.sinc(x),
                torch.logit(x.sigmoid(), 1e-3),
                torch.expm1(x),
                torch.log1p(x.abs()),
                torch.erfc(x),
                torch.exp2(x),
                torch.special.i0(x),
                torch.digamma(x.abs() + 1),
                torch.atan2(x, x.roll(1)),
                torch.logaddexp(x, -x),
                torch.special.ndtr(x),
            ]
        ),
        ROWS,
    ),
    "remainders": of(
        lambda x: torch.stack(
            [
                x % 0.7,
                torch.fmod(x, -0.7),
                x // 0.3,
                x.trunc(),
                x.frac(),
                x.sgn(),
                torch.heaviside(x, torch.tensor(0.5)),
                torch.remainder(-x, 1.3),
                torch.clamp(x, torch.tensor(-0.5), torch.tensor(0.9)),
                torch.nan_to_num(x / x.relu(), 7.0, 3.0, -3.0),
            ]
        ),
        ROWS,
    ),
    "statistics": of(
        lambda x: (
            x.std(1),
            x.var((0, 1), correction=2),
            torch.quantile(x, 0.3, 1),
            x.median(1),
            torch.nanmean(x, 0),
            x.norm(2.5, 1),
            x.logsumexp((0, 1)),
            torch.aminmax(x, dim=1),
            x.renorm(2, 0, 1.5),
            torch.std_mean(x),
            torch.corrcoef(x),
            torch.cov(x),
        ),
        (4, 7),
    ),
    "counts": of(lambda x: counted(x, torch.linspace(-1, 1, 5)), (3, 4)),
    "pools": of(
        lambda x: (
            functional.lp_pool2d(x.abs(), 2, 3, 2),
            functional.adaptive_max_pool2d(x, (3, 2), return_indices=True),
            functional.max_pool2d(x, 3, 2, 1, 2, True),
            functional.avg_pool2d(x, (4, 2), (3, 1), (2, 1), True, False),
            functional.local_response_norm(x, 3),
        ),
        IMAGE,
    ),
    "unpooled": of(
        lambda x: functional.max_unpool2d(
            *functional.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape[-2:]
        ),
        IMAGE,
    ),
    "transposed": near(
        lambda: nn.Sequential(
            nn.ConvTranspose2d(4, 6, (3, 2), (2, 3), 1, (1, 2), 2, dilation=(2, 1)),
            nn.ConvTranspose2d(6, 2, 5, 4, 2, 3),
        ),
        IMAGE,
    ),
    "volumes": near(
        lambda: nn.Sequential(
            nn.Conv3d(2, 4, (2, 3, 3), (1, 2, 1), (1, 0, 1), groups=2),
            nn.BatchNorm3d(4),
            nn.ConvTranspose3d(4, 2, 2, 2),
            nn.AdaptiveAvgPool3d((2, 3, None)),
        ),
        (1, 2, 4, 5, 6),
    ),
    "shapes": of(
        lambda x: (
            x.reshape(x.size(0), -1, x.size(2) // 3, 3).sum(-1),
            x.new_full((x.dim(), x.numel() // 9), math.sqrt(x.shape[-1])),
            torch.arange(x.shape[1], dtype=x.dtype).view(-1, *[1] * (x.dim() - 2)) * x,
            x.chunk(2, -1)[1],
            x.unflatten(1, (2, -1)).flatten(-2),
            torch.broadcast_to(x[:, :1], x.shape),
        ),
        IMAGE,
    ),
    "images of bytes": of_given(
        lambda x: (x.float().div(255) - torch.tensor([0.4, 0.5, 0.6]).view(3, 1, 1)).clamp_(-0.3),
        lambda: integers((1, 3, 4, 5), 0, 256).to(torch.uint8),
    ),
    "bits": of_given(
        lambda a, b: (a & b, a ^ 5, ~a, a << 2, a >> 1, torch.logical_xor(a > 4, b > 4), torch.gcd(a + 1, b + 1)),
        lambda: integers((3, 4), 0, 100),
        lambda: integers((3, 4), 0, 100),
    ),
    "doubles": of_given(nn.Linear(8, 3).double(), lambda: torch.randn(ROWS, dtype=torch.float64)),
    "mapped": of(lambda x, w: torch.vmap(lambda row: torch.tanh(row @ w).sum())(x), ROWS, (8, 4)),
    "checkpointed": of(
        lambda x, body: torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False),
        ROWS,
        body=nn.Sequential(nn.Linear(8, 8), nn.GELU()),
    ),
    "dictionary": of(
        lambda x, body: {"sum": x.sum(), "parts": [body(x), {"deep": x.relu()}]}, ROWS, body=nn.Linear(8, 3)
    ),
    "matrices": of(
        lambda x: (
            torch.linalg.matrix_power(x, 3),
            torch.linalg.inv(x @ x.mT + torch.eye(4)),
            torch.linalg.matrix_exp(x * 0.1),
            torch.trace(x[0]),
            torch.linalg.matrix_norm(x),
            torch.block_diag(x[0], x[1]),
        ),
        (2, 4, 4),
    ),
    "singular values": of(torch.linalg.svdvals, (5, 3)),
    "least squares": of(lambda a, b: torch.linalg.lstsq(a, b).solution, (6, 3), (6, 2)),
    "unique rows": of_given(lambda x: torch.unique(x, dim=0, return_inverse=True)[1], lambda: integers((6, 2), 0, 2)),
    "unique": of_given(lambda x: torch.unique(x, return_inverse=True)[1], lambda: integers((12,), 0, 5)),
    "segments": of(lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 3, 1]), axis=0), (6, 4)),
    "gumbel": of(lambda x: functional.one_hot(x.softmax(-1).argmax(-1), 8).to(x.dtype) - x.detach() + x, ROWS),
    "subsampled": of(
        lambda x: (
            x[:, :, ::2, 1::3],
            x[..., [0, -1]],
            x[:, torch.tensor([True, False, True, True])],
            x[0, :, None, ..., -2],
        ),
        IMAGE,
    ),
    "branches": of(lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y * 2, (x,)), ROWS),
}


def case(name: str) -> Made:
    torch.manual_seed(0)
    module, inputs = ZOO[name]()
    return module.eval(), inputs


def again(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same numbers in another order."""
    order = torch.Generator().manual_seed(1)
    return tuple(x.flatten()[torch.randperm(x.numel(), generator=order)].reshape(x.shape) for x in inputs)
