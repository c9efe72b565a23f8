"""Files in GGUF: typed keys, and tensors that stay where the file has them until they are read.

All sizes come from the file: none is believed beyond the bytes that there are.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError, Refusal
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS, NAMES
from tilewright.ir.block_formats import Block, BlockArray
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass
from tilewright.toolchain.mapped_arrays import release

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT, ALIGNMENT_KEY = 32, "general.alignment"
MOST_AXES = 4
SHORTEST_KEY, SHORTEST_TENSOR = 13, 24
"""Bytes that a key, or what is said of a tensor, has at least."""
SCALARS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1", 10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
"""Types of values by their numbers in files."""
BOOL, STRING, LIST = 7, 8, 9
AGAIN = "it may be truncated or damaged: get it again"


@dataclass(frozen=True)
class GgufTensor:
    shape: Shape
    """With the axis whose elements are side by side as the last."""
    kind: int
    """Number of its format."""
    start: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class GgufFile:
    where: str
    keys: Mapping[str, object]
    tensors: Mapping[str, GgufTensor]
    data: mmap.mmap

    def tensor(self, name: str) -> Array:
        """As float32, of which the caller is the owner."""
        found, block = self.tensors[name], self._format(name)
        return block.values(self._bytes(name)).reshape(found.shape)

    def blocks(self, name: str) -> BlockArray:
        """A matrix where the file has it, as it is there."""
        return BlockArray(self._format(name), self._bytes(name).reshape(self.tensors[name].shape[0], -1))

    def is_finite(self, name: str) -> bool:
        """Whether all its elements are numbers."""
        data = self._bytes(name)
        found = self._format(name).are_finite(data)
        release(data)
        return found

    def _format(self, name: str) -> Block:
        return FORMATS[self.tensors[name].kind]

    def _bytes(self, name: str) -> Array:
        found = self.tensors[name]
        return np.frombuffer(self.data, np.uint8, self._format(name).bytes_of(found.elements), found.start)


def read_gguf(path: Path) -> GgufFile:
    """Keys and tensors; CompileError where the file is no GGUF, or not all of one."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is empty"
        raise CompileError(str(path), f"cannot be read: {what}", "name a .gguf file") from None
    try:
        return _Reader(data).file(str(path))
    except Refusal as refusal:
        raise refusal.at(str(path)) from None


class _Reader:
    """Reads one value after another; Refusal where there are no more bytes."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def file(self, where: str) -> GgufFile:
        tensors, keys = self._counts()
        found = dict(self._key() for _ in range(keys))
        said = [self._tensor() for _ in range(tensors)]
        alignment = found.get(ALIGNMENT_KEY, ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise Refusal(f"{ALIGNMENT_KEY} is {alignment}, no power of two", AGAIN)
        start = -(-self.at // alignment) * alignment
        return GgufFile(where, found, {name: self._placed(name, one, start) for name, one in said}, self.data)

    def _counts(self) -> tuple[int, int]:
        """Of tensors and keys."""
        if self.data[:4] != MAGIC:
            raise Refusal("is no GGUF file: it does not begin with those letters", "name a .gguf file")
        self.at = 4
        version = self._number("<I")
        if version not in VERSIONS:
            raise Refusal(f"is version {version} of GGUF", "supported: versions 2 and 3, low bytes first")
        tensors, keys = self._number("<Q"), self._number("<Q")
        if tensors * SHORTEST_TENSOR + keys * SHORTEST_KEY > len(self.data):
            raise Refusal(f"claims {tensors} tensors and {keys} keys in {len(self.data)} bytes", AGAIN)
        return tensors, keys

    def _key(self) -> tuple[str, object]:
        return self._string(), self._value(self._number("<I"))

    def _value(self, kind: int) -> object:
        if kind == STRING:
            return self._string()
        if kind == LIST:
            return self._list()
        if kind not in SCALARS:
            raise Refusal(f"has a value of the unknown type {kind} at byte {self.at}", AGAIN)
        found = np.frombuffer(self._taken(np.dtype(SCALARS[kind]).itemsize), SCALARS[kind])[0]
        return bool(found) if kind == BOOL else found.item()

    def _list(self) -> list[object]:
        kind, count = self._number("<I"), self._number("<Q")
        if kind in SCALARS:
            size = np.dtype(SCALARS[kind]).itemsize
            found: list[object] = np.frombuffer(self._taken(size * count), SCALARS[kind]).tolist()
            return [bool(one) for one in found] if kind == BOOL else found
        if kind != STRING:
            raise Refusal(f"has a list of the type {kind} at byte {self.at}", "supported: lists of numbers and texts")
        self._check(8 * count)
        return [self._string() for _ in range(count)]

    def _tensor(self) -> tuple[str, GgufTensor]:
        name, axes = self._string(), self._number("<I")
        if axes > MOST_AXES:
            raise Refusal(f"its tensor {name[:80]!r} has {axes} axes", AGAIN)
        shape = tuple(reversed([self._number("<Q") for _ in range(axes)]))
        return name, GgufTensor(shape, self._number("<I"), self._number("<Q"))

    def _placed(self, name: str, tensor: GgufTensor, start: int) -> GgufTensor:
        """With its place in the file; Refusal where it is of a format that is not known, or not there."""
        where = f"its tensor {name[:80]!r}"
        if tensor.kind not in FORMATS:
            kind = NAMES.get(tensor.kind, f"with the number {tensor.kind}")
            known = ", ".join(NAMES[one] for one in FORMATS)
            raise Refusal(f"{where} has the format {kind}, which is not supported", f"supported: {known}")
        block, row = FORMATS[tensor.kind], tensor.shape[-1] if tensor.shape else 1
        if row % block.elements:
            what = f"{where} has rows of {row} elements, no multiple of the {block.elements} of a {block.name}"
            raise Refusal(what, AGAIN)
        first = start + tensor.start
        if first + block.bytes_of(tensor.elements) > len(self.data):
            shown = "x".join(map(str, tensor.shape))
            raise Refusal(f"{where} ({shown}, {block.name}) begins at byte {first} of {len(self.data)}, "
                          "and is not all there", AGAIN)  # fmt: skip
        return GgufTensor(tensor.shape, tensor.kind, first)

    # ---- bytes ------------------------------------------------------------------------------------------------------

    def _string(self) -> str:
        return self._taken(self._number("<Q")).decode("utf-8", "surrogateescape")

    def _number(self, form: str) -> int:
        unpack: Callable[[str, bytes], tuple[int, ...]] = struct.unpack
        return unpack(form, self._taken(struct.calcsize(form)))[0]

    def _taken(self, count: int) -> bytes:
        self._check(count)
        self.at += count
        return self.data[self.at - count : self.at]

    def _check(self, count: int) -> None:
        if self.at + count > len(self.data):
            raise Refusal(f"ends at byte {len(self.data)}, where {count} more from byte {self.at} are needed", AGAIN)
