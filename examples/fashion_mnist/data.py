"""Fashion-MNIST from Debian's package: 60,000 + 10,000 pictures of clothes, 28 x 28, ten classes. Needs numpy alone."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path("/usr/share/datasets/fashion-mnist")
MEAN, DEVIATION = 0.2860, 0.3530
"""Of the pixels of the training set, between 0 and 1."""

UNPACK = "apt-get download dataset-fashion-mnist && dpkg -x dataset-fashion-mnist_*.deb FOLDER"


class Missing(Exception):
    """The data is not there; the text says how to get it."""


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of bytes: 0, 0, type, number of dimensions, the dimensions big-endian, the values."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if content[:3] != b"\x00\x00\x08":
        raise Missing(f"{path} is no idx file of bytes: it starts with {content[:4].hex()}")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def found(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    hint = f"`apt install dataset-fashion-mnist`, or without root `{UNPACK}` and --data FOLDER{FOLDER}"
    raise Missing(f"no {name}[.gz] in {folder}: {hint}")


def load(part: str, folder: Path = FOLDER) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Pictures [N, 1, 28, 28], mean 0 and deviation 1 over the training set, and labels; `part`: "train" or "t10k"."""
    pixels = read_idx(found(folder, f"{part}-images-idx3-ubyte"))
    labels = read_idx(found(folder, f"{part}-labels-idx1-ubyte"))
    pictures = (pixels[:, None].astype(np.float32) / 255 - MEAN) / DEVIATION
    return pictures.astype(np.float32), labels.astype(np.int64)


def calibration(count: int, folder: Path = FOLDER, seed: int = 0) -> NDArray[np.float32]:
    """`count` pictures of the training set, drawn without regard to their labels."""
    pictures, _ = load("train", folder)
    return pictures[np.random.default_rng(seed).permutation(len(pictures))[:count]]
