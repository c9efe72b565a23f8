"""Checkpoints of llama2.c: a header of sizes, then the weights of a Llama as float32, one kind after another."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, unreadable
from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
from tilewright.frontends.checkpoint.rotation import halves_from_neighbours
from tilewright.ir.types import Array
from tilewright.records import dataclass

HEADER = struct.Struct("<7i")
"""Width, hidden, layers, heads, heads of keys and values, words (negative with a head of its own), context."""
MAGIC, VERSIONED = 0x616B3432, struct.Struct("<Ii7iB")
"""Of files with a version: "ak42" as a number, version, sizes, whether the head is the embedding."""
VERSIONED_START = 256
ZIP = b"PK\3\4"
"""What PyTorch's own files begin with, which have the same suffix."""
EPSILON = 1e-5
BEGIN, END = 1, 2
"""Tokens of the vocabularies that llama2.c is used with."""
TURNED = ("attention.query", "attention.key")

LEGACY = (
    "embedding", "norm1", "attention.query", "attention.key", "attention.value", "attention.output", "norm2",
    "ffn.gate", "ffn.down", "ffn.up", "norm", "angles", "head",
)  # fmt: skip
VERSION_1 = (
    "norm1", "norm2", "norm", "embedding", "attention.query", "attention.key", "attention.value", "attention.output",
    "ffn.gate", "ffn.down", "ffn.up", "head",
)  # fmt: skip
"""The order of weights; those of layers come for all layers at once."""


@dataclass(frozen=True)
class _File:
    path: Path
    data: bytes
    config: Config
    start: int
    order: tuple[str, ...]

    def weights(self) -> dict[str, Array]:
        self._check_size()
        found, at = dict[str, Array](), self.start
        for name, shape in self._stored():
            count = math.prod(shape)
            found[name] = np.frombuffer(self.data, "<f4", count, at).reshape(shape).astype(np.float32)
            at += 4 * count
        found.pop("angles", None)
        return found

    def _check_size(self) -> None:
        """Before anything is read: sizes come from the file. Layers are counted, not walked."""
        config = self.config
        one = dict(shapes(replace(config, layers=1)))
        layer = sum(math.prod(shape) for name, shape in one.items() if name.startswith("layer"))
        others = sum(math.prod(shape) for name, shape in one.items() if not name.startswith("layer"))
        needed = self.start + 4 * (layer * config.layers + others + self._angles)
        if needed != len(self.data):
            raise CompileError(
                str(self.path), f"has {len(self.data)} bytes; {config.layers} layers of width {config.width} and "
                f"{config.words} words need {needed}", "it is truncated, or no checkpoint of llama2.c: get it again",
            )  # fmt: skip

    @property
    def _angles(self) -> int:
        """Numbers of the tables of cosines and sines that older files hold."""
        return self.config.context * self.config.head if "angles" in self.order else 0

    def _stored(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        known = dict(shapes(self.config))
        for part in self.order:
            if part == "angles":
                yield part, (self._angles,)
            for name in (f"{part}.weight", *(f"layer{number}.{part}.weight" for number in range(self.config.layers))):
                if name in known:
                    yield name, known[name]


def read_llama2c(path: Path) -> Checkpoint:
    file = _opened(path)
    found = file.weights()
    for name, value in found.items():
        if not np.all(np.isfinite(value)):
            raise CompileError(f"{path}, weight '{name}'", "has values that are not finite", "get the file again")
        # Neighbours are turned together there; all our graphs turn what is half a head apart.
        if name.removesuffix(".weight").endswith(TURNED):
            found[name] = halves_from_neighbours(value, file.config.head)
    return Checkpoint(file.config, found)


def _opened(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    if data.startswith(ZIP):
        raise CompileError(
            str(path), "is a file of PyTorch, which may hold programs and is not read",
            "save the model with save_pretrained(safe_serialization=True), and give the folder",
        )  # fmt: skip
    if len(data) >= VERSIONED.size and int.from_bytes(data[:4], "little") == MAGIC:
        _, version, *sizes, shared = VERSIONED.unpack_from(data)
        if version != 1:
            what = f"is version {version} of llama2.c's format, whose weights are not floats"
            raise CompileError(str(path), what, "supported: the format without a version, and version 1")
        return _File(path, data, _config(path, sizes, bool(shared)), VERSIONED_START, VERSION_1)
    if len(data) < HEADER.size:
        raise CompileError(str(path), f"has {len(data)} bytes, less than the header of llama2.c", "get the file again")
    sizes = list(HEADER.unpack_from(data))
    words = sizes[5]
    sizes[5] = abs(words)
    return _File(path, data, _config(path, sizes, words > 0), HEADER.size, LEGACY)


def _config(path: Path, sizes: list[int], tied: bool) -> Config:
    width, hidden, layers, heads, groups, words, context = sizes
    if min(sizes) < 1 or width % heads:
        named = f"width {width}, hidden {hidden}, layers {layers}, heads {heads} and {groups}, words {words}"
        what = f"has a header of {named}, context {context}, which are no sizes of a network"
        raise CompileError(str(path), what, "it is no checkpoint of llama2.c, or damaged: get it again")
    found = Config(
        "Llama", width, hidden, layers, heads, groups, width // heads, words, context, EPSILON, tied=tied,
        begin=BEGIN if words > END else None, ends=(END,) if words > END else (),
    )  # fmt: skip
    found.check(str(path))
    return found
