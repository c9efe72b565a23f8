"""Loss curves of training graphs against PyTorch: the same weights, data and optimizer, step by step.

python benchmarks/training_curves.py [--steps 200] [--target generic] [network ...]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import tilewright as tw
from tilewright.ir.types import Array

BATCH, CLASSES = 4, 4
ALLOWED = 1e-3


class LSTMClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(8, 16), nn.Linear(16, CLASSES)
        self.places = nn.Parameter(torch.randn(1, 6, 16) * 0.1)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, activation="gelu")

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(self.embed(x) + self.places).mean(1))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, CLASSES),
    )  # fmt: skip


def depthwise() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU6(), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish(),
        nn.Conv2d(8, 16, 1), nn.SiLU(), nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=16), nn.ReLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(64, CLASSES),
    )  # fmt: skip


@dataclass
class Net:
    module: nn.Module
    shape: tuple[int, ...]
    optimizer: Any
    theirs: Any
    loss: str = "cross_entropy"
    options: dict[str, Any] = field(default_factory=dict)


def networks() -> dict[str, Net]:
    torch.manual_seed(0)
    sgd, adam = torch.optim.SGD, torch.optim.Adam
    return {
        "mlp": Net(
            nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, CLASSES)), (8,), tw.SGD(0.1, momentum=0.9),
            lambda weights: sgd(weights, 0.1, 0.9),
        ),
        "cnn": Net(
            cnn(), (1, 8, 8), tw.SGD(0.02, decay=1e-4), lambda weights: sgd(weights, 0.02, weight_decay=1e-4),
            options={"statistics": "trained"},
        ),
        "depthwise": Net(depthwise(), (3, 16, 16), tw.SGD(0.02), lambda weights: sgd(weights, 0.02)),
        "lstm": Net(LSTMClassifier(), (6, 8), tw.Adam(0.003), lambda weights: adam(weights, 0.003)),
        "transformer": Net(
            Transformer(), (6, 8), tw.AdamW(0.001), lambda weights: torch.optim.AdamW(weights, 0.001, weight_decay=0.01)
        ),
        "autoencoder": Net(
            nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 16)), (16,), tw.SGD(0.1),
            lambda weights: sgd(weights, 0.1), "mse",
        ),
    }  # fmt: skip


def theirs(net: Net, data: Array, labels: Array) -> list[float]:
    net.module.train()
    optimizer = net.theirs(net.module.parameters())
    compare = nn.functional.mse_loss if net.loss == "mse" else nn.functional.cross_entropy
    losses = []
    for x, label in zip(torch.from_numpy(data), torch.from_numpy(labels), strict=True):
        optimizer.zero_grad()
        loss = compare(net.module(x), label)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ours(net: Net, data: Array, labels: Array, target: str) -> list[float]:
    net.module.eval()
    program = tw.train(
        net.module, (torch.from_numpy(data[0]),), loss=net.loss, optimizer=net.optimizer, target=target, **net.options
    )
    flat = data.reshape(-1, *data.shape[2:]), labels.reshape(-1, *labels.shape[2:])
    return list(program.fit(*flat, shuffle=None).losses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--target", default="generic")
    parser.add_argument("networks", nargs="*")
    asked = parser.parse_args()
    table = Table("network", "first loss", "last loss", "largest difference", "", box=None)
    for name, net in networks().items():
        if asked.networks and name not in asked.networks:
            continue
        random = np.random.default_rng(1)
        data = random.normal(size=(asked.steps, BATCH, *net.shape)).astype(np.float32)
        labels = data if net.loss == "mse" else random.integers(0, CLASSES, (asked.steps, BATCH))
        made = ours(net, data, labels, asked.target)
        expected = theirs(net, data, labels)
        worst = float(np.abs(np.array(made) - expected).max())
        table.add_row(
            name, f"{expected[0]:.5f}", f"{expected[-1]:.5f}", f"{worst:.2g}", "✓" if worst <= ALLOWED else "✗"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
