"""CPU time of a training step on this machine beside eager PyTorch with one thread: the same networks, batches and
optimizers; forward, backward and update. Both take turns in one process, and the median of ratios is printed.

python benchmarks/training_speed.py [--target generic,cpu] [--turns 15] [--set curves|real] [network ...]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
import tilewright as tw
from tilewright.ir.types import Array
from training_curves import Net
from training_curves import networks as small_networks

TURN = 0.03
"""Seconds of a turn, of each of the two."""


class Residual(nn.Module):
    def __init__(self, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.way = nn.Sequential(
            nn.Conv2d(channels, filters, 3, stride, 1), nn.BatchNorm2d(filters), nn.ReLU(),
            nn.Conv2d(filters, filters, 3, 1, 1), nn.BatchNorm2d(filters),
        )  # fmt: skip
        self.beside = nn.Conv2d(channels, filters, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        return torch.relu(self.way(x) + self.beside(x))


def resnet8() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), Residual(16, 16, 1), Residual(16, 32, 2),
        Residual(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def separable(channels: int, filters: int, stride: int) -> list[nn.Module]:
    return [
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
        nn.Conv2d(channels, filters, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
    ]  # fmt: skip


def ds_cnn() -> nn.Module:
    layers = [nn.Conv2d(1, 64, (10, 4), 2, (4, 1), bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(4):
        layers += separable(64, 64, 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12))


def mobilenet() -> nn.Module:
    """MobileNetV1 with a quarter of its channels, for images of 96 x 96."""
    widths = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
    layers, channels = [nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()], 8
    for filters, stride in widths:
        layers += separable(channels, filters, stride)
        channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 2))


def autoencoder() -> nn.Module:
    sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128]
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 640))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(16, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class ConvolutionalTransformer(nn.Module):
    """Two convolutions as a tokenizer, two encoder layers, and attention as a pool of tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        self.places = nn.Parameter(torch.randn(1, 64, 64) * 0.1)
        kinds = {"dropout": 0.0, "batch_first": True, "activation": "gelu", "norm_first": True}
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(64, 2, 128, **kinds) for _ in range(2)))
        self.weigh, self.head = nn.Linear(64, 1), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        tokens = self.layers(self.tokens(x).flatten(2).transpose(1, 2) + self.places)
        weights = self.weigh(tokens).softmax(1)
        return self.head((weights.transpose(1, 2) @ tokens).squeeze(1))


@dataclass
class Case:
    net: Net
    batch: int
    classes: int


def real_networks() -> dict[str, Case]:
    torch.manual_seed(0)
    sgd, adam = torch.optim.SGD, torch.optim.Adam

    def by_sgd(module: nn.Module, shape: tuple[int, ...], loss: str = "cross_entropy") -> Net:
        options = {"statistics": "trained"}
        return Net(module, shape, tw.SGD(0.01), lambda weights: sgd(weights, 0.01), loss, options)

    def by_adam(module: nn.Module, shape: tuple[int, ...]) -> Net:
        return Net(module, shape, tw.Adam(0.001), lambda weights: adam(weights, 0.001))

    return {
        "ResNet8": Case(by_sgd(resnet8(), (3, 32, 32)), 4, 10),
        "DS-CNN": Case(by_sgd(ds_cnn(), (1, 49, 10)), 4, 12),
        "MobileNetV1-0.25": Case(by_sgd(mobilenet(), (3, 96, 96)), 4, 2),
        "autoencoder": Case(by_sgd(autoencoder(), (640,), "mse"), 4, 0),
        "LSTM": Case(by_adam(Recurrent(), (20, 16)), 4, 10),
        "CCT": Case(by_adam(ConvolutionalTransformer(), (3, 32, 32)), 4, 10),
    }


def cases(which: str) -> dict[str, Case]:
    if which == "real":
        return real_networks()
    return {name: Case(net, 4, 4) for name, net in small_networks().items()}


def their_step(net: Net, data: Array, labels: Array) -> Callable[[], float]:
    net.module.train()
    optimizer = net.theirs(net.module.parameters())
    compare = nn.functional.mse_loss if net.loss == "mse" else nn.functional.cross_entropy
    x, label = torch.from_numpy(data), torch.from_numpy(labels)

    def step() -> float:
        optimizer.zero_grad()
        loss = compare(net.module(x), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def our_step(net: Net, data: Array, labels: Array, target: str) -> Callable[[], float]:
    net.module.eval()
    program = tw.train(
        net.module, (torch.from_numpy(data),), loss=net.loss, optimizer=net.optimizer, target=target, **net.options
    )
    session = program.session()
    (inputs,) = program.batches(data, labels)

    def step() -> float:
        call = session.train(inputs)
        session.update()
        return float(next(iter(call.outputs.values())))

    return step


def seconds(step: Callable[[], float], count: int) -> float:
    before = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - before) / count


def measured(ours: Callable[[], float], theirs: Callable[[], float], turns: int) -> tuple[float, float, float]:
    """Milliseconds of both and the median ratio."""
    counts = [max(1, round(TURN / seconds(step, 3))) for step in (ours, theirs)]
    rows = [(seconds(ours, counts[0]), seconds(theirs, counts[1])) for _ in range(turns)]
    own, other = (1e3 * statistics.median(column) for column in zip(*rows, strict=True))
    return own, other, statistics.median(own / other for own, other in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="generic,cpu")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--set", default="real", choices=("curves", "real"))
    parser.add_argument("networks", nargs="*")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("network", "target", "ours, ms", "PyTorch, ms", "ratio", "losses differ by", box=None)
    for name, case in cases(asked.set).items():
        if asked.networks and name not in asked.networks:
            continue
        random = np.random.default_rng(1)
        data = random.normal(size=(case.batch, *case.net.shape)).astype(np.float32)
        labels = data if case.net.loss == "mse" else random.integers(0, case.classes, case.batch)
        for target in asked.target.split(","):
            ours = our_step(case.net, data, labels, target)
            theirs = their_step(case.net, data, labels)
            apart = abs(ours() - theirs())
            own, other, ratio = measured(ours, theirs, asked.turns)
            table.add_row(name, target, f"{own:.3f}", f"{other:.3f}", f"{ratio:.2f}", f"{apart:.1g}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
