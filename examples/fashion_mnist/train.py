"""Trains four small networks on Fashion-MNIST and writes them as float ONNX: python train.py --out models [NAME ...]

Needs PyTorch (pip install "tilewright[torch]"), no GPU: some minutes for each network on two cores. With one,
`--device cuda` takes seconds for each epoch.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from data import FOLDER, Missing, load
from networks import NETWORKS
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Recipe:
    epochs: int
    rate: float
    """The highest learning rate of the one-cycle schedule."""
    batch: int = 128
    decay: float = 0.01


RECIPES = {
    "cnn": Recipe(5, 8e-3),
    "mobilenet": Recipe(5, 8e-3),
    "vit": Recipe(5, 2e-3),
    "lstm": Recipe(10, 5e-3),
}
Pair = tuple[Tensor, Tensor]


def accuracy(network: nn.Module, test: Pair) -> float:
    network.eval()
    with torch.no_grad():
        found = torch.cat([network(part).argmax(1) for part in test[0].split(500)])
    return float((found == test[1]).float().mean())


def train(network: nn.Module, data: Pair, test: Pair, recipe: Recipe) -> float:
    """Trains in place; the accuracy on the test set."""
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=recipe.decay)
    steps = recipe.epochs * (len(data[0]) // recipe.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, recipe.rate, total_steps=steps)
    for epoch in range(recipe.epochs):
        start, network = time.time(), network.train()
        order = torch.randperm(len(data[0]))
        for chosen in order[: len(order) // recipe.batch * recipe.batch].split(recipe.batch):
            loss = functional.cross_entropy(network(data[0][chosen]), data[1][chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"  epoch {epoch + 1}: loss {loss.item():.3f}, {time.time() - start:.0f} s", flush=True)
    return accuracy(network, test)


def export(network: nn.Module, path: Path) -> None:
    """The network for one picture at a time, weights inside the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # It says which operators of packages that are not installed it does without.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    names = {"input_names": ["picture"], "output_names": ["scores"]}
    torch.onnx.export(
        network.cpu().eval(),
        (torch.zeros(1, 1, 28, 28),),
        path,
        dynamo=True,
        external_data=False,
        verbose=False,
        **names,
    )


def pair(part: str, folder: Path, device: str) -> Pair:
    pictures, labels = load(part, folder)
    # channels last: twice as fast for convolutions on a CPU
    return torch.from_numpy(pictures).to(device, memory_format=torch.channels_last), torch.from_numpy(labels).to(device)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help=f"of {', '.join(NETWORKS)}; default: all")
    parser.add_argument("--data", type=Path, default=FOLDER, help=f"folder of the idx files, default {FOLDER}")
    parser.add_argument("--out", type=Path, default=Path("models"), help="folder of the ONNX files, default models/")
    parser.add_argument("--epochs", type=int, help="instead of the recipe's")
    parser.add_argument("--samples", type=int, help="train on the first so many pictures only")
    parser.add_argument("--device", default="cpu", help="where PyTorch trains, default cpu")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NETWORKS):
        parser.error(f"no network {', '.join(sorted(unknown))}: there are {', '.join(NETWORKS)}")
    return given


def main() -> None:
    given = arguments()
    try:
        data, test = (pair(part, given.data, given.device) for part in ("train", "t10k"))
    except Missing as missing:
        sys.exit(f"error: {missing}")
    data = (data[0][: given.samples], data[1][: given.samples])
    for name in given.names:
        torch.manual_seed(0)
        network, recipe = NETWORKS[name]().to(given.device, memory_format=torch.channels_last), RECIPES[name]
        recipe = Recipe(given.epochs or recipe.epochs, recipe.rate, recipe.batch, recipe.decay)
        print(f"{name}: {sum(p.numel() for p in network.parameters()):,} parameters", flush=True)
        found = train(network, data, test, recipe)
        export(network, given.out / f"{name}.onnx")
        print(f"{name}: {found:.2%} on the test set, wrote {given.out / name}.onnx", flush=True)


if __name__ == "__main__":
    main()
