"""Constants of a model's networks as one file, in the layout that kernels read: a program maps it at its start.

A header (`context_mapped.c` reads it), and every constant at a line of a cache. A number tells which library a file is
for, another one tells weights of the same layout from each other.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tilewright.codegen.network import WEIGHTS_ALIGNMENT, Writer
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.toolchain.mapped_arrays import release

MAGIC, VERSION = b"TWWEIGHT", 1
HEADER = struct.Struct("<8s2I3Q")
STEP = 1 << 24
"""Bytes that are written at once."""


@dataclass(frozen=True)
class Layout:
    """Where constants lie."""

    offsets: Mapping[str, int]
    """C names -> bytes from the start of the file."""
    sizes: Mapping[str, int]
    """And their bytes."""
    bytes: int


def layout_of(writers: Iterable[Writer]) -> Layout:
    offsets, sizes, end = dict[str, int](), dict[str, int](), _aligned(HEADER.size)
    for symbol, array in _constants(writers):
        offsets[symbol], sizes[symbol] = end, array.nbytes
        end = _aligned(end + array.nbytes)
    return Layout(offsets, sizes, end)


def _constants(writers: Iterable[Writer]) -> Iterator[tuple[str, Array]]:
    for writer in writers:
        for name in writer.constants:
            yield writer.identifiers[name], writer.schedule.graph.constants[name]


def _aligned(size: int) -> int:
    return -(-size // WEIGHTS_ALIGNMENT) * WEIGHTS_ALIGNMENT


def write(path: Path, writers: Iterable[Writer], layout: Layout, number: int) -> None:
    """The file appears whole or not at all; `number` stands for the library that reads it."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.seek(_aligned(HEADER.size))
            contents = 0
            for data in _pieces(writers):
                contents = zlib.crc32(data, contents)
                file.write(data)
            file.seek(0)
            file.write(HEADER.pack(MAGIC, VERSION, HEADER.size, layout.bytes, number, contents))
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def contents_of(writers: Iterable[Writer]) -> int:
    """As a file's header has it."""
    found = 0
    for data in _pieces(writers):
        found = zlib.crc32(data, found)
    return found


def _pieces(writers: Iterable[Writer]) -> Iterator[memoryview | bytes]:
    """All bytes behind the header."""
    for _, array in _constants(writers):
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield from (data[start : start + STEP] for start in range(0, len(data), STEP))
        yield bytes(_aligned(len(data)) - len(data))
        release(array)
