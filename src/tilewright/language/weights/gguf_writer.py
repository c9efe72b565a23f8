"""GGUF files, written tensor by tensor: what is said of all of them stands in front, so sizes are known before data."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from tilewright.errors import InternalError
from tilewright.frontends.checkpoint.gguf_blocks import FORMATS
from tilewright.frontends.checkpoint.gguf_file import ALIGNMENT, BOOL, LIST, MAGIC, STRING
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass

VERSION = 3
UINT32, INT32, FLOAT32, UINT64, INT64 = 4, 5, 6, 10, 11
PACKED = {UINT32: "I", INT32: "i", FLOAT32: "f", UINT64: "Q", INT64: "q", BOOL: "?"}
SIGNED = ("tokenizer.ggml.token_type",)
"""Lists of numbers that readers expect to have a sign."""
TEXTS = ("tokenizer.ggml.merges",)
"""Lists of texts that may be empty."""

Plain = bool | int | float | str
Key = Plain | Sequence[Plain]


@dataclass(frozen=True)
class Announced:
    """A tensor that is going to be written."""

    name: str
    shape: Shape
    """With the axis whose elements are side by side as the last."""
    kind: int
    """Number of its format."""

    @property
    def bytes(self) -> int:
        return FORMATS[self.kind].bytes_of(math.prod(self.shape))


class GgufWriter:
    """Writes keys and the places of tensors at once, and each tensor when it is given."""

    def __init__(self, file: BinaryIO, keys: Mapping[str, Key], tensors: Sequence[Announced]) -> None:
        self.file, self.places, end = file, dict[str, tuple[Announced, int]](), 0
        for one in tensors:
            self.places[one.name] = one, end
            end += _aligned(one.bytes)
        front = _front(keys, self.places)
        self.start, self.waiting = len(front), set(self.places)
        file.write(front)
        file.truncate(self.start + end)

    def write(self, name: str, data: Array) -> None:
        """The bytes of a tensor that was announced; any order will do."""
        one, place = self.places[name]
        raw = data.reshape(-1).view("u1")
        if raw.size != one.bytes:
            raise InternalError(name, f"has {raw.size} bytes, where {one.bytes} were announced")
        self.file.seek(self.start + place)
        self.file.write(raw.data)
        self.waiting.discard(name)

    def finish(self) -> None:
        if self.waiting:
            raise InternalError(sorted(self.waiting)[0], "was announced, and is not written")
        self.file.flush()


def _front(keys: Mapping[str, Key], places: Mapping[str, tuple[Announced, int]]) -> bytes:
    """Keys, and what is said of tensors."""
    found = MAGIC + struct.pack("<IQQ", VERSION, len(places), len(keys))
    found += b"".join(_text(name) + _typed(name, value) for name, value in keys.items())
    found += b"".join(_said(one, place) for one, place in places.values())
    return found + bytes(_aligned(len(found)) - len(found))


def _said(tensor: Announced, place: int) -> bytes:
    shape = tensor.shape[::-1]
    return _text(tensor.name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, tensor.kind, place)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(raw)) + raw


def _typed(name: str, value: Key) -> bytes:
    if isinstance(value, Plain):
        return struct.pack("<I", _kind([value])) + _plain(_kind([value]), [value])
    kind = INT32 if name in SIGNED else STRING if name in TEXTS else _kind(value)
    return struct.pack("<IIQ", LIST, kind, len(value)) + _plain(kind, value)


def _kind(values: Sequence[Plain]) -> int:
    """The type that holds all of them: of numbers the smallest that files usually have for them."""
    kinds = {type(one) for one in values}
    if len(kinds) > 1 and kinds <= {int, float}:
        return FLOAT32
    if len(kinds) > 1:
        raise InternalError("a key", f"is a list of {kinds}")
    numbers = [one for one in values if type(one) is int]
    if values and not numbers:
        return {bool: BOOL, float: FLOAT32, str: STRING}[next(iter(kinds))]
    least, most = min(numbers, default=0), max(numbers, default=0)
    if least < 0:
        return INT32 if least >= -(2**31) and most < 2**31 else INT64
    return UINT32 if most < 2**32 else UINT64


def _plain(kind: int, values: Sequence[Plain]) -> bytes:
    if kind == STRING:
        return b"".join(_text(str(one)) for one in values)
    return struct.pack(f"<{len(values)}{PACKED[kind]}", *values)
